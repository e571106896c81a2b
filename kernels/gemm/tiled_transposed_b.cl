/* tiled_transposed_b.cl - tiled matrix product with B transposed
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, where BT holds B transposed, through TILE x TILE
** tiles in local memory:
**
**   C[i][j] = alpha sum_k A[i][k] BT[j][k] + beta C[i][j]
**
**   tile of BT, as read      k -->         as kept in Bs     j -->
**                         j  a b c                        k  a d g
**                         |  d e f                        |  b e h
**                         v  g h i                        v  c f i
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** BT in       N x K, row-major: row j is column j of B; ldb >= K
** C  in, out  M x N, row-major, ldc >= N
** wanted      only with STANDBY: 0 means that nothing is to be done
**
** NDRange: global = N x M, both rounded up to TILE (dimension 0 = columns
**          of C), local = TILE x TILE
** Local memory: 2 TILE TILE elements
** Defines: REAL, TILE; STANDBY, for rung ozaki; PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor BT
**
** Lesson: local memory mends the access pattern that spoilt transposed_b.
** Dimension 0 walks along k while loading, so the loads of BT coalesce; the
** tile is turned on its way into local memory, and the product then reads
** Bs[k][tx], neighbouring cells, as in `tiled`. What remains is the turned
** store: neighbours write cells TILE elements apart, which lie in one bank
** when TILE is 32. That is one slow store against TILE fast reads (turning
** at the read instead would make all TILE of them slow); tiled_padded and
** tiled_swizzled show how to be rid of it. It pays when B comes transposed
** anyway; transposing only for this gains nothing over `tiled`. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of a tile, and of the work-group */
#endif

#include "submatrix.cl"

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict BT, int ldb, REAL beta,
          global REAL *restrict C, int ldc
#ifdef STANDBY
          , global const int *wanted
#endif
          AT_ABC)
{
#ifdef STANDBY
  if (!*wanted)
    return;
#endif
  MOVE(A, at_a);
  MOVE(BT, at_b);
  MOVE(C, at_c);
  local REAL As[TILE][TILE];
  local REAL Bs[TILE][TILE];

  const size_t m = M, n = N, kk = K;
  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t col = get_group_id(0) * TILE + tx;
  const size_t row = get_group_id(1) * TILE + ty;
  const size_t brow = get_group_id(0) * TILE + ty;  /* the row of BT to load */

  REAL sum = 0;
  for (size_t k0 = 0; k0 < kk; k0 += TILE) {
    As[ty][tx] = row < m && k0 + tx < kk
                     ? A[row * lda + k0 + tx] : (REAL)0;
    Bs[tx][ty] = brow < n && k0 + tx < kk
                     ? BT[brow * ldb + k0 + tx] : (REAL)0;
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
