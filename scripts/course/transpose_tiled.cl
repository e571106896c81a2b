/* transpose_tiled.cl - B = A transposed by tiles of 8 x 8, padded or not
** SPDX-License-Identifier: MIT
**
** Task: transpose.lua. Judged: RIGHT
** Teaches: through a tile, loads and stores both touch neighbouring elements.
** course "E1" (an exercise on OpenCL kernels). A group reads columns of the
** tile: PAD frees them from bank conflicts, "B5", "B21" (course notes on
** GPUs). Before it: transpose_naive.cl.
*/
#define T 8 /* side of a tile, and of the work-group */
#ifndef PAD
#define PAD 1 /* 0: rows of 8, whose columns share banks */
#endif

kernel void transpose(global const float *A, global float *B, int m, int n)
{
  local float tile[T][T + PAD];
  const int x = get_local_id(0), y = get_local_id(1);
  int col = get_global_id(0), row = get_global_id(1);
  if (row < m && col < n)
    tile[y][x] = A[row * n + col];
  barrier(CLK_LOCAL_MEM_FENCE);
  col = get_group_id(1) * T + x;
  row = get_group_id(0) * T + y;
  if (row < n && col < m)
    B[row * m + col] = tile[x][y];
}
