/* cache.cl - read bandwidth of the caches: the same few data again and again
** SPDX-License-Identifier: MIT
**
** Bytes read per work-item: turns * UNROLL * WIDTH * sizeof(REAL).
** Every work-group walks round the whole buffer, each from another place:
**
**      group 0 ->      group 1 ->      group 2 ->         n vectors
**    |---------------|---------------|---------------| ...
**
** A buffer that fits the last cache, but not the own cache of each core or
** multiprocessor, is read from the last cache; a very small buffer from the
** first.
**
** Arguments:
**   n      vectors in the buffer, a multiple of UNROLL * local size
**   turns  blocks of UNROLL vectors that each work-item reads, >= 0
**   in     in:  n * WIDTH elements
**   out    out: global size elements
** NDRange: one dimension, any global and local size.
** Defines: REAL, WIDTH, UNROLL.
** Assumes: `in` begins at a multiple of the vector.
**
** Lesson: the ceiling of a kernel whose operands are still in the cache from
** the launch before. A benchmark that repeats a launch on the same small
** operands measures this, and not the memory.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 4 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif
#ifndef UNROLL
#define UNROLL 8 /* vectors in flight per work-item */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#else
#define VECTOR JOIN(REAL, WIDTH)
#endif

kernel void read_again(ulong n, int turns, global const VECTOR *restrict in,
                       global REAL *restrict out)
{
  const ulong size = get_local_size(0), block = UNROLL * size;
  VECTOR sums[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; u++)
    sums[u] = (VECTOR)(0);
  ulong at = get_group_id(0) * 7 % (n / block) * block;
  for (int t = 0; t < turns; t++) {
    const ulong i = at + get_local_id(0);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      sums[u] += in[i + u * size];
    at += block;
    at = at < n ? at : 0;
  }
  VECTOR sum = sums[0];
#pragma unroll
  for (int u = 1; u < UNROLL; u++)
    sum += sums[u];
  const REAL *element = (const REAL *)&sum;
  REAL total = 0;
  for (int k = 0; k < WIDTH; k++)
    total += element[k];
  out[get_global_id(0)] = total;
}
