/* rows.cl - 5-point stencil, work-items go down a column
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** A work-item computes HEIGHT elements of a column. The element itself and the
** element above it are in registers from the two steps before.
**
** Arguments:
**   rows, cols  size of A and of B
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: rows x cols, row-major
**   ldb         elements from one row of B to the next, >= cols
**   centre, left, right, up, down  weights of the element and its neighbours
** NDRange: two dimensions, global = {cols rounded up to LX, ceil(rows /
**   HEIGHT)}, local = {LX, 1}.
** Defines: REAL, LX, HEIGHT.
** Assumes nothing.
**
** Lesson, against `naive`: three loads for each element instead of five, and
** the work of indices and of edges is shared by HEIGHT elements. No local
** memory: neighbours along the row come from the nearest cache.
*/
#include "weights.cl"
#ifndef LX
#define LX 64 /* work-group size */
#endif
#ifndef HEIGHT
#define HEIGHT 16 /* rows of a work-item */
#endif

kernel __attribute__((reqd_work_group_size(LX, 1, 1)))
void stencil(int rows, int cols, global const REAL *restrict A, int lda,
             global REAL *restrict B, int ldb, REAL centre, REAL left,
             REAL right, REAL up, REAL down)
{
  const int j = get_global_id(0), i0 = get_group_id(1) * HEIGHT;
  const int end = min(HEIGHT, rows - i0);
  const bool edge = j == 0 || j == cols - 1;
  global const REAL *a = A + (size_t)i0 * lda + j;
  global REAL *b = B + (size_t)i0 * ldb + j;
  if (j < cols) {
    REAL above = i0 > 0 ? *(a - lda) : 0, here = *a;
    for (int k = 0; k < end; k++, a += lda, b += ldb) {
      const int last = i0 + k == rows - 1;
      const REAL below = last ? 0 : a[lda];
      *b = edge || last || i0 + k == 0
               ? here
               : WEIGHTED(here, a[-1], a[1], above, below);
      above = here;
      here = below;
    }
  }
}
