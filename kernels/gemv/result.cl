/* result.cl - the element type, an element of the result, and asking for what
** comes next, of a product of a matrix and a vector; the other files include it
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

#define AHEAD 128 /* elements from those in use to those asked for */
/* asks the caches of a core for a line, which need not exist */
#ifdef __has_builtin
#if __has_builtin(__builtin_prefetch)
#define ASK(p) __builtin_prefetch((const void *)(size_t)(p))
#endif
#endif
#ifndef ASK
#define ASK(p) (void)0
#endif
