// finds: nothing
// range: 8 / 8
// args: int 8, local int 16
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0), out = 0;
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 8; d *= 2) {
    int in = out;
    out = 8 - out;
    t[out + i] = t[in + i] + (i >= d ? t[in + i - d] : 0);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  x[i] = t[out + i];
}
