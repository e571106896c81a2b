/* meet.cl - included by kernels whose lanes add up their sums
** SPDX-License-Identifier: MIT
**
** Defines: REAL. */
#include "../type/real.cl"

/* The sum over `lanes` neighbouring work-items, a power of two, for the first
** of them; all work-items of a group get here. */
REAL meet(local REAL *partial, int id, int lanes, REAL sum)
{
  partial[id] = sum;
  for (int step = lanes / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if ((id & (lanes - 1)) < step)
      partial[id] += partial[id + step];
  }
  return partial[id];
}
