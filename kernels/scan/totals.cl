/* totals.cl - scan, the totals of work-groups first
** SPDX-License-Identifier: MIT
**
**   TOTALS:  y[g] = x[first] + ... + x[last],  elements of work-group g
**   else:    y[i] = before[g] + x[first] + ... + x[i]
**
** Without x[i] if not INCLUSIVE. `before` is a scan of the totals, by this
** kernel too; ALONE, a single work-group has nothing before it.
**
** Arguments:
**   x       in:  vector
**   n       elements of x, or of each row
**   groups  work-groups of a row
**   y       out: vector, with TOTALS one element per work-group; may be x
**   before  in:  one element per work-group; not read with TOTALS or ALONE
** NDRange: one dimension, global = n / EACH rounded up to WG, for each row,
**   local = WG.
** Local memory: WG EACH elements and one more for each 32, and 2 WG.
** Defines: REAL, INCLUSIVE, WG, EACH, TOTALS, ALONE.
** Assumes nothing.
**
** Lesson, against `registers`: x is read twice, y is written once and never
** read. These are three passes over memory; a scan and the addition of the
** sums before make four.
*/
#include "real.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef EACH
#define EACH 16 /* elements per work-item */
#endif
#define CELL(k) ((k) + (k) / 32)
#define UNROLL _Pragma("unroll")

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(SOURCE, ulong n, ulong groups, global REAL *y,
          global const REAL *before)
{
  local REAL cells[CELL(WG * EACH)], part[2][WG];
  const uint id = get_local_id(0);
  const size_t start = START(get_group_id(0) / groups);
  const size_t first = get_group_id(0) % groups * (WG * EACH);
  const bool whole = first + WG * EACH <= n;
  REAL own[EACH], sum = IDENTITY;
  uint now = 0;
  if (whole) { /* all loads are under way before the first is needed */
    UNROLL for (uint k = 0; k < EACH; k++)
      own[k] = ELEMENT(start, first + k * WG + id);
    UNROLL for (uint k = 0; k < EACH; k++)
      cells[CELL(k * WG + id)] = own[k];
  } else
    for (uint k = id; k < WG * EACH; k += WG) {
      cells[CELL(k)] = IDENTITY;
      if (first + k < n)
        cells[CELL(k)] = ELEMENT(start, first + k);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++) {
    own[k] = cells[CELL(id * EACH + k)];
    sum = COMBINE(sum, own[k]);
  }
  part[0][id] = sum;
  for (uint s = 1; s < WG; s *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = part[now][id];
    if (id >= s)
      sum = COMBINE(part[now][id - s], sum);
    now = 1 - now;
    part[now][id] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if TOTALS
  if (id == 0)
    y[get_group_id(0)] = part[now][WG - 1];
#else
  sum = ALONE ? (REAL)IDENTITY : before[get_group_id(0)];
  if (id > 0)
    sum = COMBINE(sum, part[now][id - 1]);
  UNROLL for (uint k = 0; k < EACH; k++) {
    const REAL left = sum;
    sum = COMBINE(left, own[k]);
    cells[CELL(id * EACH + k)] = INCLUSIVE ? sum : left;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < WG * EACH; k += WG)
    if (whole || first + k < n)
      y[PLACE(start, first + k)] = cells[CELL(k)];
#endif
}
