/* real.cl - the operation and the elements of a scan; the other files include
** it
** SPDX-License-Identifier: MIT
**
**   COMBINE(a, b)      a + b; a stands before b
**   IDENTITY           changes no result: -0, or 0 as a first result
**   SOURCE             the parameters that elements come from: a vector, x
**   START(row)         where the elements of a row start; x is one row
**   ELEMENT(start, i)  element i of the row that starts there
**   PLACE(start, i)    its index in y
**
** The methods of Buffers, x:cumsum() and x:scan(), scan expressions with the
** same kernels, the rows of one too: they define all of these words.
**
** Defines: REAL (float, double or int), INCLUSIVE (1, or 0: without the
**   element itself); kernels that find totals first: TOTALS (1: only totals),
**   ALONE (1: a single piece, nothing is before it).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif
#ifndef INCLUSIVE
#define INCLUSIVE 1
#endif
#ifndef TOTALS
#define TOTALS 0
#endif
#ifndef ALONE
#define ALONE 0
#endif

#ifndef SOURCE
#define SOURCE global const REAL *restrict x
#define START(row) 0
#define ELEMENT(start, i) x[(start) + (i)]
#define PLACE(start, i) ((start) + (i))
#define COMBINE(a, b) ((a) + (b))
#if INCLUSIVE
#define IDENTITY ((REAL)-0.0f) /* 0 + -0 is 0 */
#else
#define IDENTITY 0
#endif
#endif
