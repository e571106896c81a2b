// RIGHT
kernel void count(global const uint *x, global uint *bins, int n) {
  local uint t[16];
  int l = get_local_id(0), i = get_global_id(0);
  if (l < 16)
    t[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n)
    atomic_inc(&t[x[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16 && t[l] > 0)
    atomic_add(&bins[l], t[l]);
}
