/* tree.cl - scan, sums go up a tree and the sums on the left come down
** SPDX-License-Identifier: MIT
**
**   y[i] = x[first] + ... + x[i],  first: where the work-group of i begins
**
** Without x[i] if not INCLUSIVE. sums[g] is the sum of work-group g; `offsets`
** scans sums, and `add` adds them to y.
**
**    up       a   a+b    c   a+b+c+d        (the sum goes to sums)
**    down     a   a+b    c   0
**             a   0      c   a+b
**             0   a     a+b  a+b+c
**
** Arguments:
**   n     elements of x and of y
**   x     in:  vector
**   y     out: vector
**   sums  out: one element per work-group
** NDRange: one dimension, global = n / 2 rounded up to WG, local = WG.
** Local memory: 2 WG elements, with PAD one more for each 32.
** Defines: REAL, INCLUSIVE, WG, PAD.
** Assumes: WG is a power of two.
**
** Lesson, against `doubling`: 4 WG additions instead of 2 WG log2 WG, in twice
** as many steps. Cells that are added lie ever further apart, and ever more
** cells of a warp meet in one bank; PAD = 1 leaves a cell out after each 32,
** and they part.
*/
#include "real.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef PAD
#define PAD 0 /* 1: a cell is left out after each 32 */
#endif
#define CELL(k) ((k) + PAD * ((k) / 32))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(int n, global const REAL *restrict x, global REAL *restrict y,
          global REAL *restrict sums)
{
  local REAL part[CELL(2 * WG)];
  const uint id = get_local_id(0);
  const size_t i = get_group_id(0) * (2 * WG) + id, j = i + WG;
  const REAL a = i < (size_t)n ? x[i] : 0, b = j < (size_t)n ? x[j] : 0;
  uint s = 1;
  part[CELL(id)] = a;
  part[CELL(id + WG)] = b;
  for (uint d = WG; d > 0; d /= 2, s *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < d)
      part[CELL(s * (2 * id + 2) - 1)] += part[CELL(s * (2 * id + 1) - 1)];
  }
  if (id == 0) { /* it wrote the last cell itself */
    sums[get_group_id(0)] = part[CELL(2 * WG - 1)];
    part[CELL(2 * WG - 1)] = IDENTITY;
  }
  for (uint d = 1; d <= WG; d *= 2) {
    s /= 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < d) {
      const uint l = CELL(s * (2 * id + 1) - 1), r = CELL(s * (2 * id + 2) - 1);
      const REAL left = part[l];
      part[l] = part[r];
      part[r] += left;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < (size_t)n)
    y[i] = part[CELL(id)] + (INCLUSIVE ? a : 0);
  if (j < (size_t)n)
    y[j] = part[CELL(id + WG)] + (INCLUSIVE ? b : 0);
}
