/* tiled_swizzled.cl - transpose, tile columns permuted inside their rows
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** As tiled.cl, but element (r, c) of the tile lies in column c ^ r of row r.
** Where each column is found, TILE = 4:
**
**    row 0    0 1 2 3       column 0 lies in the cells 0, 1, 2, 3 of its rows:
**    row 1    1 0 3 2       all banks differ, and a row is still a permutation
**    row 2    2 3 0 1       of itself, so writing along rows stays free of
**    row 3    3 2 1 0       conflicts too
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
** Assumes: TILE is a power of two, ROWS_PER_ITEM divides it.
**
** Lesson, against `tiled_padded`: the same end without a byte of padding, for
** one exclusive-or per access. Rows stay aligned to powers of two, so the
** trick carries over to vectors, see float4.cl, where padding by one element
** cannot be used. It pays where local memory limits how many work-groups are
** resident.
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
      tile[r][tx ^ r] = A[(i0 + r) * lda + j0 + tx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int r = ty; r < TILE; r += STEP) {
    if (j0 + r < cols && i0 + tx < rows)
      B[(j0 + r) * ldb + i0 + tx] = tile[tx][r ^ tx];
  }
}
