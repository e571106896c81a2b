/* csr_scalar.cl - sparse matrix times vector, CSR storage, a work-item per row
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over k of values[k] * x[col_ind[k]],
**          row_ptr[i] <= k < row_ptr[i+1]
**
** CSR keeps the non-zeros row after row, each with its column:
**
**    d i . . .     row_ptr = {0, 2, 4, 7, ...}       0-based
**    . e j . .     col_ind = {0 1, 1 2, 0 2 3, ...}
**    a . f k .     values  = {d i, e j, a f k, ...}
**
** Arguments:
**   rows     rows of A
**   cols     columns of A, as many as x has elements
**   nnz      elements of values and of col_ind
**   row_ptr  in:  rows + 1 ints, where each row begins; the last is nnz
**   col_ind  in:  nnz ints, the column of each element
**   values   in:  nnz elements
**   x        in:  vector, one element per column of A
**   y        out: vector of rows elements; 0 for an empty row, NaN for a row
**                with an index outside: scripts can write to col_ind
** NDRange: one dimension, global = rows rounded up to the local size, any
**   local size.
** Defines: REAL.
** Assumes nothing.
**
** Lesson: any pattern, at a price. Each element brings 4 more bytes, its
** column. Neighbouring work-items read elements a whole row apart, which is
** not coalesced, and all work-items that run together wait for the longest row
** among them. On a CPU device, where one core walks one row, it is the better
** of the two CSR kernels.
*/
#include "../type/real.cl"

kernel void spmv(int rows, int cols, int nnz,
                 global const int *restrict row_ptr,
                 global const int *restrict col_ind,
                 global const REAL *restrict values,
                 global const REAL *restrict x, global REAL *restrict y)
{
  const size_t i = get_global_id(0);
  if (i >= rows)
    return;
  const int begin = row_ptr[i], end = row_ptr[i + 1];
  REAL sum = begin < 0 || end > nnz ? NAN : 0;
  for (int k = max(begin, 0); k < min(end, nnz); k++) {
    const uint j = col_ind[k]; /* negative becomes huge */
    if (j >= (uint)cols) {
      sum = NAN;
      break;
    }
    sum += values[k] * x[j];
  }
  y[i] = sum;
}
