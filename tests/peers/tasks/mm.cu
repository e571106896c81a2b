// mm.cu - C = A B, n x n floats by rows; a thread for each element
extern "C" __global__ void mm(int n, const float *A, const float *B,
                              float *C) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  float s = 0;
  for (int k = 0; k < n; k++)
    s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s;
}
