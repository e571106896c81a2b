/* rows.cl - reduction, each work-item takes CHAIN elements of a row by itself
** SPDX-License-Identifier: MIT
**
** For short rows, and for columns, the rows of a transposed matrix, where
** neighbours read neighbours. The methods of Buffers use it: see op.cl.
**
** Arguments, behind those of SOURCE:
**   n        elements of each row
**   rows     number of rows
**   columns  rows whose elements are neighbours; rows = any number of columns
**   y        out: a result for each piece of CHAIN elements; pieces of the
**            `columns` rows take turns
** NDRange: one dimension, global >= rows * ceil(n / CHAIN), any local size.
** Defines: all words of op.cl, CHAIN.
** Assumes nothing.
*/
#include "op.cl"
#ifndef CHAIN
#define CHAIN 64 /* elements that a work-item takes one after another */
#endif

kernel void reduce(SOURCE, ulong n, ulong rows, ulong columns,
                   global RESULT *restrict y)
{
  const size_t k = get_global_id(0), pieces = (n + CHAIN - 1) / CHAIN;
  const size_t row = k / columns / pieces * columns + k % columns;
  const size_t start = START(row);
  size_t i = k / columns % pieces * CHAIN;
  const size_t end = min((ulong)i + CHAIN, n);
  REAL sum = NEUTRAL(x);
  if (row < rows) {
    for (; i < end; i++) {
      const REAL one = ELEMENT(start, i);
      sum = COMBINE(sum, one);
    }
    KEEP(y, k, sum);
  }
}
