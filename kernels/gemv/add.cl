/* add.cl - the sums of the parts of a product become its result
** SPDX-License-Identifier: MIT
**
**   y[j] = alpha * (sum over p of sums[p*n + j]) + beta * y[j]
**
** A work-group has LX elements of y. Work-item (x, k) adds the sums of the
** parts k, k + LY ... of element x; these meet in local memory.
**
** Arguments:
**   n           elements of y
**   parts       sums of each element
**   sums        in:      parts x n
**   y           in, out: vector of n elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: two dimensions, global = {n rounded up to LX, LY},
**   local = {LX, LY}.
** Local memory: LX * LY elements.
** Defines: REAL, LX, LY.
** Assumes: LY is a power of two.
**
** Lesson: one work-item for each element would add all its parts one after
** another, and wait for each: that would take longer the more parts there are.
*/
#include "result.cl"
#ifndef LX
#define LX 32 /* elements of a work-group */
#endif
#ifndef LY
#define LY 8 /* work-items of an element */
#endif

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void add(int n, int parts, global const REAL *restrict sums,
         global REAL *restrict y, REAL alpha, REAL beta)
{
  local REAL part[LY][LX];
  const uint tx = get_local_id(0), ty = get_local_id(1);
  const size_t j = get_global_id(0);
  REAL sum = 0;
  if (j < (size_t)n) {
    for (size_t p = ty; p < (size_t)parts; p += LY)
      sum += sums[p * n + j];
  }
  part[ty][tx] = sum;
  for (uint s = LY / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (ty < s)
      part[ty][tx] += part[ty + s][tx];
  }
  if (ty == 0 && j < (size_t)n)
    y[j] = result(alpha, part[0][tx], beta, y + j);
}
