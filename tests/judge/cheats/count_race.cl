// WRONG by the simulator:
kernel void count(global const uint *x, global uint *bins, int n) {
  int i = get_global_id(0);
  if (i < n)
    bins[x[i]]++;
}
