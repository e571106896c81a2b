/* naive_global.cl - matrix product, the sum kept in global memory
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, one work-item per element of C:
**
**   C[i][j] = beta C[i][j];  for each k:  C[i][j] += alpha A[i][k] B[k][j]
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = N x M or more (dimension 0 walks the columns of C),
**          local = any
** Defines: REAL; PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor B
**
** Lesson: the starting point, written as the formula reads. Every step of
** the sum reads and writes memory: four accesses for one multiply-add, two
** of them to a cell that nobody else needs. It never pays; `naive` keeps
** the sum in a private variable and changes nothing else. */
#include "../type/real.cl"

#include "submatrix.cl"

kernel void gemm(int M, int N, int K, REAL alpha,
                 global const REAL *restrict A, int lda,
                 global const REAL *restrict B, int ldb, REAL beta,
                 global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const size_t col = get_global_id(0);
  const size_t row = get_global_id(1);
  if (row >= (size_t)M || col >= (size_t)N)
    return;  /* allowed here: this kernel has no barrier */

  global const REAL *a = A + row * lda;
  global const REAL *b = B + col;
  /* volatile holds the compiler to what is written: without it, restrict
  ** lets it keep the sum in a register, and this would be `naive` */
  global volatile REAL *c = C + row * ldc + col;

  *c = beta == (REAL)0 ? (REAL)0 : beta * *c;
  for (int k = 0; k < K; k++)
    *c += alpha * a[k] * b[(size_t)k * ldb];
}
