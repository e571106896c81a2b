/* grid_stride.cl - reduction, few work-groups walk over all of a row
** SPDX-License-Identifier: MIT
**
**   y[g] = x[i] op x[i + step] op ...,  over the elements of work-group g
**
** Any number of work-groups is right; with one, y[0] is the result. A second
** launch of this kernel with one work-group reduces the y of the first. Or,
** with ONCE, y[0] is the result after one launch: work-groups leave their
** elements in `left`, and the last work-group to end reduces these.
**
** Arguments:
**   x       in:  vector
**   n       elements of x, or of each row
**   groups  work-groups of a row
**   y       out: one element per work-group; with ONCE a single one
**   left    of ONCE: one element per work-group
**   count   of ONCE: how many work-groups have ended; 0 before and after
** NDRange: one dimension, global = rows * groups * WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, OP, WG, WIDTH, ONCE, and FENCE: makes earlier writes of the
**   work-item visible to all others.
** Assumes: WG and WIDTH are powers of two; ONCE: x is one row, the GPU is one
**   of NVIDIA's, unless FENCE is defined.
**
** Lesson, against `unrolled`: each work-item adds many elements in registers
** before the steps in local memory, which then cost next to nothing.
** Neighbours read neighbours, and WIDTH loads are under way before the first
** is needed; there are as many work-groups as keep the device busy, so y is
** short. The speed of memory is the limit then.
** Lesson of ONCE: a second launch costs 4 us, as much as 3 million floats. A
** work-group makes its element visible to all before it counts itself, so the
** last one finds all elements; nobody waits. The last work-group is another
** one each time, the order of additions is always the same.
*/
#include "meet.cl"
#ifndef WIDTH
#define WIDTH 4 /* loads under way */
#endif
#ifndef ONCE
#define ONCE 0 /* 1: the last work-group to end reduces the elements of all */
#endif
#define UNROLL _Pragma("unroll")

#if ONCE
#define MORE , volatile global REAL *left, volatile global int *count
#ifndef FENCE
#define FENCE __asm__ volatile("membar.gl;" ::: "memory")
#endif
#else
#define MORE
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void reduce(SOURCE, ulong n, ulong groups, global RESULT *restrict y MORE)
{
  local REAL part[WG];
  const uint id = get_local_id(0);
  const size_t start = START(get_group_id(0) / groups), step = groups * WG;
  size_t i = get_group_id(0) % groups * WG + id;
  REAL sums[WIDTH], next[WIDTH];
  UNROLL for (uint v = 0; v < WIDTH; v++)
    sums[v] = NEUTRAL(x);
  for (; i + (WIDTH - 1) * step < n; i += WIDTH * step) {
    UNROLL for (uint v = 0; v < WIDTH; v++)
      next[v] = ELEMENT(start, i + v * step);
    UNROLL for (uint v = 0; v < WIDTH; v++)
      sums[v] = COMBINE(sums[v], next[v]);
  }
  for (; i < n; i += step) {
    const REAL one = ELEMENT(start, i);
    sums[0] = COMBINE(sums[0], one);
  }
  UNROLL for (uint s = WIDTH / 2; s > 0; s /= 2)
    UNROLL for (uint v = 0; v < s; v++)
      sums[v] = COMBINE(sums[v], sums[v + s]);
  part[id] = sums[0];
  MEET(part, id)
#if ONCE
  local int place[1];
  if (id == 0) {
    left[get_group_id(0)] = part[0];
    FENCE;
    place[0] = atomic_inc(count);
    FENCE;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (place[0] + 1 < (int)groups)
    return;
  REAL sum = NEUTRAL(x);
  for (uint g = id; g < groups; g += WG) {
    const REAL one = left[g];
    sum = COMBINE(sum, one);
  }
  part[id] = sum;
  MEET(part, id)
  if (id == 0) {
    *count = 0;
    KEEP(y, 0, part[0]);
  }
#else
  if (id == 0)
    KEEP(y, get_group_id(0), part[0]);
#endif
}
