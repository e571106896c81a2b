/* tiled_constant.cl - tiled matrix product, operands in constant memory
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. As tiled.cl, but A and B come through the
** constant address space:
**
**   constant memory --(one tile)--> local memory --> private sum
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = N x M, both rounded up to TILE (dimension 0 = columns
**          of C), local = TILE x TILE
** Local memory: 2 TILE TILE elements
** Defines: REAL, TILE
** Assumes: A and B each fit CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE (64 KiB on
**          many GPUs: a square float matrix of side 128), and the device
**          takes two constant arguments
**
** Lesson: constant memory is a small cache made to give one cell to all the
** work-items at once. The tile loads ask for neighbouring cells instead, and
** such hardware serves these one after another. So this seldom gains anything
** over `tiled`, and it limits the size; constant memory pays for coefficients
** that everybody reads together, such as a filter. On a CPU it is ordinary
** memory. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of a tile, and of the work-group */
#endif

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, REAL alpha,
          constant REAL *restrict A, int lda,
          constant REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc)
{
  local REAL As[TILE][TILE];
  local REAL Bs[TILE][TILE];

  const size_t m = M, n = N, kk = K;
  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t col = get_group_id(0) * TILE + tx;
  const size_t row = get_group_id(1) * TILE + ty;

  REAL sum = 0;
  for (size_t k0 = 0; k0 < kk; k0 += TILE) {
    As[ty][tx] = row < m && k0 + tx < kk
                     ? A[row * lda + k0 + tx] : (REAL)0;
    Bs[ty][tx] = k0 + ty < kk && col < n
                     ? B[(k0 + ty) * ldb + col] : (REAL)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < TILE; k++)
      sum += As[ty][k] * Bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (row < m && col < n) {
    global REAL *c = C + row * ldc + col;
    REAL value = alpha * sum;
    if (beta != (REAL)0)
      value += beta * *c;
    *c = value;
  }
}
