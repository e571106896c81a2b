/* read.cl - read bandwidth of global memory: a sum
** SPDX-License-Identifier: MIT
**
**   out[g] = sum of the vectors that work-item g meets, over their elements
**
** Bytes moved: n * WIDTH * sizeof(REAL) read; one store per work-item.
** Each work-group walks its own piece, with neighbouring work-items on
** neighbouring vectors:
**
**      group 0           group 1                 chunk = ceil(n / groups)
**    |01230123 ...     |01230123 ...     |...
**
** On a GPU this is coalesced; on a CPU device, with local size 1, every core
** reads straight on, in STREAMS parts of its piece side by side: a core
** prefetches each of them by itself, and waits less than with one. With ITEMS
** a work-item takes just so many vectors, in a loop without end tests, and
** there are as many groups as that needs: more accesses in flight, and groups
** that end and begin in the order of memory.
**
** Arguments:
**   n    vectors of WIDTH elements to read
**   in   in:  n * WIDTH elements
**   out  out: global size elements; together they are the sum of `in`
** NDRange: one dimension, any global and local size; some 8 to 32 work-groups
**   of 256 per compute unit on a GPU, local size 1 on a CPU device. With ITEMS
**   at least n / ITEMS work-items.
** Defines: REAL, WIDTH, ITEMS, STREAMS.
** Assumes: `in` begins at a multiple of the vector; n is large against the
**   global size, or the stores count.
**
** Lesson: reading alone is a little faster than copying, since the memory bus
** need not turn round. A product of a matrix and a vector is such a kernel.
** Each stream has a sum of its own, so that no load waits for an addition.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 4 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif

#ifndef ITEMS
#define ITEMS 0 /* vectors per work-item, even; 0: as many as there are */
#endif

#ifndef STREAMS
#define STREAMS 2 /* parts of a group's piece, walked side by side */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#else
#define VECTOR JOIN(REAL, WIDTH)
#endif

kernel void read_vectors(ulong n, global const VECTOR *restrict in,
                         global REAL *restrict out)
{
  const ulong step = get_local_size(0);
#if ITEMS > 0
  VECTOR even = (VECTOR)(0), odd = (VECTOR)(0);
  const ulong from = get_group_id(0) * ITEMS * step;
  const ulong first = from + get_local_id(0);
  if (from + ITEMS * step <= n) {
    #pragma unroll
    for (int k = 0; k < ITEMS; k += 2) {
      even += in[first + k * step];
      odd += in[first + (k + 1) * step];
    }
  } else {
    for (ulong i = first; i < n; i += step)
      even += in[i];
  }
  const VECTOR sum = even + odd;
#else
  const ulong chunk = (n + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * chunk, n);
  const ulong end = min(begin + chunk, n);
  const ulong part = (end - begin) / STREAMS;
  VECTOR sums[STREAMS];
  #pragma unroll
  for (int s = 0; s < STREAMS; s++)
    sums[s] = (VECTOR)(0);
  for (ulong i = get_local_id(0); i < part; i += step) {
    #pragma unroll
    for (int s = 0; s < STREAMS; s++)
      sums[s] += in[begin + s * part + i];
  }
  VECTOR sum = (VECTOR)(0);
  for (ulong i = begin + STREAMS * part + get_local_id(0); i < end; i += step)
    sum += in[i];
  #pragma unroll
  for (int s = 0; s < STREAMS; s++)
    sum += sums[s];
#endif
  const REAL *element = (const REAL *)&sum;
  REAL total = 0;
  for (int k = 0; k < WIDTH; k++)
    total += element[k];
  out[get_global_id(0)] = total;
}
