/* runs.cl - runs of equal elements: their first elements, and their lengths
** SPDX-License-Identifier: MIT
**
** All NaN are equal here, and so are 0.0 and -0.0.
**
** Arguments of heads:
**   y       in:  vector in order
**   flags   out: 1 where a run begins, 0 elsewhere
** NDRange of heads: one dimension, global = n, any local size.
** Arguments of take:
**   y       in:  vector in order
**   number  in:  flags[0] + ... + flags[i]
**   values  out: the first element of each run
**   starts  out: its place, from 0
** NDRange of take: one dimension, global = n, any local size.
** Arguments of lengths:
**   n       elements of y
**   starts  in:  as above
**   counts  out: elements of each run
** NDRange of lengths: one dimension, global = runs, any local size.
** Defines: REAL.
** Assumes nothing.
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

kernel void heads(global const REAL *restrict y, global int *restrict flags)
{
  const size_t i = get_global_id(0);
  const REAL a = y[i], b = i > 0 ? y[i - 1] : a;
  flags[i] = i == 0 || (a != b && (a == a || b == b));
}

kernel void take(global const REAL *restrict y,
                 global const int *restrict number,
                 global REAL *restrict values, global uint *restrict starts)
{
  const size_t i = get_global_id(0);
  const int run = number[i];
  if (run != (i > 0 ? number[i - 1] : 0)) {
    values[run - 1] = y[i];
    starts[run - 1] = i;
  }
}

kernel void lengths(uint n, global const uint *restrict starts,
                    global uint *restrict counts)
{
  const size_t i = get_global_id(0);
  const uint end = i + 1 < get_global_size(0) ? starts[i + 1] : n;
  counts[i] = end - starts[i];
}
