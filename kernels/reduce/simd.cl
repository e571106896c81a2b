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
** Defines: REAL, OP, BLOCK, LANES, STREAMS, CHAIN.
** Assumes: LANES and STREAMS are powers of two, STREAMS is no larger.
**
** Lesson: a core has long vectors and an addition that takes several clocks.
** The compiler makes vectors of LANES sums and keeps them in registers, so
** additions go on while earlier ones are under way. The block is read in
** STREAMS parts side by side, each in order: the core's prefetcher follows
** several streams, and more is under way from memory than with one. No local
** memory, no barrier.
*/
#include "op.cl"
#ifndef BLOCK
#define BLOCK 4096 /* elements per work-item */
#endif
#ifndef LANES
#define LANES 64 /* sums side by side */
#endif
#ifndef STREAMS
#define STREAMS 4 /* parts of a block, walked side by side */
#endif
#ifndef CHAIN
#define CHAIN BLOCK /* additions to a lane until all lanes become one value */
#endif
#define OF_ONE (LANES / STREAMS) /* sums of a stream */
#if STREAMS > 1
#define EACH_LANE _Pragma("unroll") /* or not all streams are in registers */
#else
#define EACH_LANE
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce(SOURCE, ulong n, global RESULT *restrict y)
{
  const size_t blocks = (n + BLOCK - 1) / BLOCK;
  const size_t start = START(get_group_id(0) / blocks);
  const size_t i = get_group_id(0) % blocks * BLOCK;
  const size_t end = min((ulong)i + BLOCK, n);
  const size_t part = (end - i) / LANES * OF_ONE;
  REAL lanes[LANES], result = NEUTRAL(x);
  size_t k = 0;
  do {
    const size_t stop = min(part, k + (size_t)CHAIN * OF_ONE);
    for (int v = 0; v < LANES; v++)
      lanes[v] = NEUTRAL(x);
    for (; k < stop; k += OF_ONE) {
#pragma unroll
      for (int s = 0; s < STREAMS; s++) {
        const size_t at = i + s * part + k;
        REAL *own = lanes + s * OF_ONE;
        if (LINE(start + at, OF_ONE)) {
          EACH_LANE
          for (int v = 0; v < OF_ONE; v++) {
            const REAL one = LINE_ELEMENT(start, start + at, at, v);
            own[v] = COMBINE(own[v], one);
          }
        } else
          EACH_LANE
          for (int v = 0; v < OF_ONE; v++) {
            const REAL one = ELEMENT(start, at + v);
            own[v] = COMBINE(own[v], one);
          }
      }
    }
    if (k == part) /* the last of the block, too few for all lanes */
      for (size_t v = 0; i + STREAMS * part + v < end; v++) {
        const REAL one = ELEMENT(start, i + STREAMS * part + v);
        lanes[v] = COMBINE(lanes[v], one);
      }
    for (int s = LANES / 2; s > 0; s /= 2)
      for (int v = 0; v < s; v++)
        lanes[v] = COMBINE(lanes[v], lanes[v + s]);
    result = COMBINE(result, lanes[0]);
  } while (k < part);
  KEEP(y, get_group_id(0), result);
}
