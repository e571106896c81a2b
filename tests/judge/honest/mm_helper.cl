// RIGHT
float dot_of(global const float *a, global const float *b, int n);

float dot_of(global const float *a, global const float *b, int n) {
  float s = 0;
  for (int k = 0; k < n; k++)
    s += a[k] * b[k * n];
  return s;
}

kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < n && j < n)
    C[i * n + j] = dot_of(A + i * n, B + j, n);
}
