/* tiled.cl - transpose through square tiles in local memory
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** A work-group copies a TILE x TILE tile of A into local memory along rows,
** and writes it out along rows of B, reading the tile down its columns:
**
**    A, rows i0..          local tile            B, rows j0..
**    +-----------+    row  0 1 2 3          row  0 4 8 c
**    |   0 1 2 3 |  ---->  4 5 6 7  ----> cols   1 5 9 d
**    |   4 5 6 7 |         8 9 a b               2 6 a e
**    +-----------+         c d e f               3 7 b f
**
** A work-item moves ROWS_PER_ITEM elements, STEP rows apart.
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, local = {TILE, TILE / ROWS_PER_ITEM},
**   global = {ceil(cols / TILE), ceil(rows / TILE)} work-groups.
** Local memory: TILE * TILE elements.
** Defines: REAL, TILE, ROWS_PER_ITEM.
** Assumes: ROWS_PER_ITEM divides TILE.
**
** Lesson, against the naive kernels: both sides of global memory are
** coalesced; the stride has moved into local memory, where it costs less, but
** not nothing. Local memory is made of banks (32 on most GPUs), interleaved
** every 4 bytes. Reading down a column of 32 floats takes 32 cells of one
** bank, one after the other: a 32-way conflict. The next two rungs remove it.
** The barrier stands outside every `if`; cells outside A are neither set nor
** used. Several elements per work-item share the index arithmetic and keep
** more loads in flight. On a CPU device there are no banks, and the tile is
** one more copy.
*/
#include "../type/real.cl"
#ifndef TILE
#define TILE 32 /* side of the square tile */
#endif
#ifndef ROWS_PER_ITEM
#define ROWS_PER_ITEM 4 /* tile rows that each work-item moves */
#endif

#define STEP (TILE / ROWS_PER_ITEM)

kernel __attribute__((reqd_work_group_size(TILE, STEP, 1)))
void transpose(int rows, int cols, global const REAL *restrict A, int lda,
               global REAL *restrict B, int ldb)
{
  local REAL tile[TILE][TILE];
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
