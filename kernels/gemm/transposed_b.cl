/* transposed_b.cl - matrix product with B handed over transposed
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, where BT holds B transposed:
**
**   C[i][j] = alpha sum_k A[i][k] BT[j][k] + beta C[i][j]
**
**    A  i ------>       each work-item multiplies two rows,
**    BT j ------>       both read from left to right
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** BT in       N x K, row-major: row j is column j of B; ldb >= K
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = N x M or more (dimension 0 = column of C), local = any
** Defines: REAL; PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor BT
**
** Lesson: a change that is good for one work-item need not be good for all of
** them. Seen alone, each work-item now reads two contiguous rows, as a CPU
** core and its cache like it. On a GPU, neighbours run together, and at the
** same k they read BT[j][k], BT[j+1][k], ...: cells ldb elements apart, so the
** accesses no longer coalesce. It pays on CPUs, seldom on GPUs. */
#include "../type/real.cl"

#include "submatrix.cl"

kernel void gemm(int M, int N, int K, REAL alpha,
                 global const REAL *restrict A, int lda,
                 global const REAL *restrict BT, int ldb, REAL beta,
                 global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(BT, at_b);
  MOVE(C, at_c);
  const size_t col = get_global_id(0);
  const size_t row = get_global_id(1);
  if (row >= (size_t)M || col >= (size_t)N)
    return;  /* allowed here: this kernel has no barrier */

  global const REAL *a = A + row * lda;
  global const REAL *b = BT + col * ldb;
  REAL sum = 0;
  for (int k = 0; k < K; k++)
    sum += a[k] * b[k];

  global REAL *c = C + row * ldc + col;
  REAL value = alpha * sum;
  if (beta != (REAL)0)
    value += beta * *c;
  *c = value;
}
