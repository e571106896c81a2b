/* tiled.cl - matrix product through square tiles in local memory
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. A work-group computes a TILE x TILE block of C.
** It walks along K tile by tile; each tile of A and of B is fetched once
** for the whole group, then read TILE times from local memory:
**
**                    B  +----+----+----+
**                       |    | k0 |    |     for each k0 = 0, TILE, ...
**                       +----+-||-+----+       Bs = tile (k0, group 0) of B
**                              \/              As = tile (group 1, k0) of A
**    A  +----+----+     C  +----+              barrier
**       | k0 |    | ====>  |    |              sum += row of As * column
**       +----+----+        +----+                     of Bs
**                                              barrier
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
** Defines: REAL, TILE, EDGE_PAD; PLACED, see submatrix.cl; other types:
**          stored.cl
** Assumes: EDGE_PAD = 0: nothing about the shape
**          EDGE_PAD = 1: A, B and C have room for M, N and K rounded up to
**          TILE, and the cells of A and B beyond M, N, K hold zeros
**
** Lesson: global reads fall by a factor of TILE. Two things to get right:
** - every work-item of the group must reach every barrier, so a work-item
**   outside C may not return early; it loads, waits and only stores nothing
** - an entry of the tile outside the matrix must be zero, not left as the
**   previous tile made it. Either test each load (EDGE_PAD = 0) or make the
**   matrices fit (EDGE_PAD = 1: no test, but copies and memory)
** The second barrier keeps fast work-items from overwriting a tile that
** slower ones still read. Reads of As are one cell for a whole row of the
** group (a broadcast), reads of Bs are neighbouring cells: no conflicts.
** It pays wherever local memory is faster than the caches; on a CPU local
** memory is ordinary memory, and whole unrolling may slow the loop. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of a tile, and of the work-group */
#endif
#ifndef EDGE_PAD
#define EDGE_PAD 0 /* 1: the matrices are padded with zeros, test nothing */
#endif

#include "submatrix.cl"
#include "stored.cl"

#if EDGE_PAD
#define INSIDE(test) 1
#else
#define INSIDE(test) (test)
#endif

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, RESULT alpha,
          global const ELEMENT *restrict A, int lda,
          global const ELEMENT *restrict B, int ldb, RESULT beta,
          global C_ELEMENT *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  local REAL As[TILE][TILE];
  local REAL Bs[TILE][TILE];

  const size_t m = M, n = N, kk = K;
  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t col = get_group_id(0) * TILE + tx;
  const size_t row = get_group_id(1) * TILE + ty;

  SUM sum = 0;
  for (size_t k0 = 0; k0 < kk; k0 += TILE) {
    As[ty][tx] = INSIDE(row < m && k0 + tx < kk)
                     ? WIDEN(A[row * lda + k0 + tx]) : (REAL)0;
    Bs[ty][tx] = INSIDE(k0 + ty < kk && col < n)
                     ? WIDEN(B[(k0 + ty) * ldb + col]) : (REAL)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < TILE; k++)
      sum += As[ty][k] * Bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (INSIDE(row < m && col < n)) {
    global C_ELEMENT *c = C + row * ldc + col;
    SUM value = alpha * sum;
    if (beta != (RESULT)0)
      value += (SUM)beta * WIDEN_C(*c);
    *c = NARROW(value);
  }
}
