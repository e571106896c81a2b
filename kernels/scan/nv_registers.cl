/* nv_registers.cl - scan in one launch, tiles stay in registers
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
**   state  how many tiles have ended in all launches, the sums of tiles, and
**          the sum before each WAVE of tiles: WORDS for each
** NDRange: one dimension, local = WG; a work-group for each tile of
**   WG UNITS 16 bytes.
** Local memory: 2 WARPS elements and few words.
** Defines: REAL (float, double or int), INCLUSIVE, WG, UNITS, WAVE.
** Assumes: compute capability 7.0; work-groups begin in the order of their
**   numbers, and go on while others wait for them; for speed only, that x and
**   y begin at multiples of 16 bytes.
**
** Lesson, against `lookback`: 16 bytes a load, neighbours side by side, and
** lanes of a warp pass sums on without local memory and its barriers. A number
** need not be drawn, since the loads would wait for it; and nothing is cleared
** before, as the count of ended tiles tells one launch from the next. Against
** `nv_stream`: small tiles, so that a short vector keeps all compute units
** busy; all the work-items ask for the sums of a wave at one time.
*/
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef UNITS
#define UNITS 4 /* 16 bytes of a work-item */
#endif
#ifndef WAVE
#define WAVE 256 /* tiles that add the sums of earlier tiles among them */
#endif
#define ASKERS WG
#define ASKS ((WAVE + WG - 1) / WG)
#include "nv_warp.cl"

#define SPAN (32 * IN_UNIT) /* elements of a warp, one unit of each lane */

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(global const REAL *x, ulong n, global REAL *y,
          volatile global ulong *state)
{
  local REAL sums_of[WARPS], asked[WARPS];
  local uint marks[1];
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint t = get_group_id(0), tiles = get_num_groups(0);
  const ulong start = (ulong)t * WG + warp * 32; /* in vectors of UNITS */
  const ulong first = start * (UNITS * IN_UNIT) + lane * IN_UNIT;
  const bool whole = ((ulong)x | (ulong)y) % 16 == 0
    && ((ulong)t + 1) * (WG * UNITS * IN_UNIT) <= n;
  volatile global ulong *sums = state + 1, *waves = sums + tiles * WORDS;
  Unit own[UNITS];
  REAL prior[UNITS], sum = IDENTITY, before;

  if (whole)
    UNROLL for (uint u = 0; u < UNITS; u++) {
      const uint4 v = *(global const uint4 *)(x + first + u * SPAN);
      own[u].word[0] = v.x;
      own[u].word[1] = v.y;
      own[u].word[2] = v.z;
      own[u].word[3] = v.w;
    }
  else
    UNROLL for (uint u = 0; u < UNITS; u++)
      UNROLL for (uint k = 0; k < IN_UNIT; k++) {
        const ulong i = first + u * SPAN + k;
        own[u].value[k] = i < n ? x[i] : (REAL)IDENTITY;
      }
  if (id == 0)
    marks[0] = (uint)(state[0] / tiles) + 1; /* this tile has not ended */
  UNROLL for (uint u = 0; u < UNITS; u++) {
    UNROLL for (uint k = 1; k < IN_UNIT; k++)
      own[u].value[k] += own[u].value[k - 1];
    prior[u] = up_to(own[u].value[IN_UNIT - 1], lane);
  }
  UNROLL for (uint u = 0; u < UNITS; u++) {
    const REAL all = of_lane(prior[u], 31), left = below(prior[u], 1);
    prior[u] = sum + (lane > 0 ? left : (REAL)IDENTITY);
    sum += all;
  }
  if (lane == 0)
    sums_of[warp] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint mark = marks[0];
  const REAL warps = up_to(lane < WARPS ? sums_of[lane] : (REAL)IDENTITY,
                           lane);
  const REAL total = of_lane(warps, 31);
  if (id == 0)
    tell(sums + t * WORDS, mark, total);
  const REAL mine = over(ask_part(sums, waves, t, id, mark, &before));
  if (lane == 0)
    asked[warp] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  before += over(lane < WARPS ? asked[lane] : (REAL)IDENTITY);
  if (id == 0) {
    if (t % WAVE == WAVE - 1)
      tell(waves + (t / WAVE + 1) * WORDS, mark, before + total);
    atom_inc(state);
  }
  const REAL earlier = of_lane(warps, warp - 1);
  before += warp > 0 ? earlier : (REAL)IDENTITY;
  UNROLL for (uint u = 0; u < UNITS; u++) {
    const REAL base = before + prior[u];
    UNROLL for (int k = IN_UNIT - 1; k >= 0; k--)
      own[u].value[k] = INCLUSIVE ? base + own[u].value[k]
        : k > 0 ? base + own[u].value[k - 1] : base;
  }
  if (whole)
    UNROLL for (uint u = 0; u < UNITS; u++)
      *(global uint4 *)(y + first + u * SPAN) = (uint4)(own[u].word[0],
        own[u].word[1], own[u].word[2], own[u].word[3]);
  else
    UNROLL for (uint u = 0; u < UNITS; u++)
      UNROLL for (uint k = 0; k < IN_UNIT; k++) {
        const ulong i = first + u * SPAN + k;
        if (i < n)
          y[i] = own[u].value[k];
      }
}
