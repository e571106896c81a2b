// INVALID: reqd_work_group_size
__attribute__((reqd_work_group_size(1, 1, 1)))
kernel void turn(global const float *A, global float *B, int m, int n) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      B[j * m + i] = A[i * n + j];
}
