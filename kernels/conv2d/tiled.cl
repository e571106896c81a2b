/* tiled.cl - convolution through tiles in local memory, with a halo
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-group copies its LX x LY elements of A to local memory, with all
** elements that its windows reach beside them, and 0 for elements outside A:
**
**    # # # # # #      o: elements of the work-group
**    # # o o # #      #: the halo, (FROWS-1) / 2 rows above, FROWS / 2 below,
**    # # o o # #         and columns likewise
**    # # # # # #
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
** Local memory: (LX + FCOLS - 1) * (LY + FROWS - 1) elements.
** Defines: REAL, LX, LY, FROWS, FCOLS.
** Assumes: FROWS = frows, FCOLS = fcols; F with its gaps fits
**   CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE.
**
** Lesson, against `constant`: edges are tested once per element of the tile,
** not once per product; the loop is left with two loads, which hit memory next
** to the core. The larger the tile against the filter, the smaller is the
** share of the halo, which several work-groups load.
*/
#include "image.cl"
#ifndef LX
#define LX 32 /* work-group size along rows */
#endif
#ifndef LY
#define LY 8 /* rows of a work-group */
#endif
#ifndef FROWS
#define FROWS 7 /* rows of F */
#endif
#ifndef FCOLS
#define FCOLS 7 /* columns of F */
#endif

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            constant REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  local REAL tile[LY + FROWS - 1][LX + FCOLS - 1];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const long i = get_global_id(1), j = get_global_id(0);
  const long i0 = i - ty - (FROWS - 1) / 2, j0 = j - tx - (FCOLS - 1) / 2;
  for (int y = ty; y < LY + FROWS - 1; y += LY)
    for (int x = tx; x < LX + FCOLS - 1; x += LX)
      tile[y][x] = pixel(A, rows, cols, lda, i0 + y, j0 + x);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < rows && j < cols) {
    REAL sum = 0;
    for (int u = 0; u < frows; u++)
      for (int v = 0; v < fcols; v++)
        sum += F[u * ldf + v] * tile[ty + u][tx + v];
    B[i * ldb + j] = sum;
  }
}
