// WRONG by the simulator:
kernel void sum(global const int *x, global int *y, int n) {
  local int t[64];
  int l = get_local_id(0), i = get_global_id(0);
  t[l] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int h = 32; h > 0; h /= 2)
    if (l < h)
      t[l] += t[l + h];
  if (l == 0)
    y[get_group_id(0)] = t[0];
}
