/* columns.cl - reduction of the columns of matrices for CPUs, LANES of them
** side by side
** SPDX-License-Identifier: MIT
**
** The methods of Buffers use it: see op.cl.
**
** Arguments, behind those of SOURCE:
**   n        rows of a matrix
**   columns  its columns
**   y        out: for each CHAIN rows one row of as many columns
** NDRange: one dimension, global = matrices * ceil(n / CHAIN) *
**   ceil(columns / LANES), local = 1.
** Defines: all words of op.cl, CHAIN, LANES.
** Assumes nothing.
*/
#include "op.cl"
#ifndef CHAIN
#define CHAIN 64 /* elements that a work-item takes one after another */
#endif
#ifndef LANES
#define LANES 64 /* columns side by side */
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce(SOURCE, ulong n, ulong columns, global RESULT *restrict y)
{
  const size_t pieces = (n + CHAIN - 1) / CHAIN;
  const size_t blocks = (columns + LANES - 1) / LANES;
  const size_t piece = get_group_id(0) / blocks; /* of all matrices */
  const size_t column = get_group_id(0) % blocks * LANES;
  const size_t start = START(piece / pieces * columns + column);
  const size_t begin = piece % pieces * CHAIN;
  const size_t end = min((ulong)begin + CHAIN, n);
  const int count = min((ulong)LANES, columns - column);
  REAL lanes[LANES];
  for (int v = 0; v < LANES; v++)
    lanes[v] = NEUTRAL(x);
  for (size_t i = begin; i < end && count == LANES; i++)
    for (int v = 0; v < LANES; v++) {
      const REAL one = ELEMENT(start + v, i);
      lanes[v] = COMBINE(lanes[v], one);
    }
  for (size_t i = begin; i < end && count < LANES; i++)
    for (int v = 0; v < count; v++) {
      const REAL one = ELEMENT(start + v, i);
      lanes[v] = COMBINE(lanes[v], one);
    }
  for (int v = 0; v < count; v++)
    KEEP(y, piece * columns + column + v, lanes[v]);
}
