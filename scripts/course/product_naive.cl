/* product_naive.cl - C = A B, each work-item one element, from global memory
** SPDX-License-Identifier: MIT
**
** Task: product.lua. Judged: RIGHT
** Teaches: an element of C fetches 2n elements; the sum is private, so that
** each step has 2 accesses of global memory and not 4. course "D7", "D1"
** (a chapter on optimising OpenCL). After it: product_tiled.cl.
*/
kernel void mm(global const float *A, global const float *B, global float *C,
               int n)
{
  const int col = get_global_id(0), row = get_global_id(1);
  if (row >= n || col >= n)
    return;
  float sum = 0.0f;
  for (int k = 0; k < n; k++)
    sum += A[row * n + k] * B[k * n + col];
  C[row * n + col] = sum;
}
