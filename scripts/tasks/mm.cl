// mm.cl - C = A B for n x n matrices in row-major order
// Each work-item computes the element of row get_global_id(1) and column
// get_global_id(0). Complete the sum.

kernel void mm(global const float *A, global const float *B, global float *C,
               int n) {
  int col = get_global_id(0);
  int row = get_global_id(1);
  if (row >= n || col >= n)
    return;
  float sum = 0;
  C[row * n + col] = sum;
}
