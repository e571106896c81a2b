/* write.cl - write bandwidth of global memory: out[i] = value
** SPDX-License-Identifier: MIT
**
** Bytes moved: n * WIDTH * sizeof(REAL) written.
** Each work-group walks its own piece, with neighbouring work-items on
** neighbouring vectors:
**
**      group 0           group 1                 chunk = ceil(n / groups)
**    |01230123 ...     |01230123 ...     |...
**
** On a GPU this is coalesced; on a CPU device, with local size 1, every core
** reads straight on. With ITEMS a work-item takes just so many vectors, in a
** loop without end tests, and there are as many groups as that needs: more
** accesses in flight, and groups that end and begin in the order of memory.
**
** Arguments:
**   n      vectors of WIDTH elements to write
**   value  the value of each element
**   out    out: n * WIDTH elements
** NDRange: one dimension, any global and local size; some 8 to 32 work-groups
**   of 256 per compute unit on a GPU, local size 1 on a CPU device. With ITEMS
**   at least n / ITEMS work-items.
** Defines: REAL, WIDTH, ITEMS, PAST.
** Assumes: `out` begins at a multiple of the vector.
**
** Lesson: a GPU writes whole lines without reading them. A CPU first reads the
** line that it is about to overwrite, and so moves twice the bytes counted
** here, unless the store goes past the cache (PAST).
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 4 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif

#ifndef ITEMS
#define ITEMS 0 /* vectors per work-item; 0: as many as there are */
#endif

#ifndef PAST
#define PAST 0 /* 1: without ITEMS, stores go past the cache */
#endif
#define STREAM PAST
#include "../cache/lines.cl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#else
#define VECTOR JOIN(REAL, WIDTH)
#endif

kernel void write_vectors(ulong n, REAL value, global VECTOR *restrict out)
{
#if ITEMS > 0
  const ulong step = get_local_size(0);
  const ulong from = get_group_id(0) * ITEMS * step;
  const ulong first = from + get_local_id(0);
  if (from + ITEMS * step <= n) {
    #pragma unroll
    for (int k = 0; k < ITEMS; k++)
      out[first + k * step] = (VECTOR)(value);
  } else {
    for (ulong i = first; i < n; i += step)
      out[i] = (VECTOR)(value);
  }
#else
  const ulong chunk = (n + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = get_group_id(0) * chunk;
  const ulong end = min(begin + chunk, n);
  for (ulong i = begin + get_local_id(0); i < end; i += get_local_size(0))
    PASS((VECTOR)(value), out + i);
#endif
}
