/* naive.cl - convolution, one work-item for each element
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** Arguments:
**   rows, cols    size of A and of B
**   frows, fcols  size of F
**   A    in:  rows x cols, row-major
**   lda  elements from one row of A to the next, >= cols
**   F    in:  frows x fcols, row-major
**   ldf  elements from one row of F to the next, >= fcols
**   B    out: rows x cols, row-major
**   ldb  elements from one row of B to the next, >= cols
** NDRange: two dimensions, global = {cols rounded up to LX, rows rounded up to
**   LY}, local = {LX, LY}.
** Defines: REAL, LX, LY.
** Assumes nothing.
**
** Lesson: two loads and the test of an edge for each product. All work-items
** read the same element of F at a time, neighbours read neighbours of A, and
** each loaded element is needed by other work-items next: the instructions
** around each multiplication are the limit, and memory is not.
*/
#include "image.cl"
#ifndef LX
#define LX 32 /* work-group size along rows */
#endif
#ifndef LY
#define LY 8 /* rows of a work-group */
#endif

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            global const REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  const long i = get_global_id(1), j = get_global_id(0);
  const long i0 = i - (frows - 1) / 2, j0 = j - (fcols - 1) / 2;
  if (i < rows && j < cols) {
    REAL sum = 0;
    for (int u = 0; u < frows; u++)
      for (int v = 0; v < fcols; v++)
        sum += F[u * (long)ldf + v] *
               pixel(A, rows, cols, lda, i0 + u, j0 + v);
    B[i * ldb + j] = sum;
  }
}
