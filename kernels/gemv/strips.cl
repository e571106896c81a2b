/* strips.cl - transposed matrix times vector, a work-group for each strip
** SPDX-License-Identifier: MIT
**
**   y[j] = alpha * (sum over i of A[i*lda + j] * x[i]) + beta * y[j]
**
** A work-group has a strip of LX * WIDTH columns. Work-item (x, k) goes down
** WIDTH of them, in rows k, k + LY, k + 2 LY ..., of which it loads HEIGHT
** before it adds them; the sums of the LY meet in local memory as in group.cl.
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of rows elements
**   y           in, out: vector of cols elements; not read if beta is 0
**   alpha, beta scalars
**   size        of TOLD: rows of a part
**   state       of TOLD: see parts.cl
** NDRange: two dimensions, global = {ceil(cols / WIDTH) rounded up to LX, LY;
**   with TOLD LY for each part}, local = {LX, LY}.
** Local memory: LX * LY * WIDTH elements.
** Defines: REAL, LX, LY, WIDTH, HEIGHT, TOLD.
** Assumes: LY is a power of two; WIDTH is 1, 2, 4 or 8; for speed only, that
**   lda is a multiple of WIDTH and that A begins at a multiple of a vector.
**
** Lesson, against `split`: one launch and no sums in global memory, which a
** second launch would have to wait for. A strip is narrow, so that a large GPU
** has one for each compute unit, and many work-items read rows of it at a
** time. A matrix of few columns has too few strips: with TOLD (rung
** `nv_strips`) a strip has parts, and LY >= WIDTH.
*/
#ifndef LX
#define LX 8 /* work-items side by side */
#endif
#ifndef LY
#define LY 64 /* rows at a time */
#endif
#ifndef WIDTH
#define WIDTH 4 /* columns of a work-item */
#endif
#include "vectors.cl"
#ifndef HEIGHT
#define HEIGHT 8 /* rows that are loaded together */
#endif

#include "parts.cl"

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta MORE)
{
  local VECTOR part[LY][LX];
  const uint tx = get_local_id(0), ty = get_local_id(1);
  const size_t j = get_global_id(0) * WIDTH, n = cols;
  const size_t begin = BEGIN, m = END(rows);
  const uint mark = MARK;
  VECTOR sum = (VECTOR)(0);
  REAL sums[WIDTH];
  if (j + WIDTH <= n && lda % WIDTH == 0 &&
      ALIGNED(A)) {
    const size_t step = HEIGHT * LY, whole = begin + (m - begin) / step * step;
    for (size_t i = begin + ty; i < whole; i += step) {
      VECTOR a[HEIGHT];
#pragma unroll
      for (int r = 0; r < HEIGHT; r++)
        a[r] = *(global const VECTOR *)(A + (i + r * LY) * lda + j);
#pragma unroll
      for (int r = 0; r < HEIGHT; r++)
        sum += a[r] * x[i + r * LY];
    }
#pragma unroll
    for (int r = 0; r < HEIGHT; r++) {
      const size_t i = whole + ty + r * LY;
      if (i < m)
        sum += *(global const VECTOR *)(A + i * lda + j) * x[i];
    }
  } else {
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
      sums[k] = 0;
    for (size_t i = begin + ty; i < m; i += LY) {
#pragma unroll
      for (int k = 0; k < WIDTH; k++)
        if (j + k < n)
          sums[k] += A[i * lda + j + k] * x[i];
    }
    sum = LOAD(sums);
  }
  part[ty][tx] = sum;
  for (uint s = LY / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (ty < s)
      part[ty][tx] += part[ty + s][tx];
  }
  const bool ends = ADD_PARTS(mark, (local REAL *)part[0], ty * LX + tx,
    LX * LY, LX * WIDTH, get_group_id(0) * (LX * WIDTH), n);
  if (ends && ty == 0) {
    STORE(part[0][tx], sums);
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
      if (j + k < n)
        y[j + k] = result(alpha, sums[k], beta, y + j + k);
  }
}
