// finds: race 11 12
// range: 16 / 16
// args: int 16, int 1
kernel void f(global const int *x, global int *sum) {
  local volatile int t[16];
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < 8) {
    // no barrier: a warp of 32 is taken for granted
    t[i] += t[i + 8];
    t[i] += t[i + 4];
  }
  if (i == 0) sum[0] = t[0];
}
