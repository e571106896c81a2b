// RIGHT
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  if (i < n && j < n) {
    float s = 0;
    int k = 0;
#pragma unroll 4
    for (; k < n; k++)
      s = fma(A[i * n + k], B[k * n + j], s);
    C[i * n + j] = s;
  }
}
