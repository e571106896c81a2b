/* naive_read.cl - transpose, neighbours read along a row of A
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** Neighbours in dimension 0 take neighbouring columns of A:
**
**    A  . . . . . .        B  . 0 .        reads:  one piece of memory
**       0 1 2 3 4 5           . 1 .        writes: ldb elements apart
**       . . . . . .           . 2 .
**                             . 3 .
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, global = {cols, rows}, each rounded up to the local
**   size, any local size.
** Defines: REAL.
** Assumes nothing.
**
** Lesson: one of the two sides of a transpose has to stride. Here the reads
** are coalesced, and each write touches a cache line of its own: of 32, 64 or
** 128 bytes moved, one element is used, unless the cache keeps the line until
** the work-items of the next rows fill it up.
*/
#include "../type/real.cl"

kernel void transpose(int rows, int cols, global const REAL *restrict A,
                      int lda, global REAL *restrict B, int ldb)
{
  const size_t i = get_global_id(1);
  const size_t j = get_global_id(0);
  if (i < rows && j < cols)
    B[j * ldb + i] = A[i * lda + j];
}
