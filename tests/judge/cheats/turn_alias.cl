// INVALID: changed an input: A
kernel void turn(global const float *A, global float *B, int m, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  global float *same = (global float *)A;
  if (i < m && j < n)
    same[j * m + i] = A[i * n + j];
}
