// RIGHT
kernel void blur(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  if (i == 0 || i == n - 1)
    y[i] = x[i];
  else
    y[i] = (x[i - 1] + x[i] + x[i + 1]) * (1.0f / 3);
}
