/* simd.cl - 5-point stencil for CPUs, blocks of rows
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** A work-item walks along STREAMS rows of its block side by side, which are
** HEIGHT / STREAMS apart, WIDTH elements in a step: the element's own vector
** and four others. The vectors to the left and right begin one element before
** and after it.
**
** Arguments:
**   rows, cols  size of A and of B
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: rows x cols, row-major
**   ldb         elements from one row of B to the next, >= cols
**   centre, left, right, up, down  weights of the element and its neighbours
** NDRange: two dimensions, global = {ceil(cols / SPAN), ceil(rows / HEIGHT)},
**   local = {1, 1}.
** Defines: REAL, SPAN, HEIGHT, STREAMS, WIDTH, STREAM.
** Assumes: STREAMS divides HEIGHT; WIDTH is 4, 8 or 16; for speed only, that
**   rows of B begin at multiples of a vector.
**
** Lesson, against `rows`: long vectors along the rows, in the order of memory.
** Three rows of SPAN elements lie in the cache, so that each is fetched once.
** Several rows side by side, and elements asked for a little early, have more
** of memory under way than one row in order. A store fetches its line first,
** which makes three elements to move in place of two; stores past the cache
** (STREAM) leave that out. They fill whole vectors.
*/
#include "weights.cl"
#ifndef SPAN
#define SPAN 16384 /* columns of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 128 /* rows of a work-item */
#endif
#ifndef STREAMS
#define STREAMS 2 /* rows side by side */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: B goes past the cache */
#endif

#include "../cache/lines.cl"

#define AHEAD 128 /* elements between a request and the use */

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)

/* element (i, j) of B: any element, and an element that is not in the first or
** last row or column */
#define ELEMENT(a, i, j)                                                  \
  ((i) == 0 || (i) == rows - 1 || (j) == 0 || (j) == cols - 1             \
     ? (a)[j] : INNER(a, j))
#define INNER(a, j)                                                       \
  WEIGHTED((a)[j], (a)[(j) - 1], (a)[(j) + 1], (a)[(j) - lda],            \
           (a)[(j) + lda])
/* a vector of B, from element j of a row on */
#define ELEMENTS(a, j)                                                    \
  WEIGHTED(VLOAD((a) + (j)), VLOAD((a) + (j) - 1), VLOAD((a) + (j) + 1),  \
           VLOAD((a) + (j) - lda), VLOAD((a) + (j) + lda))

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void stencil(int rows, int cols, global const REAL *restrict A, int lda,
             global REAL *restrict B, int ldb, REAL centre, REAL left,
             REAL right, REAL up, REAL down)
{
  const long begin = get_group_id(0) * SPAN;
  const long end = min(begin + SPAN, (long)cols);
  const long inner = min(end, cols - 1L); /* where vectors may end */
  const long part = HEIGHT / STREAMS, i0 = get_group_id(1) * HEIGHT;
  const long first = max(begin, 1L);
  for (long k = i0; k < i0 + part; k++) {
    const long last = min(k + (STREAMS - 1) * part, rows - 1L);
    long from[STREAMS], vectors = SPAN / WIDTH; /* that all rows have */
    for (long s = 0, i = k; s < STREAMS; s++, i += part) {
      global REAL *b = B + i * ldb;
      long j = end;
      if (i > 0 && i < min(last + 1, rows - 1L) && first + WIDTH <= inner) {
        const long past = (uintptr_t)(b + first) % sizeof(VECTOR);
        j = first + (sizeof(VECTOR) - past) / sizeof(REAL) % WIDTH;
      }
      from[s] = j;
      vectors = min(vectors, max(0L, inner - j) / WIDTH);
    }
    for (long v = 0; v < vectors; v++) {
#pragma unroll
      for (int s = 0; s < STREAMS; s++) {
        const long i = k + s * part, j = from[s] + v * WIDTH;
        global const REAL *a = A + i * lda;
        ASK(a + j + lda + AHEAD);
        PASS(ELEMENTS(a, j), (global VECTOR *)(B + i * ldb + j));
      }
    }
    for (long s = 0, i = k; i <= last; s++, i += part) {
      global const REAL *a = A + i * lda;
      global REAL *b = B + i * ldb;
      long j = from[s] + vectors * WIDTH;
      if (from[s] == end) /* a row of the edge, or a short one */
        for (j = begin; j < end; j++)
          b[j] = ELEMENT(a, i, j);
      else {
        for (; j + WIDTH <= inner; j += WIDTH)
          PASS(ELEMENTS(a, j), (global VECTOR *)(b + j));
        for (; j < inner; j++)
          b[j] = INNER(a, j);
        b[end - 1] = ELEMENT(a, i, end - 1);
        for (j = first; j < from[s]; j++)
          b[j] = INNER(a, j);
        b[begin] = ELEMENT(a, i, begin);
      }
    }
  }
}
