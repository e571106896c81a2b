/* first_add.cl - reduction, each work-item adds two elements as it loads them
** SPDX-License-Identifier: MIT
**
**   y[g] = x[g*2*WG] op ... op x[g*2*WG + 2*WG - 1],  one per work-group
**
** A second launch, of grid_stride.cl, reduces the elements of y to one.
**
** Arguments:
**   n  elements of x
**   x  in:  vector
**   y  out: one element per work-group
** NDRange: one dimension, global = n / 2 rounded up to WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, OP, WG.
** Assumes: WG is a power of two.
**
** Lesson, against `sequential`: no work-item is idle from the start, and half
** as many work-groups pass the steps in local memory.
*/
#include "op.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void reduce(int n, global const REAL *restrict x, global REAL *restrict y)
{
  local REAL part[WG];
  const uint id = get_local_id(0);
  const size_t i = get_group_id(0) * (2 * WG) + id;
  const REAL a = i < (size_t)n ? x[i] : NEUTRAL(x);
  const REAL b = i + WG < (size_t)n ? x[i + WG] : NEUTRAL(x);
  part[id] = COMBINE(a, b);
  for (uint s = WG / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      part[id] = COMBINE(part[id], part[id + s]);
  }
  if (id == 0)
    y[get_group_id(0)] = part[0];
}
