// INVALID: signal
kernel void axpy(float a, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  volatile float kept[1 << 26];
  for (int k = 0; k < 1 << 26; k += 1 << 10)
    kept[k] = x[0];
  if (i < n)
    y[i] = a * x[i] + y[i] + 0 * kept[i << 10];
}
