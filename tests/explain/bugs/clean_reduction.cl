// finds: nothing
// range: 32 / 8
// args: int 32, int 4, local int 8
kernel void f(global const int *x, global int *sums, local int *t) {
  int i = get_local_id(0);
  t[i] = x[get_global_id(0)];
  for (int n = 4; n > 0; n /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n)
      t[i] += t[i + n];
  }
  if (i == 0)
    sums[get_group_id(0)] = t[0];
}
