/* grid_stride.cl - reduction, few work-groups walk over all of x
** SPDX-License-Identifier: MIT
**
**   y[g] = x[i] op x[i + step] op ...,  over the elements of work-group g
**
** Any number of work-groups is right; with one, y[0] is the result. A second
** launch of this kernel with one work-group reduces the y of the first.
**
** Arguments:
**   n  elements of x
**   x  in:  vector
**   y  out: one element per work-group
** NDRange: one dimension, global = any multiple of WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, OP, WG, WIDTH.
** Assumes: WG is a power of two; WIDTH is 1, 2, 4 or 8.
**
** Lesson, against `unrolled`: each work-item adds many elements in a register
** before the steps in local memory, which then cost next to nothing. Neighbours
** read neighbours, WIDTH elements a load; there are as many work-groups as keep
** the device busy, so y is short. What is left is the speed of memory.
*/
#include "op.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef WIDTH
#define WIDTH 1 /* elements per load */
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#define LOAD(i) x[i]
#define STORE(v, p) (p)[0] = v
#else
#define VECTOR CAT(REAL, WIDTH)
#define LOAD(i) CAT(vload, WIDTH)(i, x)
#define STORE(v, p) CAT(vstore, WIDTH)(v, 0, p)
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void reduce(int n, global const REAL *restrict x, global REAL *restrict y)
{
  local REAL part[WG];
  const uint id = get_local_id(0);
  const size_t step = get_global_size(0), whole = (size_t)n / WIDTH;
  VECTOR sums = NEUTRAL(x);
  REAL sum = NEUTRAL(x), lanes[WIDTH];
  for (size_t i = get_global_id(0); i < whole; i += step) {
    const VECTOR v = LOAD(i);
    sums = COMBINE(sums, v);
  }
  for (size_t i = whole * WIDTH + get_global_id(0); i < (size_t)n; i += step)
    sum = COMBINE(sum, x[i]);
  STORE(sums, lanes);
  for (uint k = 0; k < WIDTH; k++)
    sum = COMBINE(sum, lanes[k]);
  part[id] = sum;
  for (uint s = WG / 2; s > 0; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      part[id] = COMBINE(part[id], part[id + s]);
  }
  if (id == 0)
    y[get_group_id(0)] = part[0];
}
