/* naive_write.cl - transpose, neighbours write along a row of B
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** Neighbours in dimension 0 take neighbouring rows of A:
**
**    A  . 0 .        B  . . . . . .        reads:  lda elements apart
**       . 1 .           0 1 2 3 4 5        writes: one piece of memory
**       . 2 .           . . . . . .
**       . 3 .
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, global = {rows, cols}, each rounded up to the local
**   size, any local size.
** Defines: REAL.
** Assumes nothing.
**
** Lesson, against `naive_read`: only the dimensions of the NDRange have
** changed places, and with them the side that strides. A line fetched for one
** work-item often serves the next rows of work-items from the cache, while
** partly written lines must be merged, so strided reads usually cost less
** than strided writes. Measure both: it differs between devices, and with a
** leading dimension that is a power of two, where all rows fall into few
** cache sets.
*/
#include "../type/real.cl"

kernel void transpose(int rows, int cols, global const REAL *restrict A,
                      int lda, global REAL *restrict B, int ldb)
{
  const size_t i = get_global_id(0);
  const size_t j = get_global_id(1);
  if (i < rows && j < cols)
    B[j * ldb + i] = A[i * lda + j];
}
