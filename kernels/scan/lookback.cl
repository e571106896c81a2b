/* lookback.cl - scan in one launch: work-groups add up the sums before them
** SPDX-License-Identifier: MIT
**
**   y[i] = x[0] + ... + x[i],  without x[i] if not INCLUSIVE
**
** clear.cl makes `state` ready before.
**
** Arguments:
**   x      in:  vector
**   n      elements of x and of y
**   y      out: vector
**   state  of the work-groups: 1 + WORDS for each; all 0 before
** NDRange: one dimension, global = n / EACH rounded up to WG, local = WG.
** Local memory: WG EACH elements and one more for each 32, and 2 WG.
** Defines: REAL, INCLUSIVE, WG, EACH.
** Assumes: 64-bit atomics; an aligned load of 64 bits is one access. A
**   work-group that has begun goes on while others wait for it.
**
** Lesson, against `registers`: each element is read once and written once. A
** work-group tells its sum, then waits for the sums of earlier groups, back to
** a group that knows its place already: WG sums at a time (decoupled
** look-back, Merrill and Garland 2016). Numbers are drawn when a work-group
** begins, so it waits only for groups that have begun. A sum and its mark are
** one word, so the order of two accesses does not matter. Time decides which
** sums are added, so the rounding of float sums depends on it, too.
*/
#include "real.cl"
#include "told.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef EACH
#define EACH 16 /* elements per work-item */
#endif
#define CELL(k) ((k) + (k) / 32)
#define UNROLL _Pragma("unroll")

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(SOURCE, ulong n, global REAL *restrict y,
          volatile global ulong *state)
{
  local REAL cells[CELL(WG * EACH)], part[2][WG];
  local uint drawn[1], nearest[1];
  const uint id = get_local_id(0);
  REAL own[EACH], sum = IDENTITY, before = IDENTITY;
  uint now = 0;
  if (id == 0)
    drawn[0] = (uint)atom_inc(state);
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t turn = drawn[0], first = turn * (WG * EACH);
  const bool whole = first + WG * EACH <= n;
  if (whole) { /* all loads are under way before the first is needed */
    UNROLL for (uint k = 0; k < EACH; k++)
      own[k] = ELEMENT(0, first + k * WG + id);
    UNROLL for (uint k = 0; k < EACH; k++)
      cells[CELL(k * WG + id)] = own[k];
  } else
    for (uint k = id; k < WG * EACH; k += WG) {
      cells[CELL(k)] = IDENTITY;
      if (first + k < n)
        cells[CELL(k)] = ELEMENT(0, first + k);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++) {
    const REAL left = sum;
    sum = COMBINE(sum, cells[CELL(id * EACH + k)]);
    own[k] = INCLUSIVE ? sum : left;
  }
  part[0][id] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 1; s < WG; s *= 2) {
    sum = part[now][id];
    if (id >= s)
      sum = COMBINE(part[now][id - s], sum);
    now = 1 - now;
    part[now][id] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const REAL total = part[now][WG - 1];
  const REAL left = id > 0 ? part[now][id - 1] : (REAL)IDENTITY;
  if (id == 0)
    tell(state, turn, turn > 0 ? SUM : ALL, total);
  for (size_t end = turn; end > 0; end = end > WG ? end - WG : 0) {
    uint mark = 0;
    REAL value = IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0)
      nearest[0] = WG;
    if (id < end)
      value = ask(state, end - 1 - id, &mark);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mark == ALL)
      atomic_min(nearest, id);
    barrier(CLK_LOCAL_MEM_FENCE);
    part[0][id] = id <= nearest[0] ? value : (REAL)IDENTITY;
    for (uint s = 1; s < WG; s *= 2) { /* neighbours: the order is kept */
      barrier(CLK_LOCAL_MEM_FENCE);
      if (id % (2 * s) == 0)
        part[0][id] = COMBINE(part[0][id + s], part[0][id]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    before = COMBINE(part[0][0], before);
    if (nearest[0] < WG)
      break;
  }
  if (id == 0 && turn > 0)
    tell(state, turn, ALL, COMBINE(before, total));
  before = COMBINE(before, left);
  UNROLL for (uint k = 0; k < EACH; k++)
    cells[CELL(id * EACH + k)] = COMBINE(before, own[k]);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++)
    if (whole || first + k * WG + id < n)
      y[first + k * WG + id] = cells[CELL(k * WG + id)];
}
