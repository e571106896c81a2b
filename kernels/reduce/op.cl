/* op.cl - the operation and the elements of a reduction; the other files
** include it
** SPDX-License-Identifier: MIT
**
**   COMBINE(a, b)      a + b, the smaller, or the larger
**   NEUTRAL(x)         changes no result: 0, or an element of x
**   SOURCE             the parameters that elements come from: a vector, x
**   START(row)         where the elements of a row start; x is one row
**   ELEMENT(start, i)  element i of the row that starts there
**   KEEP(y, at, s)     y[at] = s
**
** NaN in either operand is the result, whatever the order.
**
** The methods of Buffers, x:sum() and the others, reduce expressions, the rows
** of one too, with the same kernels: they define all of these words, and
** LINE(at, n): whether n elements from `at` on are in one row of their
** Buffers, where LINE_ELEMENT(start, at, i, v) is element i + v without a
** division.
**
** Defines: REAL (float, double or int), OP (SUM, MIN or MAX).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

#define SUM 1
#define MIN 2
#define MAX 3
#ifndef OP
#define OP SUM
#endif

#ifndef SOURCE
#define RESULT REAL /* element type of y */
#define SOURCE global const REAL *restrict x
#define START(row) 0
#define ELEMENT(start, i) x[(start) + (i)]
#define LINE(at, n) 0
#define LINE_ELEMENT(start, at, i, v) x[(start) + (i) + (v)]
#define KEEP(y, at, s) (y)[at] = s
#if OP == SUM
#define COMBINE(a, b) ((a) + (b))
#define NEUTRAL(x) 0
#elif OP == MIN
#define COMBINE(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define NEUTRAL(x) (x)[0]
#else
#define COMBINE(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define NEUTRAL(x) (x)[0]
#endif
#endif
