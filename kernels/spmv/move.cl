/* move.cl - elements moved to other places: the values of a transposed matrix
** SPDX-License-Identifier: MIT
**
**   out[k] = in[places[k]]
**
** Arguments:
**   n        elements of places and of out
**   places   in:  n ints, places in `in`
**   in       in:  elements
**   out      out: n elements
** NDRange: one dimension, global = n rounded up to the local size, any local
**   size.
** Defines: REAL.
** Assumes nothing.
*/
#include "../type/real.cl"

kernel void move(int n, global const int *restrict places,
                 global const REAL *restrict in, global REAL *restrict out)
{
  const size_t k = get_global_id(0);
  if (k < n)
    out[k] = in[places[k]];
}
