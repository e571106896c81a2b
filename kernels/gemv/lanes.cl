/* lanes.cl - matrix times vector, several lanes for each row
** SPDX-License-Identifier: MIT
**
**   y[i] = alpha * (sum over j of A[i*lda + j] * x[j]) + beta * y[i]
**
** LANES neighbouring work-items share a row, a work-group has WG / LANES rows.
** Lane k adds the vectors k, k + LANES ... of WIDTH products; the sums of a row's lanes meet in
** local memory as in group.cl.
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of cols elements
**   y           in, out: vector of rows elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = ceil(rows / (WG / LANES)) * WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, WG, LANES, WIDTH.
** Assumes: LANES is a power of two and divides WG; WIDTH is 1, 2, 4 or 8; for
**   speed only, that lda is a multiple of WIDTH and that A and x begin at
**   multiples of a vector.
**
** Lesson, against `group`: a row has as many work-items as it has use for, so
** short rows leave fewer of them idle, and there are fewer steps in local
** memory. Every work-item passes every barrier, also without a row.
*/
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef LANES
#define LANES 32 /* work-items of a row */
#endif
#ifndef WIDTH
#define WIDTH 4 /* elements per load */
#endif
#include "vectors.cl"

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta)
{
  local REAL part[WG];
  const uint id = get_local_id(0), lane = id % LANES;
  const size_t i = get_global_id(0) / LANES;
  REAL sum = 0;
  if (i < (size_t)rows) {
    const size_t whole = lda % WIDTH == 0 && ALIGNED(A) && ALIGNED(x) ?
      (size_t)cols / WIDTH : 0;
    global const REAL *row = A + i * lda;
    VECTOR sums = (VECTOR)(0);
    REAL parts[WIDTH];
    for (size_t j = lane; j < whole; j += LANES)
      sums += ((global const VECTOR *)row)[j] * ((global const VECTOR *)x)[j];
    for (size_t j = whole * WIDTH + lane; j < (size_t)cols; j += LANES)
      sum += row[j] * x[j];
    STORE(sums, parts);
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
      sum += parts[k];
  }
  part[id] = sum;
  for (uint s = LANES / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < s)
      part[id] += part[id + s];
  }
  if (lane == 0 && i < (size_t)rows)
    y[i] = result(alpha, part[id], beta, y + i);
}
