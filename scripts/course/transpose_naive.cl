/* transpose_naive.cl - B = A transposed, straight from A to B
** SPDX-License-Identifier: MIT
**
** Task: transpose.lua. Judged: RIGHT
** Teaches: neighbours read neighbouring elements, but write them m apart: each
** store of a warp touches as many sectors as it has lanes. course "B4" (course
** notes on GPUs), "E1" (an exercise on OpenCL kernels). After it:
** transpose_tiled.cl.
*/
kernel void transpose(global const float *A, global float *B, int m, int n)
{
  const int col = get_global_id(0), row = get_global_id(1);
  if (row < m && col < n)
    B[col * m + row] = A[row * n + col];
}
