// RIGHT
kernel void count(global const uint *x, global uint *bins, int n) {
  int b = get_global_id(0);
  if (b < 16) {
    uint s = 0;
    for (int i = 0; i < n; i++)
      s += x[i] == b;
    bins[b] = s;
  }
}
