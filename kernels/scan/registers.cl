/* registers.cl - scan, each work-item scans neighbours in registers
** SPDX-License-Identifier: MIT
**
**   y[i] = x[first] + ... + x[i],  first: where the work-group of i begins
**
** Without x[i] if not INCLUSIVE. sums[g] is the sum of work-group g; `offsets`
** scans sums, and `add` adds them to y.
**
** Arguments:
**   n     elements of x and of y
**   x     in:  vector
**   y     out: vector
**   sums  out: one element per work-group
** NDRange: one dimension, global = n / EACH rounded up to WG, local = WG.
** Local memory: WG EACH elements and one more for each 32, and 2 WG.
** Defines: REAL, INCLUSIVE, WG, EACH.
** Assumes nothing.
**
** Lesson, against `tree_padded`: EACH elements cost EACH - 1 additions without
** a barrier, and only their sums, EACH times fewer, pass the steps in local
** memory. Elements pass through local memory on their way from and to global
** memory, so that neighbours read neighbours there.
*/
#include "real.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef EACH
#define EACH 8 /* elements per work-item */
#endif
#define CELL(k) ((k) + (k) / 32)

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(int n, global const REAL *restrict x, global REAL *restrict y,
          global REAL *restrict sums)
{
  local REAL cells[CELL(WG * EACH)], part[2][WG];
  const uint id = get_local_id(0);
  const size_t first = get_group_id(0) * (WG * EACH);
  REAL own[EACH], sum = IDENTITY;
  uint now = 0;
  for (uint k = id; k < WG * EACH; k += WG)
    cells[CELL(k)] = first + k < (size_t)n ? x[first + k] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < EACH; k++) {
    const REAL before = sum;
    sum += cells[CELL(id * EACH + k)];
    own[k] = INCLUSIVE ? sum : before;
  }
  part[0][id] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 1; s < WG; s *= 2) {
    part[1 - now][id] =
      part[now][id] + (id >= s ? part[now][id - s] : (REAL)IDENTITY);
    now = 1 - now;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint k = 0; k < EACH; k++)
    cells[CELL(id * EACH + k)] =
      own[k] + (id > 0 ? part[now][id - 1] : (REAL)IDENTITY);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < WG * EACH; k += WG)
    if (first + k < (size_t)n)
      y[first + k] = cells[CELL(k)];
  if (id == WG - 1)
    sums[get_group_id(0)] = part[now][id];
}
