/* vector.cl - matrix times vector, long loads and several rows at a time
** SPDX-License-Identifier: MIT
**
**   y[i] = alpha * (sum over j of A[i*lda + j] * x[j]) + beta * y[i]
**
** A work-group has HEIGHT rows. Work-item k takes WIDTH elements of x, and of
** each row, at k, k + WG, k + 2 WG ... vectors; the sums of each row meet in
** local memory as in group.cl. A last work-group with fewer rows computes the
** last row several times, and stores it once. With TOLD
** (rung `nv_rows`) a work-group has a part of its rows, and the last part's
** work-group adds the sums of the parts, see parts.cl.
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of cols elements
**   y           in, out: vector of rows elements; not read if beta is 0
**   alpha, beta scalars
**   size        of TOLD: columns of a part
**   state       of TOLD: see parts.cl
** NDRange: global = {ceil(rows / HEIGHT) * WG, 1; with TOLD the parts}, local =
**   {WG, 1}.
** Local memory: HEIGHT * WG elements.
** Defines: REAL, WG, WIDTH, HEIGHT, DEPTH, TOLD.
** Assumes: WG is a power of two, at least HEIGHT; WIDTH is 1, 2, 4 or 8; for
**   speed only, that lda is a multiple of WIDTH and that A and x begin at
**   multiples of a vector.
**
** Lesson, against `lanes`: 16 bytes a load are the most that a GPU moves for a
** work-item at once, and HEIGHT loads, which do not wait for each other, are
** under way at a time: memory is kept busy by fewer work-items. An element of
** x is loaded once for HEIGHT of A. Few rows keep few work-groups busy, however
** long they are: parts of them are as good as rows.
*/
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef WIDTH
#define WIDTH 4 /* elements per load */
#endif
#include "vectors.cl"
#ifndef HEIGHT
#define HEIGHT 4 /* rows of a work-group */
#endif
#ifndef DEPTH
#define DEPTH 1 /* loads of each row under way */
#endif
#include "parts.cl"
#define UNROLL _Pragma("unroll")

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta MORE)
{
  local REAL part[HEIGHT][WG];
  const uint id = get_local_id(0);
  const size_t i0 = get_group_id(0) * HEIGHT;
  const size_t begin = BEGIN, n = END(cols);
  const uint mark = MARK;
  const size_t whole = lda % WIDTH == 0 && ALIGNED(A) && ALIGNED(x) ?
    n / WIDTH : begin / WIDTH;
  global const REAL *row[HEIGHT];
  VECTOR sums[HEIGHT];
  UNROLL for (int r = 0; r < HEIGHT; r++) {
    row[r] = A + min(i0 + r, (size_t)rows - 1) * lda;
    sums[r] = (VECTOR)(0);
  }
  for (size_t j = begin / WIDTH + id; j < whole; j += DEPTH * WG) {
    VECTOR v[DEPTH], a[DEPTH][HEIGHT];
    UNROLL for (int d = 0; d < DEPTH; d++) {
      const size_t at = j + d * WG;
      const bool in = d == 0 || at < whole;
      v[d] = in ? ((global const VECTOR *)x)[at] : (VECTOR)(0);
      UNROLL for (int r = 0; r < HEIGHT; r++)
        a[d][r] = in ? ((global const VECTOR *)row[r])[at] : (VECTOR)(0);
    }
    UNROLL for (int d = 0; d < DEPTH; d++)
      UNROLL for (int r = 0; r < HEIGHT; r++)
        sums[r] += v[d] * a[d][r];
  }
  UNROLL for (int r = 0; r < HEIGHT; r++) {
    REAL sum = 0, lanes[WIDTH];
    for (size_t j = whole * WIDTH + id; j < n; j += WG)
      sum += row[r][j] * x[j];
    STORE(sums[r], lanes);
    UNROLL for (int k = 0; k < WIDTH; k++)
      sum += lanes[k];
    part[r][id] = sum;
  }
  for (uint s = WG / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      UNROLL for (int r = 0; r < HEIGHT; r++)
        part[r][id] += part[r][id + s];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  REAL sum = id < HEIGHT ? part[id][0] : 0;
  if (TOLD) {
    barrier(CLK_LOCAL_MEM_FENCE);
    part[0][id] = sum;
  }
  const bool ends = ADD_PARTS(mark, part[0], id, WG, HEIGHT, i0, rows);
  if (TOLD)
    sum = part[0][id];
  if (ends && id < HEIGHT && i0 + id < (size_t)rows)
    y[i0 + id] = result(alpha, sum, beta, y + i0 + id);
}
