/* simd.cl - matrix times vector for CPUs, blocks of rows
** SPDX-License-Identifier: MIT
**
**   y[i] = alpha * (sum over j of A[i*lda + j] * x[j]) + beta * y[i]
**
** A work-item walks along HEIGHT rows of its BLOCK at a time, WIDTH elements
** in a step, with one vector of sums for each row.
**
** Arguments:
**   rows, cols  size of A
**   A           in:      rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   x           in:      vector of cols elements
**   y           in, out: vector of rows elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = ceil(rows / BLOCK), local = 1.
** Defines: REAL, BLOCK, HEIGHT, WIDTH.
** Assumes: HEIGHT divides BLOCK; WIDTH is 4, 8 or 16.
**
** Lesson: a core has long vectors and an addition that takes several clocks.
** The sums of HEIGHT rows do not wait for each other, and a vector of x serves
** all of them. Rows are read in order, as the core's prefetcher expects, each
** a stream of its own, and elements are asked for a little early. No local
** memory, no barrier.
*/
#include "../cache/lines.cl"
#ifndef BLOCK
#define BLOCK 64 /* rows of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 8 /* rows side by side */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#include "vectors.cl"

#define AHEAD 128 /* elements between a request and the use */

static REAL total(VECTOR v)
{
  REAL lanes[WIDTH], sum = 0;
  STORE(v, lanes);
  for (int k = 0; k < WIDTH; k++)
    sum += lanes[k];
  return sum;
}

/* row times x from column j on */
static REAL rest(global const REAL *row, global const REAL *x, size_t j,
                 size_t n)
{
  REAL sum = 0;
  for (; j < n; j++)
    sum += row[j] * x[j];
  return sum;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemv(int rows, int cols, global const REAL *restrict A, int lda,
          global const REAL *restrict x, global REAL *restrict y, REAL alpha,
          REAL beta)
{
  const size_t n = cols, whole = n - n % WIDTH;
  const size_t begin = get_global_id(0) * BLOCK;
  const size_t end = min(begin + BLOCK, (size_t)rows);
  size_t i = begin;
  for (; i + HEIGHT <= end; i += HEIGHT) {
    global const REAL *a = A + i * lda;
    VECTOR sums[HEIGHT];
#pragma unroll
    for (int r = 0; r < HEIGHT; r++)
      sums[r] = (VECTOR)(0);
    for (size_t j = 0; j < whole; j += WIDTH) {
      const VECTOR v = LOAD(x + j);
#pragma unroll
      for (int r = 0; r < HEIGHT; r++) {
        ASK(a + (size_t)r * lda + j + AHEAD);
        sums[r] += v * LOAD(a + (size_t)r * lda + j);
      }
    }
    for (int r = 0; r < HEIGHT; r++)
      y[i + r] = result(alpha, total(sums[r])
        + rest(a + (size_t)r * lda, x, whole, n), beta, y + i + r);
  }
  for (; i < end; i++) {
    VECTOR sums = (VECTOR)(0);
    for (size_t j = 0; j < whole; j += WIDTH)
      sums += LOAD(x + j) * LOAD(A + i * lda + j);
    y[i] = result(alpha, total(sums) + rest(A + i * lda, x, whole, n), beta,
                  y + i);
  }
}
