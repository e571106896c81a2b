// WRONG by the simulator: outside
kernel void blur(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  float l = x[i - 1], r = x[i + 1];
  if (i < n)
    y[i] = i == 0 || i == n - 1 ? x[i] : (l + x[i] + r) / 3;
}
