/* naive.cl - sparse matrix times vector, DIA storage, one work-item per row
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** DIA keeps a matrix as its non-zero diagonals. Diagonal d holds the elements
** A[i][i + offsets[d]]; it is stored along the row index i, and diagonals
** follow each other at a distance of `pitch` elements:
**
**      0 1 2 3 4        offsets = {-2, 0, 1}
**    0 d i . . .
**    1 . e j . .        i =     0 1 2 3 4
**    2 a . f k .        d = 0:  * * a b c     column i - 2
**    3 . b . g l        d = 1:  d e f g h     column i
**    4 . . c . h        d = 2:  i j k l *     column i + 1
**
** The cells marked * lie outside the matrix. They may hold anything, also Inf
** or NaN, so they are skipped and not multiplied by zero (0 * Inf is NaN).
** No column index is stored: per element only its value is read, where CSR
** reads a value and a 4-byte column.
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      number of diagonals, any
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     in:  ndiags ints, column minus row, sorted ascending; any
**                    value, also one that misses the matrix altogether
**   values      in:  ndiags x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = rows rounded up to the local size, any
**   local size.
** Defines: REAL.
** Assumes nothing about alignment: with pitch = rows, diagonals begin
**   anywhere.
**
** Lesson: neighbouring work-items read neighbouring values, so the reads are
** coalesced although each work-item walks memory in steps of `pitch`. A row
** costs 2 FLOP per 4-byte value: the kernel can only be as fast as memory.
** What is left to improve: diagonals that begin off a cache-line boundary make
** every group of work-items touch one line more; two 64-bit tests and a
** 64-bit product per element; the offset is fetched again by every work-item.
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
  for (int d = 0; d < ndiags; d++) {
    const long j = (long)i + offsets[d];
    if (j >= 0 && j < cols)
      sum += values[(size_t)d * pitch + i] * x[j];
  }
  y[i] = sum;
}
