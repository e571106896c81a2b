/* naive.cl - matrix times vector, one work-item for each row
** SPDX-License-Identifier: MIT
**
**   y[i] = alpha * (sum over j of A[i*lda + j] * x[j]) + beta * y[i]
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of cols elements
**   y           in, out: vector of rows elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = rows rounded up to WG, local = WG.
** Defines: REAL, WG.
** Assumes nothing.
**
** Lesson: each element of A is used once, so reading A takes all the time.
** Neighbours walk down neighbouring rows, lda elements apart: a warp reads
** from as many lines of the cache as it has work-items, 4 bytes of each line
** at a time. All work-items read the same x[j].
*/
#include "result.cl"
#ifndef WG
#define WG 64 /* work-group size */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta)
{
  const size_t i = get_global_id(0);
  if (i < (size_t)rows) {
    global const REAL *row = A + i * lda;
    REAL sum = 0;
    for (int j = 0; j < cols; j++)
      sum += row[j] * x[j];
    y[i] = result(alpha, sum, beta, y + i);
  }
}
