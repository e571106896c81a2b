/* tiled_padded.cl - transpose, tile rows padded against bank conflicts
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** As tiled.cl, with PAD unused elements after each tile row. The bank of
** tile[r][c] for TILE = 4, four banks, float:
**
**    PAD = 0    0 1 2 3         PAD = 1    0 1 2 3 .
**               0 1 2 3                    1 2 3 0 .
**               0 1 2 3                    2 3 0 1 .
**               0 1 2 3                    3 0 1 2 .
**    a column: one bank         a column: all banks
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, local = {TILE, TILE / ROWS_PER_ITEM},
**   global = {ceil(cols / TILE), ceil(rows / TILE)} work-groups.
** Local memory: TILE * (TILE + PAD) elements.
** Defines: REAL, TILE, ROWS_PER_ITEM, PAD.
** Assumes: ROWS_PER_ITEM divides TILE.
**
** Lesson, against `tiled`: one column too many spreads each column over the
** banks. PAD = 1 frees a float tile of conflicts; PAD = 2 leaves conflicts of
** two, PAD = 4 of four, and PAD = 0 is the tile of `tiled`. Doubles take two
** banks each and are served in two halves. The padding costs local memory,
** TILE * PAD elements, and with it perhaps a work-group per compute unit. It
** pays on GPUs with the tile as wide as there are banks; small tiles conflict
** less.
*/
#include "../type/real.cl"
#ifndef TILE
#define TILE 32 /* side of the square tile */
#endif
#ifndef ROWS_PER_ITEM
#define ROWS_PER_ITEM 4 /* tile rows that each work-item moves */
#endif
#ifndef PAD
#define PAD 1 /* unused elements after each row of the tile */
#endif

#define STEP (TILE / ROWS_PER_ITEM)

kernel __attribute__((reqd_work_group_size(TILE, STEP, 1)))
void transpose(int rows, int cols, global const REAL *restrict A, int lda,
               global REAL *restrict B, int ldb)
{
  local REAL tile[TILE][TILE + PAD];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const size_t i0 = get_group_id(1) * TILE; /* first row of the tile in A */
  const size_t j0 = get_group_id(0) * TILE; /* and its first column */
  for (int r = ty; r < TILE; r += STEP) {
    if (i0 + r < rows && j0 + tx < cols)
      tile[r][tx] = A[(i0 + r) * lda + j0 + tx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int r = ty; r < TILE; r += STEP) {
    if (j0 + r < cols && i0 + tx < rows)
      B[(j0 + r) * ldb + i0 + tx] = tile[tx][r];
  }
}
