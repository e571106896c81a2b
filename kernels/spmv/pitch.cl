/* pitch.cl - DIA sparse matrix times vector, aligned diagonals, cheap index
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** Storage as in naive.cl, but every diagonal begins at a multiple of 32
** elements, so that 32 neighbouring work-items read whole cache lines:
**
**    pitch = rows = 41     |ddddddddd|ddddddddd|ddDDDDDDD|DDDDDDDDD|...
**    pitch = 64            |ddddddddd|ddddddddd|dd       |DDDDDDDDD|...
**                          ^ cache line        unused ^  ^ next diagonal
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      number of diagonals, any
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     in:  ndiags ints, column minus row, sorted ascending
**   values      in:  ndiags x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = rows rounded up to the local size, any
**   local size.
** Defines: REAL.
** Assumes: for speed only, that pitch is a multiple of 32 elements.
**
** Lesson, against `naive`: alignment and index arithmetic. The address moves
** by one addition per diagonal, and one unsigned comparison tests both ends:
** i + offset is taken modulo 2^32, where a negative column becomes 2^31 or
** more, which no int `cols` reaches. It pays most where rows is no multiple
** of the cache line and the diagonals are few; the course measured about 10 %.
*/
#include "../type/real.cl"

kernel void spmv(int rows, int cols, int ndiags, int pitch,
                 global const int *restrict offsets,
                 global const REAL *restrict values,
                 global const REAL *restrict x, global REAL *restrict y)
{
  const size_t i = get_global_id(0);
  if (i >= rows)
    return;
  REAL sum = 0;
  size_t at = i;
  for (int d = 0; d < ndiags; d++) {
    const uint j = (uint)i + (uint)offsets[d]; /* negative becomes huge */
    if (j < (uint)cols)
      sum += values[at] * x[j];
    at += pitch;
  }
  y[i] = sum;
}
