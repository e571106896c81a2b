/* histogram.cl - how many elements lie in each of several intervals
** SPDX-License-Identifier: MIT
**
**   counts[b] += 1,  b = floor((x[i] - from) scale),  from <= x[i] <= to
**
** with b = bins - 1 for x[i] = to. Of integers b = (x[i] - from) / width.
**
** Arguments:
**   n       elements of x
**   x       in:  vector
**   from    as above
**   to      as above
**   by      scale; of integers width, an ulong
**   bins    elements of counts
**   counts  in, out: vector
** NDRange: one dimension, any global and local size; work-items go on by the
**   global size.
** Local memory: LOCAL uint.
** Defines: REAL, WHOLE (1 for integers), LOCAL (0, or counters in local
**   memory, at least as many as there are bins).
** Assumes nothing.
**
** A work-group counts in local memory, where atomic operations are many times
** faster, and then adds its counters to `counts`.
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#ifndef REAL
#define REAL float /* element type */
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef LOCAL
#define LOCAL 0
#endif
#if WHOLE
#define BY ulong
#define BIN(x) (uint)(((ulong)(x) - (ulong)from) / by)
#else
#define BY REAL
#define BIN(x) min((uint)(((x) - from) * by), bins - 1)
#endif

kernel void histogram(ulong n, global const REAL *restrict x, REAL from,
                      REAL to, BY by, uint bins, global uint *restrict counts)
{
#if LOCAL
  local uint own[LOCAL];
  for (uint b = get_local_id(0); b < bins; b += get_local_size(0))
    own[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) {
    const REAL e = x[i];
    if (from <= e && e <= to) {
#if LOCAL
      atomic_inc(&own[BIN(e)]);
#else
      atomic_inc(&counts[BIN(e)]);
#endif
    }
  }
#if LOCAL
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint b = get_local_id(0); b < bins; b += get_local_size(0))
    atomic_add(&counts[b], own[b]);
#endif
}
