/* tiled.cl - 5-point stencil through tiles in local memory, with a halo
** SPDX-License-Identifier: MIT
**
**   B[i][j] = centre*A[i][j] + left*A[i][j-1] + right*A[i][j+1]
**           + up*A[i-1][j] + down*A[i+1][j],  0 < i < rows-1, 0 < j < cols-1
**   B[i][j] = A[i][j] in the first and last row and column
**
** A work-group copies its LX x LY elements of A and one more on each side to
** local memory; after the barrier each work-item computes one element.
**
**      . # # # # .      #: the halo, which the work-groups beside load as
**      # o o o o #         well
**      # o o o o #      .: not needed
**      . # # # # .
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
** Local memory: (LX + 2) * (LY + 2) elements.
** Defines: REAL, LX, LY.
** Assumes nothing.
**
** Lesson, against `naive`: an element is loaded once by its work-group, and
** four times out of local memory. Where a cache holds what neighbours loaded,
** that trades loads which hit for a barrier and for loads of the halo, which
** lie across lines: it gains nothing. It pays for windows of many elements, or
** without such a cache. Elements outside A are neither set nor used.
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
  local REAL tile[LY + 2][LX + 2];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int i = get_global_id(1), j = get_global_id(0);
  for (int y = ty; y < LY + 2; y += LY) {
    const int k = i - ty + y - 1;
    for (int x = tx; x < LX + 2; x += LX) {
      const int l = j - tx + x - 1;
      if (k >= 0 && k < rows && l >= 0 && l < cols)
        tile[y][x] = A[(size_t)k * lda + l];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < rows && j < cols) {
    REAL b = tile[ty + 1][tx + 1];
    if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1)
      b = WEIGHTED(b, tile[ty + 1][tx], tile[ty + 1][tx + 2],
                   tile[ty][tx + 1], tile[ty + 2][tx + 1]);
    B[(size_t)i * ldb + j] = b;
  }
}
