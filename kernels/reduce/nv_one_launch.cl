/* nv_one_launch.cl - reduction in one launch: the last work-group adds up
** SPDX-License-Identifier: MIT
**
**   y[0] = x[0] op x[1] op ... op x[n-1]
**
** A work-group tells its result; the work-group with the highest number waits
** for the results of all and reduces them. scan/clear.cl makes `state` ready
** before the first launch.
**
** Arguments:
**   x      in:  vector
**   n      elements of x
**   y      out: one element
**   state  how many launches there were, then WORDS for each work-group
** NDRange: one dimension, global = groups * WG, local = WG.
** Local memory: WG elements.
** Defines: REAL (float, double or int), OP, WG, WIDTH.
** Assumes, beside scan/told.cl: WG is a power of two; work-groups begin in the
**   order of their numbers; for speed only, that x begins at a multiple of 16
**   bytes.
**
** Lesson, against `grid_stride`: a second launch costs 4 us, as much as 3
** million floats, and a work-group that counts itself after a fence costs half
** of that. Here a result and its mark are one word, so no fence is needed, and
** only one work-group waits. WIDTH loads of 16 bytes are under way in each
** work-item, also where fewer are left.
*/
#include "meet.cl"
#include "../scan/told.cl"
#ifndef WIDTH
#define WIDTH 4 /* loads under way */
#endif
#define IN_UNIT (16 / (int)sizeof(REAL))
#define UNROLL _Pragma("unroll")

typedef union { uint4 all; REAL value[IN_UNIT]; } Unit;

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void reduce(global const REAL *restrict x, ulong n, global REAL *restrict y,
            volatile global ulong *state)
{
  local REAL part[WG];
  const uint id = get_local_id(0), group = get_group_id(0);
  const uint groups = get_num_groups(0);
  const ulong step = get_global_size(0), i = get_global_id(0);
  const ulong units = (ulong)x % 16 == 0 ? n / IN_UNIT : 0;
  const uint mark = (uint)state[0] + 1; /* of this launch */
  const REAL none = NEUTRAL(x);
  REAL sums[IN_UNIT];
  UNROLL for (uint k = 0; k < IN_UNIT; k++)
    sums[k] = none;
  for (ulong u = i; u < units; u += WIDTH * step) {
    Unit next[WIDTH];
    UNROLL for (uint v = 0; v < WIDTH; v++)
      if (u + v * step < units)
        next[v].all = ((global const uint4 *)x)[u + v * step];
      else
        UNROLL for (uint k = 0; k < IN_UNIT; k++)
          next[v].value[k] = none;
    UNROLL for (uint v = 0; v < WIDTH; v++)
      UNROLL for (uint k = 0; k < IN_UNIT; k++)
        sums[k] = COMBINE(sums[k], next[v].value[k]);
  }
  for (ulong k = units * IN_UNIT + i; k < n; k += step)
    sums[0] = COMBINE(sums[0], x[k]);
  UNROLL for (uint k = 1; k < IN_UNIT; k++)
    sums[0] = COMBINE(sums[0], sums[k]);
  part[id] = sums[0];
  MEET(part, id)
  if (id == 0)
    tell(state, group, mark, part[0]);
  if (group + 1 < groups)
    return;
  const uint asks = id < groups ? (groups - id + WG - 1) / WG : 0;
  const REAL sum = ask_all(state, id, WG, asks, mark, none);
  barrier(CLK_LOCAL_MEM_FENCE);
  part[id] = sum;
  MEET(part, id)
  if (id == 0) {
    y[0] = part[0];
    state[0] = mark;
  }
}
