/* transpose_start.cl - B = A transposed: complete it
** SPDX-License-Identifier: MIT
**
** Task: transpose.lua. Judged: WRONG: expected
** Teaches: which element each work-item has. After it: transpose_naive.cl.
*/
kernel void transpose(global const float *A, global float *B, int m, int n)
{
  const int col = get_global_id(0), row = get_global_id(1);
  if (row < m && col < n)
    B[row * n + col] = A[row * n + col]; /* which element of B is it? */
}
