/* lookback.cl - scan in one launch: work-groups add up the sums before them
** SPDX-License-Identifier: MIT
**
**   y[i] = x[0] + ... + x[i],  without x[i] if not INCLUSIVE
**
** clear.cl makes `state` ready before the first launch.
**
** Arguments:
**   x      in:  vector
**   n      elements of x and of y
**   y      out: vector
**   state  the number of the next work-group; the sums of work-groups, and the
**          sum before each WAVE of them: WORDS for each
** NDRange: one dimension, global = n / EACH rounded up to WG, local = WG.
** Local memory: WG EACH elements and one more for each 32, and 2 WG.
** Defines: REAL, INCLUSIVE, WG, EACH, WAVE.
** Assumes: 64-bit atomics; an aligned load of 64 bits is one access. A
**   work-group that has begun goes on while others wait for it.
**
** Lesson, against `registers`: each element is read once and written once. A
** work-group tells its sum, then waits for the sums of earlier groups and adds
** them up (after the decoupled look-back of Merrill and Garland, 2016).
** Numbers are drawn when a work-group begins, so it waits only for groups that
** have begun. A sum and its mark are one word, so the order of two accesses
** does not matter. Each WAVE work-groups begin with the sum of all before
** them, so none asks for more sums than that. The order of additions is always
** the same, so float sums have the same bits each time.
*/
#include "real.cl"
#include "told.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef EACH
#define EACH 16 /* elements per work-item */
#endif
#ifndef WAVE
#define WAVE 256 /* work-groups that ask for sums among them */
#endif
#define ASKS ((WAVE + WG - 1) / WG) /* of a work-item */
#define CELL(k) ((k) + (k) / 32)
#define UNROLL _Pragma("unroll")

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(SOURCE, ulong n, global REAL *restrict y,
          volatile global ulong *state)
{
  local REAL cells[CELL(WG * EACH)], part[2][WG];
  local ulong drawn[1];
  const uint id = get_local_id(0);
  REAL own[EACH], sum = IDENTITY;
  uint now = 0;
  if (id == 0)
    drawn[0] = atom_inc(state);
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t tiles = get_num_groups(0), turn = drawn[0] % tiles;
  const uint mark = (uint)(drawn[0] / tiles) + 1; /* of this launch */
  const size_t first = turn * (WG * EACH), wave = turn / WAVE;
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
    tell(state, turn, mark, total);
  const size_t g = wave * WAVE + id * ASKS;
  sum = ask_all(state, g, 1, g < turn ? min((uint)(turn - g), (uint)ASKS) : 0,
                mark, IDENTITY);
  barrier(CLK_LOCAL_MEM_FENCE);
  part[0][id] = sum;
  if (id == 0)
    part[1][0] = wave > 0 ? ask(state, tiles + wave, mark) : (REAL)IDENTITY;
  for (uint s = 1; s < WG; s *= 2) { /* neighbours: the order is kept */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id % (2 * s) == 0)
      part[0][id] = COMBINE(part[0][id], part[0][id + s]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  REAL before = COMBINE(part[1][0], part[0][0]);
  if (id == 0 && turn % WAVE == WAVE - 1)
    tell(state, tiles + wave + 1, mark, COMBINE(before, total));
  before = COMBINE(before, left);
  UNROLL for (uint k = 0; k < EACH; k++)
    cells[CELL(id * EACH + k)] = COMBINE(before, own[k]);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++)
    if (whole || first + k * WG + id < n)
      y[first + k * WG + id] = cells[CELL(k * WG + id)];
}
