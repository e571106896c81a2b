/* doubling.cl - scan, each step adds the element twice as far away
** SPDX-License-Identifier: MIT
**
**   y[i] = x[first] + ... + x[i],  first: where the work-group of i begins
**
** Without x[i] if not INCLUSIVE. sums[g] is the sum of work-group g; `offsets`
** scans sums, and `add` adds them to y.
**
**    id       0    1    2    3
**    s = 1    0   0+1  1+2  2+3
**    s = 2    0   0+1  0-2  0-3
**
** Arguments:
**   n     elements of x and of y
**   x     in:  vector
**   y     out: vector
**   sums  out: one element per work-group
** NDRange: one dimension, global = n rounded up to WG, local = WG.
** Local memory: 2 WG elements.
** Defines: REAL, INCLUSIVE, WG.
** Assumes nothing.
**
** Lesson: few steps, log2 WG, but each has an addition for nearly every
** work-item: WG log2 WG in all, where a loop has WG. The two halves of local
** memory take turns, so that no work-item overwrites what another still reads.
*/
#include "real.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(int n, global const REAL *restrict x, global REAL *restrict y,
          global REAL *restrict sums)
{
  local REAL part[2][WG];
  const uint id = get_local_id(0);
  const size_t i = get_global_id(0);
  uint now = 0;
  part[0][id] = i < (size_t)n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 1; s < WG; s *= 2) {
    part[1 - now][id] =
      part[now][id] + (id >= s ? part[now][id - s] : (REAL)IDENTITY);
    now = 1 - now;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < (size_t)n)
    y[i] = INCLUSIVE ? part[now][id]
      : id > 0 ? part[now][id - 1] : (REAL)IDENTITY;
  if (id == WG - 1)
    sums[get_group_id(0)] = part[now][id];
}
