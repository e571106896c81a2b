/* offsets.cl - makes the sums of work-groups sums of all groups before; then
** adds them to the elements of the work-groups
** SPDX-License-Identifier: MIT
**
**   offsets:  sums[g] = sums[0] + ... + sums[g - 1],  in place
**   add:      y[i] += sums[i / each]
**
** Arguments of offsets:
**   n     elements of sums
**   sums  in, out: vector
** NDRange of offsets: one dimension, global = local = WG: one work-group.
** Arguments of add:
**   n     elements of y
**   each  elements of a work-group
**   y     in, out: vector
**   sums  in:      vector
** NDRange of add: two dimensions, global = {each, work-groups - 1}, any local
**   size: the first work-group has nothing before it. No division for i.
** Local memory: 2 WG elements.
** Defines: REAL, WG.
** Assumes nothing.
*/
#include "real.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void offsets(int n, global REAL *sums)
{
  local REAL part[2][WG];
  const uint id = get_local_id(0);
  REAL before = IDENTITY;
  for (size_t first = 0; first < (size_t)n; first += WG) {
    const size_t i = first + id;
    uint now = 0;
    part[0][id] = i < (size_t)n ? sums[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < WG; s *= 2) {
      part[1 - now][id] =
        part[now][id] + (id >= s ? part[now][id - s] : (REAL)IDENTITY);
      now = 1 - now;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < (size_t)n)
      sums[i] = before + (id > 0 ? part[now][id - 1] : (REAL)IDENTITY);
    before += part[now][WG - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

kernel void add(int n, int each, global REAL *restrict y,
                global const REAL *restrict sums)
{
  const size_t g = get_global_id(1) + 1;
  const size_t i = g * each + get_global_id(0);
  if (i < (size_t)n)
    y[i] += sums[g];
}
