/* blocks.cl - scan for CPUs, a block of elements per work-item
** SPDX-License-Identifier: MIT
**
**   TOTALS:  y[b] = x[first] + ... + x[last],  elements of work-item b
**   else:    y[i] = before[b] + x[first] + ... + x[i]
**
** Without x[i] if not INCLUSIVE. `before` is a scan of the totals, by this
** kernel too; ALONE, a single block has nothing before it.
**
** Arguments:
**   x       in:  vector
**   n       elements of x, or of each row
**   y       out: vector, with TOTALS one element per work-item; may be x
**   before  in:  one element per work-item; not read with TOTALS or ALONE
** NDRange: one dimension, global = rows * ceil(n / BLOCK), local = 1.
** Defines: REAL, INCLUSIVE, BLOCK, TOTALS, ALONE.
** Assumes nothing.
**
** Lesson: a core scans fastest as one would by hand, in order. Two blocks side
** by side, so that additions of one block go on while additions of the other
** wait, take twice the time: their elements get into each other's way in the
** cache. No local memory, no barrier.
*/
#include "real.cl"
#ifndef BLOCK
#define BLOCK 4096 /* elements per work-item */
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scan(SOURCE, ulong n, global REAL *y, global const REAL *before)
{
  const size_t b = get_group_id(0), blocks = (n + BLOCK - 1) / BLOCK;
  const size_t start = START(b / blocks), begin = b % blocks * BLOCK;
  const size_t end = min((ulong)begin + BLOCK, n);
  REAL sum = IDENTITY;
  if (TOTALS + ALONE == 0)
    sum = before[b];
  for (size_t i = begin; i < end; i++) {
    const REAL left = sum, one = ELEMENT(start, i);
    sum = COMBINE(left, one);
    if (!TOTALS)
      y[PLACE(start, i)] = INCLUSIVE ? sum : left;
  }
  if (TOTALS)
    y[b] = sum;
}
