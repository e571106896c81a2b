/* simd.cl - 5-point stencil for CPUs, blocks of rows
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** A work-item walks along the rows of its block, WIDTH elements in a step: the
** element's own vector and four others, of which those to the left and right
** begin one element before and after it.
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
** Defines: REAL, SPAN, HEIGHT, WIDTH, STREAM.
** Assumes: WIDTH is 4, 8 or 16; for speed only, that rows of B begin at
**   multiples of a vector.
**
** Lesson, against `rows`: long vectors along the rows, in the order of memory.
** Three rows of SPAN elements lie in the cache, so that each is fetched once.
** A store fetches its line first, which makes three elements to move in place
** of two; stores past the cache (STREAM, where the compiler has
** __builtin_nontemporal_store) leave that out. They fill whole vectors.
*/
#include "weights.cl"
#ifndef SPAN
#define SPAN 4096 /* columns of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 64 /* rows of a work-item */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: B goes past the cache */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#ifdef __has_builtin
#if STREAM && __has_builtin(__builtin_nontemporal_store)
#define PASS(v, p) __builtin_nontemporal_store(v, (global VECTOR *)(p))
#endif
#endif
#ifndef PASS
#define PASS(v, p) JOIN(vstore, WIDTH)(v, 0, p)
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void stencil(int rows, int cols, global const REAL *restrict A, int lda,
             global REAL *restrict B, int ldb, REAL centre, REAL left,
             REAL right, REAL up, REAL down)
{
  const long begin = get_group_id(0) * SPAN;
  const long end = min(begin + SPAN, (long)cols);
  const long i0 = get_group_id(1) * HEIGHT;
  for (long i = i0; i < min(i0 + HEIGHT, (long)rows); i++) {
    global const REAL *a = A + i * lda;
    global REAL *b = B + i * ldb;
    long j = begin;
    if (i == 0 || i == rows - 1) {
      for (; j < end; j++)
        b[j] = a[j];
      continue;
    }
    for (; j < end; j++) { /* up to a whole vector of b, past the edge */
      if (j > 0 && (uintptr_t)(b + j) % sizeof(VECTOR) == 0)
        break;
      b[j] = j == 0 || j == cols - 1
                 ? a[j]
                 : WEIGHTED(a[j], a[j - 1], a[j + 1], a[j - lda], a[j + lda]);
    }
    for (; j + WIDTH <= min(end, (long)cols - 1); j += WIDTH)
      PASS(WEIGHTED(VLOAD(a + j), VLOAD(a + j - 1), VLOAD(a + j + 1),
                    VLOAD(a + j - lda), VLOAD(a + j + lda)), b + j);
    for (; j < end; j++)
      b[j] = j == 0 || j == cols - 1
                 ? a[j]
                 : WEIGHTED(a[j], a[j - 1], a[j + 1], a[j - lda], a[j + lda]);
  }
}
