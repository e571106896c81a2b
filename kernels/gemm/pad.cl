/* pad.cl - copies between a matrix and a larger, zero-padded matrix
** SPDX-License-Identifier: MIT
**
** pad:    Y[i][j] = X[i][j] where X has such an element, else 0
** unpad:  Y[i][j] = X[i][j] for the elements of Y; X is the larger matrix
**
**       X  a b c     pad      Y  a b c 0          pad makes shapes into
**          d e f    ----->       d e f 0          multiples of a tile,
**                  <-----        0 0 0 0          unpad brings C back
**                   unpad        0 0 0 0
**
** X is `from`, Y is `to`.
** pad:   rows, cols    shape of X; X in, row-major, ldx >= cols
**        prows, pcols  shape of Y; Y out, row-major, ldy >= pcols
** unpad: rows, cols    shape of Y; X in, at least rows x cols, row-major,
**                      ldx >= cols; Y out, row-major, ldy >= cols
**
** NDRange: global = columns x rows of Y or more, local = any
** Defines: REAL, or HALF: halves, moved as they are on any device; PLACED,
**          see submatrix.cl
** Assumes: X and Y do not overlap
**
** Lesson: two passes over memory buy a kernel without edge tests. It pays
** when the product is large beside its operands, and costs their memory. */
#ifdef HALF
#define ELEMENT half
#define REAL ushort
#elif !defined(REAL)
#define REAL float /* element type: float or double */
#endif
#ifndef ELEMENT
#define ELEMENT REAL
#endif

#include "submatrix.cl"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void pad(int rows, int cols, global const ELEMENT *restrict from,
                int ldx, int prows, int pcols, global ELEMENT *restrict to,
                int ldy AT_XY)
{
  global const REAL *X = (global const REAL *)from;
  global REAL *Y = (global REAL *)to;
  MOVE(X, at_x);
  MOVE(Y, at_y);
  const size_t col = get_global_id(0), row = get_global_id(1);
  if (row >= (size_t)prows || col >= (size_t)pcols)
    return;
  const int inside = row < (size_t)rows && col < (size_t)cols;
  Y[row * ldy + col] = inside ? X[row * ldx + col] : (REAL)0;
}

kernel void unpad(int rows, int cols, global const ELEMENT *restrict from,
                  int ldx, global ELEMENT *restrict to, int ldy AT_XY)
{
  global const REAL *X = (global const REAL *)from;
  global REAL *Y = (global REAL *)to;
  MOVE(X, at_x);
  MOVE(Y, at_y);
  const size_t col = get_global_id(0), row = get_global_id(1);
  if (row < (size_t)rows && col < (size_t)cols)
    Y[row * ldy + col] = X[row * ldx + col];
}
