/* split.cl - transposed matrix times vector, parts of the rows apart
** SPDX-License-Identifier: MIT
**
**   sums[p*cols + j] = sum over i of A[i*lda + j] * x[i],
**                      p*PART <= i < p*PART + PART
**
** A work-item takes WIDTH columns in PART rows. A second launch, of add.cl,
** adds the sums of all parts.
**
** Arguments:
**   rows, cols  size of A
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:  vector of rows elements
**   sums        out: ceil(rows / PART) x cols
** NDRange: two dimensions, global = {ceil(cols / WIDTH) rounded up to WG,
**   ceil(rows / PART)}, local = {WG, 1}.
** Defines: REAL, WG, WIDTH, PART.
** Assumes: WIDTH is 1, 2, 4 or 8; for speed only, that lda is a multiple of
**   WIDTH and that A begins at a multiple of a vector.
**
** Lesson, against `columns`: PART rows instead of all, so there are rows /
** PART times the work-items, enough to keep memory busy; 16 bytes a load. The
** sums of the parts are 1 / PART of A, written and read once.
*/
#ifndef WG
#define WG 64 /* work-group size */
#endif
#ifndef WIDTH
#define WIDTH 4 /* columns of a work-item */
#endif
#include "vectors.cl"
#ifndef PART
#define PART 128 /* rows of a work-item */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict sums)
{
  const size_t j = get_global_id(0) * WIDTH, n = cols;
  const size_t begin = get_global_id(1) * PART;
  const size_t end = min(begin + PART, (size_t)rows);
  global REAL *out = sums + get_global_id(1) * n;
  if (j + WIDTH <= n && lda % WIDTH == 0
      && ALIGNED(A)) {
    VECTOR sum = (VECTOR)(0);
#pragma unroll 8
    for (size_t i = begin; i < end; i++)
      sum += *(global const VECTOR *)(A + i * lda + j) * x[i];
    STORE(sum, out + j);
  } else {
    for (size_t k = j; k < min(j + WIDTH, n); k++) {
      REAL sum = 0;
      for (size_t i = begin; i < end; i++)
        sum += A[i * lda + k] * x[i];
      out[k] = sum;
    }
  }
}
