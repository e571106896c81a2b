/* last_steps.cl - reduction, the last cells are added by one work-item
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
** Defines: REAL, OP, WG, LAST.
** Assumes: WG and LAST are powers of two, LAST <= WG.
**
** Lesson, against `first_add`: the last steps keep a few work-items busy, and
** a barrier each. CUDA's texts leave the barriers out inside a warp; OpenCL
** promises no warps, so here one work-item adds the LAST cells by itself: log2
** LAST barriers less, for LAST - 1 additions one after another.
*/
#include "op.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef LAST
#define LAST 8 /* cells that one work-item adds */
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
  for (uint s = WG / 2; s >= LAST; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      part[id] = COMBINE(part[id], part[id + s]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id == 0) {
    REAL all = part[0];
    for (uint k = 1; k < LAST; k++)
      all = COMBINE(all, part[k]);
    y[get_group_id(0)] = all;
  }
}
