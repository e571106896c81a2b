// WRONG: of C
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= n || j >= n)
    return;
  C[i * n + j] = NAN;
}
