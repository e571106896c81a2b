/* strided.cl - reduction, the first work-items add in pairs
** SPDX-License-Identifier: MIT
**
**   y[g] = x[g*WG] op ... op x[g*WG + WG - 1],  one element per work-group
**
** A second launch, of grid_stride.cl, reduces the elements of y to one.
**
**    s = 1    work-item 0: [0]+=[1]   1: [2]+=[3]   2: [4]+=[5] ...
**    s = 2    work-item 0: [0]+=[2]   1: [4]+=[6]
**    s = 4    work-item 0: [0]+=[4]
**
** Arguments:
**   n  elements of x
**   x  in:  vector
**   y  out: one element per work-group
** NDRange: one dimension, global = n rounded up to WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, OP, WG.
** Assumes: WG is a power of two.
**
** Lesson, against `modulo`: the same sums, but neighbours add, so whole warps
** end early. Their cells lie 2 s apart: with s = 1 two of a warp share one of
** 32 banks, with s = 4 eight do, and wait for each other.
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
  const size_t i = get_global_id(0);
  part[id] = i < (size_t)n ? x[i] : NEUTRAL(x);
  for (uint s = 1; s < WG; s *= 2) {
    const uint j = 2 * s * id;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (j < WG)
      part[j] = COMBINE(part[j], part[j + s]);
  }
  if (id == 0)
    y[get_group_id(0)] = part[0];
}
