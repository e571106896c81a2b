/* modulo.cl - reduction, neighbours in local memory add in pairs
** SPDX-License-Identifier: MIT
**
**   y[g] = x[g*WG] op ... op x[g*WG + WG - 1],  one element per work-group
**
** A second launch, of grid_stride.cl, reduces the elements of y to one.
**
**    id       0 1 2 3 4 5 6 7
**    s = 1    + . + . + . + .     [0]+=[1]  [2]+=[3] ...
**    s = 2    + . . . + . . .     [0]+=[2]  [4]+=[6]
**    s = 4    + . . . . . . .     [0]+=[4]
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
** Lesson: the work-items that add are spread over all warps, so a warp with
** one such work-item takes as long as a full warp, and % is slow.
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
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id % (2 * s) == 0)
      part[id] = COMBINE(part[id], part[id + s]);
  }
  if (id == 0)
    y[get_group_id(0)] = part[0];
}
