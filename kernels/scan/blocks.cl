/* blocks.cl - scan for CPUs, a loop over a block of elements per work-item
** SPDX-License-Identifier: MIT
**
**   y[i] = x[first] + ... + x[i],  first: that of the work-item of i
**
** Without x[i] if not INCLUSIVE. sums[g] is the sum of work-item g; `offsets`
** scans sums, and `add` adds them to y.
**
** Arguments:
**   n     elements of x and of y
**   x     in:  vector
**   y     out: vector
**   sums  out: one element per work-item
** NDRange: one dimension, global = ceil(n / BLOCK), local = 1.
** Defines: REAL, INCLUSIVE, BLOCK.
** Assumes nothing.
**
** Lesson: a core scans fastest as one would by hand, in order; cores need a
** block each, and no more blocks than that. No local memory, no barrier.
*/
#include "real.cl"
#ifndef BLOCK
#define BLOCK 65536 /* elements per work-item */
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scan(int n, global const REAL *restrict x, global REAL *restrict y,
          global REAL *restrict sums)
{
  const size_t begin = get_global_id(0) * BLOCK;
  const size_t end = min(begin + BLOCK, (size_t)n);
  REAL sum = 0;
  for (size_t i = begin; i < end; i++) {
    const REAL before = sum;
    sum += x[i];
    y[i] = INCLUSIVE ? sum : before;
  }
  sums[get_group_id(0)] = sum;
}
