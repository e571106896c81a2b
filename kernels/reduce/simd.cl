/* simd.cl - reduction for CPUs, a block of elements per work-item
** SPDX-License-Identifier: MIT
**
**   y[g] = x[g*BLOCK] op ... op x[g*BLOCK + BLOCK - 1],  one per work-item
**
** A second launch, of grid_stride.cl, reduces the elements of y to one.
**
** Arguments:
**   n  elements of x
**   x  in:  vector
**   y  out: one element per work-item
** NDRange: one dimension, global = ceil(n / BLOCK), local = 1.
** Defines: REAL, OP, BLOCK, WIDTH, VECTORS.
** Assumes: WIDTH is 4, 8 or 16.
**
** Lesson: a core has long vectors and an addition that takes several clocks.
** VECTORS sums in registers, each of WIDTH elements, keep additions going
** while earlier ones are under way; the block is read in order, as the core's
** prefetcher expects. No local memory, no barrier.
*/
#include "op.cl"
#ifndef BLOCK
#define BLOCK 65536 /* elements per work-item */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#ifndef VECTORS
#define VECTORS 4 /* vectors whose sums are in registers */
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define VECTOR CAT(REAL, WIDTH)

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce(int n, global const REAL *restrict x, global REAL *restrict y)
{
  const size_t begin = get_global_id(0) * BLOCK;
  const size_t end = min(begin + BLOCK, (size_t)n);
  size_t i = begin;
  VECTOR sums[VECTORS];
  REAL sum = NEUTRAL(x), lanes[WIDTH];
  for (int v = 0; v < VECTORS; v++)
    sums[v] = NEUTRAL(x);
  for (; i + WIDTH * VECTORS <= end; i += WIDTH * VECTORS)
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      const VECTOR a = CAT(vload, WIDTH)(0, x + i + v * WIDTH);
      sums[v] = COMBINE(sums[v], a);
    }
  for (; i < end; i++)
    sum = COMBINE(sum, x[i]);
  for (int v = 1; v < VECTORS; v++)
    sums[0] = COMBINE(sums[0], sums[v]);
  CAT(vstore, WIDTH)(sums[0], 0, lanes);
  for (int k = 0; k < WIDTH; k++)
    sum = COMBINE(sum, lanes[k]);
  y[get_group_id(0)] = sum;
}
