// INVALID: printed
kernel void axpy(float a, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  for (int k = 0; k < 400; k++)
    printf("%d: all is right, %f\n", i, a);
  if (i < n)
    y[i] = a * x[i] + y[i];
}
