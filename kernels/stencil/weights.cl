/* weights.cl - the element type, and the sum, of a 5-point stencil; the other
** files include it
** SPDX-License-Identifier: MIT
**
**   WEIGHTED(a, l, r, u, d)  the sum of an element, its neighbours to the left
**                            and right, above and below, with their weights;
**                            of scalars and vectors
**
** Defines: REAL (float or double).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

#define WEIGHTED(a, l, r, u, d) \
  (centre * (a) + left * (l) + right * (r) + up * (u) + down * (d))
