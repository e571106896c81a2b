/* stencil_naive.cl - the mean of five points, from global memory
** SPDX-License-Identifier: MIT
**
** Task: stencil.lua. Judged: RIGHT
** Teaches: each point is read by five work-items; neighbours along a row touch
** neighbouring elements. course "B4" (course notes on GPUs). After it:
** stencil_tiled.cl.
*/
#define X(row, col) \
  ((row) >= 0 && (row) < n && (col) >= 0 && (col) < n ? x[(row)*n + (col)] \
                                                      : 0.0f)

kernel void stencil(global const float *x, global float *y, int n)
{
  const int col = get_global_id(0), row = get_global_id(1);
  if (row < n && col < n)
    y[row * n + col] = (X(row, col) + X(row, col - 1) + X(row, col + 1)
                        + X(row - 1, col) + X(row + 1, col)) / 5.0f;
}
