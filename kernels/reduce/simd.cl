/* simd.cl - reduction for CPUs, a block of elements per work-item
** SPDX-License-Identifier: MIT
**
**   y[g] = x[g*BLOCK] op ... op x[g*BLOCK + BLOCK - 1],  one per work-item
**
** A second launch, of grid_stride.cl, reduces the elements of y to one.
**
** Arguments:
**   x  in:  vector
**   n  elements of x, or of each row
**   y  out: one element per work-item
** NDRange: one dimension, global = rows * ceil(n / BLOCK), local = 1.
** Defines: REAL, OP, BLOCK, LANES.
** Assumes: LANES is a power of two.
**
** Lesson: a core has long vectors and an addition that takes several clocks.
** The compiler makes vectors of LANES sums and keeps them in registers, so
** additions go on while earlier ones are under way; the block is read in order,
** as the core's prefetcher expects. No local memory, no barrier.
*/
#include "op.cl"
#ifndef BLOCK
#define BLOCK 4096 /* elements per work-item */
#endif
#ifndef LANES
#define LANES 64 /* sums side by side */
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce(SOURCE, ulong n, global RESULT *restrict y)
{
  const size_t blocks = (n + BLOCK - 1) / BLOCK;
  const size_t start = START(get_group_id(0) / blocks);
  size_t i = get_group_id(0) % blocks * BLOCK;
  const size_t end = min((ulong)i + BLOCK, n);
  REAL lanes[LANES];
  for (int v = 0; v < LANES; v++)
    lanes[v] = NEUTRAL(x);
  for (; i + LANES <= end; i += LANES)
    if (LINE(start + i, LANES)) {
      for (int v = 0; v < LANES; v++) {
        const REAL one = LINE_ELEMENT(start, start + i, i, v);
        lanes[v] = COMBINE(lanes[v], one);
      }
    } else
      for (int v = 0; v < LANES; v++) {
        const REAL one = ELEMENT(start, i + v);
        lanes[v] = COMBINE(lanes[v], one);
      }
  for (int v = 0; i < end; v++, i++) {
    const REAL one = ELEMENT(start, i);
    lanes[v] = COMBINE(lanes[v], one);
  }
  for (int s = LANES / 2; s > 0; s /= 2)
    for (int v = 0; v < s; v++)
      lanes[v] = COMBINE(lanes[v], lanes[v + s]);
  KEEP(y, get_group_id(0), lanes[0]);
}
