/* turn.cl - a matrix transposed, for kernels that take it the other way
** SPDX-License-Identifier: MIT
**
** Y[j][i] = X[i][j], through a tile in local memory, so that both the reads
** and the writes run along rows:
**
**     X  +-----+      tile       Y  +-----+
**        | r,c |  --> [r][c] -->    | c,r |     each work-item moves TILE /
**        +-----+                    +-----+     LY elements of the tile
**
** rows, cols  shape of X, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** Y  out      cols x rows, row-major, ldy >= rows
**
** NDRange: groups = (cols / TILE, rows / TILE), rounded up;
**          local = (TILE, LY)
** Local memory: TILE (TILE + 1) elements
** Defines: REAL, TILE, LY (a divisor of TILE); PLACED, see submatrix.cl
** Assumes: X and Y do not overlap
**
** Lesson: see the transpose ladder, which has this step by step. Against the
** product's m n k multiply-adds it costs m k moves, or k n. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 32 /* side of the tile, local size in dimension 0 */
#endif
#ifndef LY
#define LY 8 /* local size in dimension 1 */
#endif

#include "submatrix.cl"

kernel __attribute__((reqd_work_group_size(TILE, LY, 1)))
void turn(int rows, int cols, global const REAL *restrict X, int ldx,
          global REAL *restrict Y, int ldy AT_XY)
{
  local REAL tile[TILE][TILE + 1];
  MOVE(X, at_x);
  MOVE(Y, at_y);

  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t row0 = get_group_id(1) * TILE;
  const size_t col0 = get_group_id(0) * TILE;

  #pragma unroll
  for (size_t i = ty; i < TILE; i += LY) {
    if (row0 + i < (size_t)rows && col0 + tx < (size_t)cols)
      tile[i][tx] = X[(row0 + i) * ldx + col0 + tx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (size_t i = ty; i < TILE; i += LY) {
    if (col0 + i < (size_t)cols && row0 + tx < (size_t)rows)
      Y[(col0 + i) * ldy + row0 + tx] = tile[tx][i];
  }
}
