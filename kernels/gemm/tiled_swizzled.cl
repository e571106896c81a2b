/* tiled_swizzled.cl - tiled matrix product, local columns permuted
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. As tiled_padded.cl (the tile of B is kept
** transposed), but instead of lengthening the rows in local memory, row j
** keeps its TILE elements in another order: element k lies at column
** SWIZZLE(j, k). With k ^ j and TILE = 4:
**
**            column  0  1  2  3
**     row 0          k0 k1 k2 k3      work-items 0, 1, 2, 3 read k0 of
**     row 1          k1 k0 k3 k2      rows 0, 1, 2, 3: columns 0, 1, 2, 3,
**     row 2          k2 k3 k0 k1      all in different banks
**     row 3          k3 k2 k1 k0
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
** Defines: REAL, TILE (a power of two), ROTATE; PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor B
**
** Lesson: the conflicts go without a byte of extra memory. The price is an
** address per read: Bs[tx][k] has a constant offset for each k of the unrolled
** loop, SWIZZLE(tx, k) must be computed and takes registers. It pays where
** padding keeps one more work-group from sharing the unit, or where rows must
** stay aligned for vector reads; otherwise tiled_padded is as fast or faster,
** the more so the larger the tile. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of a tile, and of the work-group: a power of two */
#endif
#ifndef ROTATE
#define ROTATE 0 /* the permutation of row j: 0 = k ^ j, 1 = k + j, cyclic */
#endif

#include "submatrix.cl"

#if TILE & (TILE - 1)
#error "TILE must be a power of two"
#endif

#if ROTATE
#define SWIZZLE(j, k) (((k) + (j)) & (TILE - 1))
#else
#define SWIZZLE(j, k) ((k) ^ (j))
#endif

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  local REAL As[TILE][TILE];
  local REAL Bs[TILE][TILE];  /* Bs[column of B][SWIZZLE(column of B, k)] */

  const size_t m = M, n = N, kk = K;
  const size_t col = get_global_id(0);
  const size_t row = get_global_id(1);
  const uint tx = get_local_id(0), ty = get_local_id(1);

  REAL sum = 0;
  for (size_t k0 = 0; k0 < kk; k0 += TILE) {
    As[ty][tx] = row < m && k0 + tx < kk
                     ? A[row * lda + k0 + tx] : (REAL)0;
    Bs[tx][SWIZZLE(tx, ty)] = k0 + ty < kk && col < n
                     ? B[(k0 + ty) * ldb + col] : (REAL)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (uint k = 0; k < TILE; k++)
      sum += As[ty][k] * Bs[tx][SWIZZLE(tx, k)];
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
