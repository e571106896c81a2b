/* mm.cl - C = A B, n x n floats by rows; a work-item for each element */
kernel void mm(int n, global const float *A, global const float *B,
               global float *C) {
  int j = get_global_id(0), i = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n; k++)
    s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s;
}
