/* scale.cl - the product with alpha = 0: C = beta C
** SPDX-License-Identifier: MIT
**
** scale:  C[i][j] = beta C[i][j], or 0 where beta is 0: C is not read then
**
**   rows, cols  shape of C
**   beta        factor
**   C           in and out, row-major, ldc >= cols
**
** NDRange: global = columns x rows of C or more, local = any
** Defines: REAL, or HALF: C is of halves, on any device; PLACED, see
**          submatrix.cl; of other types, see stored.cl
**
** Lesson: BLAS defines alpha = 0 as "A and B are not read", so that neither
** a NaN nor an infinity in them gets into C. 0 A B would let it. */
#ifndef REAL
#define REAL float /* element type: float or double */
#endif

#include "submatrix.cl"
#include "stored.cl"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifdef HALF
#define CELL ushort
#define GET(C, i) vload_half(i, (global const half *)(C))
#define PUT(x, C, i) vstore_half(x, i, (global half *)(C))
#else
#define CELL C_ELEMENT
#define GET(C, i) WIDEN_C((C)[i])
#define PUT(x, C, i) ((C)[i] = NARROW(x))
#endif

kernel void scale(int rows, int cols, REAL beta, global CELL *C,
                  int ldc AT_C)
{
  MOVE(C, at_c);
  const size_t col = get_global_id(0), row = get_global_id(1);
  const size_t i = row * ldc + col;
  if (row < (size_t)rows && col < (size_t)cols)
    PUT(beta != 0 ? beta * GET(C, i) : 0, C, i);
}
