/* op.cl - the operation of a reduction; the other files include it
** SPDX-License-Identifier: MIT
**
**   COMBINE(a, b)  a + b, the smaller, or the larger; of scalars and vectors
**   NEUTRAL(x)     changes no result: 0, or an element of x
**
** NaN in either operand is the result, whatever the order.
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
