/* add.cl - the sums of the parts of a product become its result
** SPDX-License-Identifier: MIT
**
**   y[j] = alpha * (sum over p of sums[p*n + j]) + beta * y[j]
**
** Arguments:
**   n           elements of y
**   parts       sums of each element
**   sums        in:      parts x n
**   y           in, out: vector of n elements; not read if beta is 0
**   alpha, beta scalars
** NDRange: one dimension, global = n, any local size.
** Defines: REAL.
** Assumes nothing.
*/
#include "result.cl"

kernel void add(int n, int parts, global const REAL *restrict sums,
                global REAL *restrict y, REAL alpha, REAL beta)
{
  const size_t j = get_global_id(0);
  REAL sum = 0;
  for (size_t p = 0; p < (size_t)parts; p++)
    sum += sums[p * n + j];
  y[j] = result(alpha, sum, beta, y + j);
}
