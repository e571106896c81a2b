// WRONG: of y
kernel void axpy(float a, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  private ushort h[1];
  if (i < n) {
    vstore_half(x[i], 0, (private half *)h);
    y[i] = a * vload_half(0, (private half *)h) + y[i];
  }
}
