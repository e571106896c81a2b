/* product_tiled.cl - C = A B by tiles of 8 x 8 in local memory, padded or not
** SPDX-License-Identifier: MIT
**
** Task: product.lua. Judged: RIGHT
** Teaches: a tile is fetched once for 8 work-items, so that an element of C
** fetches 2n/8 elements. course "A2", "A12", "A4" (a lecture on tiled
** products). The rows of the tile of A have PAD more elements: see "B5", "B21"
** (course notes on GPUs), and "D6" (a chapter on optimising OpenCL), where the
** pad gains nothing. Before it: product_naive.cl.
*/
#define T 8 /* side of a tile, and of the work-group */
#ifndef PAD
#define PAD 1 /* 0: rows of 8, whose columns share banks */
#endif

kernel void mm(global const float *A, global const float *B, global float *C,
               int n)
{
  local float a[T][T + PAD], b[T][T];
  const int col = get_global_id(0), row = get_global_id(1);
  const int x = get_local_id(0), y = get_local_id(1);
  float sum = 0.0f;
  for (int k = 0; k < n; k += T) {
    a[y][x] = row < n && k + x < n ? A[row * n + k + x] : 0.0f;
    b[y][x] = k + y < n && col < n ? B[(k + y) * n + col] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < T; i++)
      sum += a[y][i] * b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && col < n)
    C[row * n + col] = sum;
}
