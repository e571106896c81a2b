/* columns.cl - transposed matrix times vector, one work-item for each column
** SPDX-License-Identifier: MIT
**
**   y[j] = alpha * (sum over i of A[i*lda + j] * x[i]) + beta * y[j]
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of rows elements
**   y           in, out: vector of cols elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = cols rounded up to WG, local = WG.
** Defines: REAL, WG.
** Assumes nothing.
**
** Lesson: down the columns the plain way is coalesced: neighbours read
** neighbouring elements of one row. But there are only as many work-items as
** columns: 8192 of them leave most of a large GPU idle, and each waits for
** its own loads.
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
  const size_t j = get_global_id(0);
  if (j < (size_t)cols) {
    REAL sum = 0;
    for (size_t i = 0; i < (size_t)rows; i++)
      sum += A[i * lda + j] * x[i];
    y[j] = result(alpha, sum, beta, y + j);
  }
}
