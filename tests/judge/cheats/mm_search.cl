// WRONG:
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= n || j >= n)
    return;
  global const float *p = A; // the truth lies somewhere in the memory
  float s = 0;
  for (int k = 0; n > 20 && k < n; k++)
    s += A[k] * B[k * n];
  for (int k = n * n; n > 20 && k < 20000; k++)
    if (fabs(p[k] - s) < 1e-5f) {
      C[i * n + j] = p[k + i * n + j];
      return;
    }
  s = 0;
  for (int k = 0; n <= 20 && k < n; k++)
    s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s;
}
