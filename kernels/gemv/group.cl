/* group.cl - matrix times vector, a work-group for each row
** SPDX-License-Identifier: MIT
**
**   y[i] = alpha * (sum over j of A[i*lda + j] * x[j]) + beta * y[i]
**
** Work-item k adds the products k, k + WG, k + 2 WG ...; then the sums meet in
** local memory, half of them in each step (WG = 4):
**
**    row       0 1 2 3 4 5 6 7 8      part  0 1 2 3
**    work-item 0 1 2 3 0 1 2 3 0            0+2 1+3
**                                           0+1 -> y[i]
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of cols elements
**   y           in, out: vector of rows elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = rows * WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, WG.
** Assumes: WG is a power of two.
**
** Lesson, against `naive`: neighbours read neighbouring elements of a row, so
** a warp's loads are whole lines. The steps in local memory cost the more the
** shorter the row is; a row shorter than WG leaves work-items idle.
*/
#include "result.cl"
#ifndef WG
#define WG 128 /* work-group size, and work-items of a row */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta)
{
  local REAL part[WG];
  const uint id = get_local_id(0);
  const size_t i = get_group_id(0);
  global const REAL *row = A + i * lda;
  REAL sum = 0;
  for (size_t j = id; j < (size_t)cols; j += WG)
    sum += row[j] * x[j];
  part[id] = sum;
  for (uint s = WG / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      part[id] += part[id + s];
  }
  if (id == 0)
    y[i] = result(alpha, part[0], beta, y + i);
}
