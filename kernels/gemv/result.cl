/* result.cl - the element type and an element of the result of a product of a
** matrix and a vector; the other files include it
** SPDX-License-Identifier: MIT
**
** Defines: REAL (float or double).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

/* alpha sum + beta y; with beta = 0, y is not read */
REAL result(REAL alpha, REAL sum, REAL beta, global const REAL *y)
{
  return beta == 0 ? alpha * sum : alpha * sum + beta * *y;
}
