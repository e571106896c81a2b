/* transpose_b.cl - B turned into the B transposed that some rungs take
** SPDX-License-Identifier: MIT
**
** Y[j][i] = X[i][j], through a tile in local memory, so that both the reads
** and the writes run along rows:
**
**     X  +-----+      tile       Y  +-----+
**        | r,c |  --> [r][c] -->    | c,r |
**        +-----+                    +-----+
**
** rows, cols  shape of X, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** Y  out      cols x rows, row-major, ldy >= rows
**
** NDRange: global = cols x rows, both rounded up to TILE, local = TILE x TILE
** Local memory: TILE (TILE + 1) elements
** Defines: REAL, TILE
** Assumes: X and Y do not overlap
**
** Lesson: see the transpose ladder, which has this step by step. */
#ifndef REAL
#define REAL float /* element type: half, float or double */
#endif
#ifndef TILE
#define TILE 16 /* side of the tile, and of the work-group */
#endif

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose_b(int rows, int cols, global const REAL *restrict X, int ldx,
                 global REAL *restrict Y, int ldy)
{
  local REAL tile[TILE][TILE + 1];

  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t row0 = get_group_id(1) * TILE;
  const size_t col0 = get_group_id(0) * TILE;

  if (row0 + ty < (size_t)rows && col0 + tx < (size_t)cols)
    tile[ty][tx] = X[(row0 + ty) * ldx + col0 + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (col0 + ty < (size_t)cols && row0 + tx < (size_t)rows)
    Y[(col0 + ty) * ldy + row0 + tx] = tile[tx][ty];
}
