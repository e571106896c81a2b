/* nv_split.cl - adds up the parts of a matrix product split along k
** SPDX-License-Identifier: MIT
**
** C = alpha (P0 + P1 + ... ) + beta C
**
**      +--------+
**      |   P0   | rows    the parts lie one below the other, each rows x
**      +--------+         cols, as the groups of nv_ffma.cl or nv_dmma.cl
**      |   P1   | rows    with the same place in C and different ranges of
**      +--------+         k leave them
**      |  ...   |
**
** rows, cols  shape of C, each >= 1
** splits      number of parts
** alpha, beta scalars; beta == 0 means that C is not read
** P  in       splits * rows x cols, row-major, without gaps
** C  in, out  rows x cols, row-major, row i begins at C + i * ldc, ldc >= cols
**
** NDRange: global = columns x rows of C or more, local = any
** Defines: REAL; PLACED, see submatrix.cl
** Assumes: P and C do not overlap
**
** Lesson: a product of few outputs and long sums occupies all units only if
** several share each sum. It costs one more pass over so many results, in a
** fixed order, so that the same input gives the same bits every time. */
#ifndef REAL
#define REAL float /* element type: float or double */
#endif

#include "submatrix.cl"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void add_parts(int rows, int cols, int splits, REAL alpha,
                      global const REAL *restrict P, REAL beta,
                      global REAL *restrict C, int ldc AT_XY)
{
  MOVE(P, at_x);
  MOVE(C, at_y);
  const size_t row = get_global_id(1), col = get_global_id(0);
  if (row >= (size_t)rows || col >= (size_t)cols)
    return;
  const size_t size = (size_t)rows * cols;
  global const REAL *p = P + row * cols + col;
  global REAL *c = C + row * ldc + col;
  REAL sum = 0;
  for (int i = 0; i < splits; i++)
    sum += p[i * size];
  REAL value = alpha * sum;
  if (beta != (REAL)0)
    value += beta * *c;
  *c = value;
}
