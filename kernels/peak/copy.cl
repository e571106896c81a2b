/* copy.cl - copy bandwidth of global memory: out[i] = in[i]
** SPDX-License-Identifier: MIT
**
** Bytes moved: 2 * n * WIDTH * sizeof(REAL), read and written.
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
**   n    vectors of WIDTH elements to copy
**   in   in:  n * WIDTH elements
**   out  out: n * WIDTH elements
** NDRange: one dimension, any global and local size; some 8 to 32 work-groups
**   of 256 per compute unit on a GPU, local size 1 on a CPU device. With ITEMS
**   at least n / ITEMS work-items.
** Defines: REAL, WIDTH, ITEMS, STREAMS, PAST.
** Assumes: both buffers begin at a multiple of the vector.
**
** Lesson: the ceiling of every memory-bound kernel that reads as much as it
** writes. Take buffers several times larger than the last cache, or its
** bandwidth is measured. Vary WIDTH: 16 bytes per work-item saturate a GPU. A
** CPU first reads the line that it is about to overwrite; stores past the
** cache (PAST) leave that out.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 4 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif

#ifndef ITEMS
#define ITEMS 0 /* vectors per work-item; 0: as many as there are */
#endif

#ifndef STREAMS
#define STREAMS 1 /* parts of a group's piece, walked side by side */
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

kernel void copy_vectors(ulong n, global const VECTOR *restrict in,
                         global VECTOR *restrict out)
{
#if ITEMS > 0
  const ulong step = get_local_size(0);
  const ulong from = get_group_id(0) * ITEMS * step;
  const ulong first = from + get_local_id(0);
  if (from + ITEMS * step <= n) {
    VECTOR held[ITEMS];
    #pragma unroll
    for (int k = 0; k < ITEMS; k++)
      held[k] = in[first + k * step];
    #pragma unroll
    for (int k = 0; k < ITEMS; k++)
      out[first + k * step] = held[k];
  } else {
    for (ulong i = first; i < n; i += step)
      out[i] = in[i];
  }
#else
  const ulong chunk = (n + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * chunk, n);
  const ulong end = min(begin + chunk, n);
  const ulong part = (end - begin) / STREAMS;
  for (ulong i = get_local_id(0); i < part; i += get_local_size(0)) {
    #pragma unroll
    for (int s = 0; s < STREAMS; s++)
      PASS(in[begin + s * part + i], out + begin + s * part + i);
  }
  for (ulong i = begin + STREAMS * part + get_local_id(0); i < end;
       i += get_local_size(0))
    out[i] = in[i];
#endif
}
