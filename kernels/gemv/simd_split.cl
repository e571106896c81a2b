/* simd_split.cl - transposed matrix times vector for CPUs, blocks of A
** SPDX-License-Identifier: MIT
**
**   sums[p*cols + j] = sum over i of A[i*lda + j] * x[i],
**                      p*PART <= i < p*PART + PART
**
** A work-item takes PART rows of SPAN columns, HEIGHT rows at a time, and
** keeps the sums of its columns at hand. A second launch, of add.cl, adds the
** sums of all parts.
**
** Arguments:
**   rows, cols  size of A
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:  vector of rows elements
**   sums        out: ceil(rows / PART) x cols
** NDRange: two dimensions, global = {ceil(cols / SPAN), ceil(rows / PART)},
**   local = {1, 1}.
** Defines: REAL, SPAN, PART, HEIGHT, WIDTH.
** Assumes: HEIGHT divides PART, WIDTH divides SPAN; WIDTH is 4, 8 or 16.
**
** Lesson, against `columns`: on a CPU a walk down a few columns takes little
** of each line and of each page. Here rows are read along, HEIGHT of them at a
** time, so that a sum, which lies in the nearest cache, is loaded and stored
** once for HEIGHT products. Elements are asked for a little early.
*/
#include "../cache/lines.cl"
#ifndef SPAN
#define SPAN 8192 /* columns of a work-item */
#endif
#ifndef PART
#define PART 256 /* rows of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 8 /* rows side by side */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#include "vectors.cl"

#define AHEAD 128 /* elements between a request and the use */

/* out += n columns of HEIGHT rows of a times x */
static void add_rows(size_t n, global const REAL *a, size_t lda,
                     global const REAL *x, global REAL *out)
{
  size_t j = 0;
  for (; j + WIDTH <= n; j += WIDTH) {
    VECTOR sum = LOAD(out + j);
#pragma unroll
    for (int r = 0; r < HEIGHT; r++) {
      ASK(a + r * lda + j + AHEAD);
      sum += x[r] * LOAD(a + r * lda + j);
    }
    STORE(sum, out + j);
  }
  for (; j < n; j++) {
    REAL sum = out[j];
#pragma unroll
    for (int r = 0; r < HEIGHT; r++)
      sum += x[r] * a[r * lda + j];
    out[j] = sum;
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict sums)
{
  const size_t j = get_group_id(0) * SPAN;
  const size_t n = min((size_t)SPAN, cols - j);
  const size_t begin = get_group_id(1) * PART;
  const size_t end = min(begin + PART, (size_t)rows);
  global REAL *out = sums + get_group_id(1) * cols + j;
  size_t i = begin;
  for (size_t k = 0; k < n; k++)
    out[k] = 0;
  for (; i + HEIGHT <= end; i += HEIGHT)
    add_rows(n, A + i * lda + j, lda, x + i, out);
  for (; i < end; i++) {
    for (size_t k = 0; k < n; k++)
      out[k] += x[i] * A[i * lda + j + k];
  }
}
