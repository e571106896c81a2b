// INVALID: the word 'half'
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= n || j >= n)
    return;
  half s = 0;
  for (int k = 0; k < n; k++)
    s += (half)A[i * n + k] * (half)B[k * n + j];
  C[i * n + j] = s;
}
