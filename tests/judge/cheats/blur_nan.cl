// WRONG: of y
kernel void blur(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i < n)
    y[i] = 0.0f / (x[i] - x[i]);
}
