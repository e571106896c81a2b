// RIGHT
kernel void sum(global const int *x, global int *y, int n) {
  local int t;
  if (get_local_id(0) == 0)
    t = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_global_id(0) < n)
    atomic_add(&t, x[get_global_id(0)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    y[get_group_id(0)] = t;
}
