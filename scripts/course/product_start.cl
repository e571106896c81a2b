/* product_start.cl - C = A B for n x n matrices in row-major order: complete
** the sum
** SPDX-License-Identifier: MIT
**
** Task: product.lua. Judged: WRONG: expected
** Teaches: a work-item computes the element of row get_global_id(1) and column
** get_global_id(0). After it: product_naive.cl.
*/
kernel void mm(global const float *A, global const float *B, global float *C,
               int n) {
  int col = get_global_id(0);
  int row = get_global_id(1);
  if (row >= n || col >= n)
    return;
  float sum = 0;
  C[row * n + col] = sum;
}
