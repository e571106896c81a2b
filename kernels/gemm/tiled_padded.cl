/* tiled_padded.cl - tiled matrix product, local rows made longer
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. As tiled.cl, but the tile of B is kept transposed
** (Bs[j][k]), so that a work-item finds both of its operands along rows,
** and each local row has PAD more elements than the tile needs.
**
** Local memory lies in banks, one 4-byte word wide, 32 of them on NVIDIA.
** Neighbouring work-items read Bs[0][k], Bs[1][k], Bs[2][k], ...:
**
**   TILE = 32, PAD = 0:  row length 32    TILE = 32, PAD = 1:  length 33
**   bank   0  1  2 .. 31                  bank   0  1  2 .. 31
**   row 0  k                              row 0  k
**   row 1  k                              row 1     k
**   row 2  k      one bank, 32 turns      row 2        k     32 banks, one
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = N x M, both rounded up to TILE (dimension 0 = columns
**          of C), local = TILE x TILE
** Local memory: 2 TILE (TILE + PAD) elements
** Defines: REAL, TILE, PAD; PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor B
**
** Lesson: an odd row length spreads a column of a tile over all the banks.
** Compare PAD = 0 with PAD = 1: the wider the tile, the larger the gap (an
** H100 with TILE = 32 ran 14 times faster). It pays wherever a tile is read
** or written down its columns, as here or in a transpose. `tiled` reads B
** along rows; in float it has no conflicts to mend, and PAD = 1 is level
** with it. In double with TILE = 16 it has: a row of As then spans all the
** banks, so the two rows that a warp reads meet in one, and PAD = 1 gains a
** quarter. Any odd PAD serves; 2 and 4 leave some of the conflicts. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of a tile, and of the work-group */
#endif
#ifndef PAD
#define PAD 1 /* elements added to each row in local memory */
#endif

#include "submatrix.cl"

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  local REAL As[TILE][TILE + PAD];
  local REAL Bs[TILE][TILE + PAD];  /* transposed: Bs[column of B][k] */

  const size_t m = M, n = N, kk = K;
  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t col = get_group_id(0) * TILE + tx;
  const size_t row = get_group_id(1) * TILE + ty;

  REAL sum = 0;
  for (size_t k0 = 0; k0 < kk; k0 += TILE) {
    As[ty][tx] = row < m && k0 + tx < kk
                     ? A[row * lda + k0 + tx] : (REAL)0;
    Bs[tx][ty] = k0 + ty < kk && col < n
                     ? B[(k0 + ty) * ldb + col] : (REAL)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < TILE; k++)
      sum += As[ty][k] * Bs[tx][k];
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
