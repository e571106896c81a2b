// RIGHT
kernel void turn(global const float *A, global float *B, int m, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < m && j < n)
    B[j * m + i] = A[i * n + j];
}
