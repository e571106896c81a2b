/* rows.cl - scan, each work-item takes CHAIN elements of a row by itself
** SPDX-License-Identifier: MIT
**
**   TOTALS:  y[k] = x[first] + ... + x[last],  elements of work-item k
**   else:    y[i] = before[k] + x[first] + ... + x[i]
**
** Without x[i] if not INCLUSIVE. For short rows, and for columns, the rows of
** a transposed matrix, where neighbours read neighbours. The methods of
** Buffers use it: see real.cl.
**
** Arguments, behind those of SOURCE:
**   n        elements of each row
**   rows     number of rows
**   columns  rows whose elements are neighbours; rows = any number of columns
**   y        out: as the rows, with TOTALS one element per work-item; may be x
**   before   in:  one element per work-item; not read with TOTALS or ALONE
** NDRange: one dimension, global >= rows * ceil(n / CHAIN), any local size.
** Defines: all words of real.cl, CHAIN, TOTALS, ALONE.
** Assumes nothing.
*/
#include "real.cl"
#ifndef CHAIN
#define CHAIN 64 /* elements that a work-item takes one after another */
#endif

kernel void scan(SOURCE, ulong n, ulong rows, ulong columns, global REAL *y,
                 global const REAL *before)
{
  const size_t k = get_global_id(0), pieces = (n + CHAIN - 1) / CHAIN;
  const size_t row = k / columns / pieces * columns + k % columns;
  const size_t start = START(row), begin = k / columns % pieces * CHAIN;
  const size_t end = min((ulong)begin + CHAIN, n);
  REAL sum = IDENTITY;
  if (row >= rows)
    return;
  if (TOTALS + ALONE == 0)
    sum = before[k];
  for (size_t i = begin; i < end; i++) {
    const REAL left = sum, one = ELEMENT(start, i);
    sum = COMBINE(left, one);
    if (!TOTALS)
      y[PLACE(start, i)] = INCLUSIVE ? sum : left;
  }
  if (TOTALS)
    y[k] = sum;
}
