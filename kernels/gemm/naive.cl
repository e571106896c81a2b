/* naive.cl - matrix product, one work-item per element, private sum
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C,  C[i][j] = alpha sum_k A[i][k] B[k][j] + beta ...
**
**                B   k  | j
**                    .  v
**    A  i ------>    C[i][j]      row i of A times column j of B
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: MAP_ROW = 0: global = N x M or more, dimension 0 = column of C
**          MAP_ROW = 1: global = M x N or more, dimension 0 = row of C
**          local = any
** Defines: REAL, MAP_ROW; PLACED, see submatrix.cl; other types: stored.cl
** Assumes: nothing about the shape; C overlaps neither A nor B
**
** Lesson: the sum lives in a register; memory sees two reads for each
** multiply-add and one write at the end. And the mapping decides how fast
** those reads are. Neighbours in dimension 0 run together:
**   MAP_ROW = 0  they share A[i][k] and read B[k][j], B[k][j+1], ...: one
**                contiguous piece of memory ("coalesced")
**   MAP_ROW = 1  they read A[i][k], A[i+1][k], ...: cells lda elements
**                apart, each from a memory line of its own
** On a GPU the second is several times slower. It never pays there; it is
** a parameter because it is the easiest mistake to make. */
#include "../type/real.cl"
#ifndef MAP_ROW
#define MAP_ROW 0 /* 1: work-item dimension 0 walks the rows of C */
#endif

#include "submatrix.cl"
#include "stored.cl"

kernel void gemm(int M, int N, int K, RESULT alpha,
                 global const ELEMENT *restrict A, int lda,
                 global const ELEMENT *restrict B, int ldb, RESULT beta,
                 global C_ELEMENT *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const size_t row = get_global_id(MAP_ROW ? 0 : 1);
  const size_t col = get_global_id(MAP_ROW ? 1 : 0);
  if (row >= (size_t)M || col >= (size_t)N)
    return;  /* allowed here: this kernel has no barrier */

  global const ELEMENT *a = A + row * lda;
  global const ELEMENT *b = B + col;
  SUM sum = 0;
  for (int k = 0; k < K; k++)
    sum += WIDEN(a[k]) * WIDEN(b[(size_t)k * ldb]);

  global C_ELEMENT *c = C + row * ldc + col;
  SUM value = alpha * sum;
  if (beta != (RESULT)0)
    value += (SUM)beta * WIDEN_C(*c);
  *c = NARROW(value);
}
