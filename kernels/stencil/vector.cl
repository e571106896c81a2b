/* vector.cl - 5-point stencil, work-items go down with long loads and stores
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** A work-item computes HEIGHT rows of WIDTH columns. The neighbours to the
** left and to the right of an element are in the same vector, but for one
** element on each side:
**
**    A     l | a b c d | r      left of the vector:   l a b c
**                               right of the vector:  b c d r
**
** Columns at the right that fill no vector, and all of them where lda, ldb or
** a base address is no multiple of a vector, are computed one by one.
**
** Arguments:
**   rows, cols  size of A and of B
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: rows x cols, row-major
**   ldb         elements from one row of B to the next, >= cols
**   centre, left, right, up, down  weights of the element and its neighbours
** NDRange: two dimensions, global = {ceil(cols / WIDTH) rounded up to LX,
**   ceil(rows / HEIGHT)}, local = {LX, 1}.
** Defines: REAL, LX, HEIGHT, WIDTH.
** Assumes: WIDTH is 2, 4 or 8; for speed only, that lda and ldb are multiples
**   of it.
**
** Lesson, against `rows`: a load of WIDTH elements and two of one for WIDTH
** elements of B, in place of three for each. With 16 bytes a load few
** work-items keep memory busy. What is left is the speed of a copy.
*/
#include "weights.cl"
#ifndef LX
#define LX 32 /* work-group size */
#endif
#ifndef HEIGHT
#define HEIGHT 8 /* rows of a work-item */
#endif
#ifndef WIDTH
#define WIDTH 4 /* columns of a work-item */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define ALIGNED(p, ld) \
  ((ld) % WIDTH == 0 && (uintptr_t)(p) % sizeof(VECTOR) == 0)
#if WIDTH == 2
#define FROM_LEFT(l, v) ((VECTOR)(l, v.s0))
#define FROM_RIGHT(v, r) ((VECTOR)(v.s1, r))
#define LAST s1
#elif WIDTH == 4
#define FROM_LEFT(l, v) ((VECTOR)(l, v.s01, v.s2))
#define FROM_RIGHT(v, r) ((VECTOR)(v.s12, v.s3, r))
#define LAST s3
#else
#define FROM_LEFT(l, v) ((VECTOR)(l, v.s0123, v.s45, v.s6))
#define FROM_RIGHT(v, r) ((VECTOR)(v.s1234, v.s56, v.s7, r))
#define LAST s7
#endif

kernel __attribute__((reqd_work_group_size(LX, 1, 1)))
void stencil(int rows, int cols, global const REAL *restrict A, int lda,
             global REAL *restrict B, int ldb, REAL centre, REAL left,
             REAL right, REAL up, REAL down)
{
  const size_t j = get_global_id(0) * WIDTH, n = cols;
  const int i0 = get_group_id(1) * HEIGHT, end = min(i0 + HEIGHT, rows);
  if (j + WIDTH <= n && ALIGNED(A, lda) && ALIGNED(B, ldb)) {
    const bool first = j == 0, last = j + WIDTH == n;
    global const REAL *a = A + (size_t)i0 * lda + j;
    global REAL *b = B + (size_t)i0 * ldb + j;
    VECTOR above = (VECTOR)(0), here = *(global const VECTOR *)a;
    if (i0 > 0)
      above = *(global const VECTOR *)(a - lda);
    for (int i = i0; i < end; i++, a += lda, b += ldb) {
      VECTOR below = (VECTOR)(0), sum = here;
      if (i < rows - 1)
        below = *(global const VECTOR *)(a + lda);
      if (i > 0 && i < rows - 1) {
        const REAL l = first ? 0 : a[-1], r = last ? 0 : a[WIDTH];
        sum = WEIGHTED(here, FROM_LEFT(l, here), FROM_RIGHT(here, r), above,
                       below);
        sum.s0 = first ? here.s0 : sum.s0;
        sum.LAST = last ? here.LAST : sum.LAST;
      }
      *(global VECTOR *)b = sum;
      above = here;
      here = below;
    }
  } else {
    for (int i = i0; i < end; i++) {
      global const REAL *a = A + (size_t)i * lda;
      for (size_t k = j; k < min(j + WIDTH, n); k++)
        B[(size_t)i * ldb + k] =
            i == 0 || i == rows - 1 || k == 0 || k == n - 1
                ? a[k]
                : WEIGHTED(a[k], a[k - 1], a[k + 1], *(a + k - lda),
                           a[k + lda]);
    }
  }
}
