/* move.cl - elements by their places
** SPDX-License-Identifier: MIT
**
**   y[i] = x[index[i] - 1]
**
** Arguments:
**   x      in:  vector
**   index  in:  places in x, from 1
**   y      out: vector
** NDRange: one dimension, global = elements of y, any local size.
** Defines: REAL.
** Assumes: all places are places of elements of x.
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

kernel void move(global const REAL *restrict x,
                 global const uint *restrict index, global REAL *restrict y)
{
  const size_t i = get_global_id(0);
  y[i] = x[index[i] - 1];
}
