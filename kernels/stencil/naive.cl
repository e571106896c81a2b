/* naive.cl - 5-point stencil, one work-item for each element
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** Arguments:
**   rows, cols  size of A and of B
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: rows x cols, row-major
**   ldb         elements from one row of B to the next, >= cols
**   centre, left, right, up, down  weights of the element and its neighbours
** NDRange: two dimensions, global = {cols rounded up to LX, rows rounded up to
**   LY}, local = {LX, LY}.
** Defines: REAL, LX, LY.
** Assumes nothing.
**
** Lesson: five loads and one store for each element, but each element of A is
** loaded by five neighbours: all but one of these loads come from a cache.
** Memory has to move two elements, so the copy bandwidth is the roof.
** Neighbours along a row are in one line; neighbours above and below are in
** others.
*/
#include "weights.cl"
#ifndef LX
#define LX 32 /* work-group size along rows */
#endif
#ifndef LY
#define LY 8 /* rows of a work-group */
#endif

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void stencil(int rows, int cols, global const REAL *restrict A, int lda,
             global REAL *restrict B, int ldb, REAL centre, REAL left,
             REAL right, REAL up, REAL down)
{
  const int i = get_global_id(1), j = get_global_id(0);
  if (i < rows && j < cols) {
    global const REAL *a = A + (size_t)i * lda + j;
    REAL b = *a;
    if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1)
      b = WEIGHTED(*a, a[-1], a[1], *(a - lda), a[lda]);
    B[(size_t)i * ldb + j] = b;
  }
}
