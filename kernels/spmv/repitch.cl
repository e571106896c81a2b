/* repitch.cl - copy the diagonals of a DIA matrix to another pitch
** SPDX-License-Identifier: MIT
**
**   out[d*out_pitch + i] = in[d*in_pitch + i]   for i < rows
**                        = 0                    for rows <= i < out_pitch
**
** A helper of the DIA kernels: a kernel that wants aligned diagonals, or none,
** is handed a copy of the matrix when its own pitch does not suit.
**
** Arguments:
**   rows       rows of the matrix, <= both pitches
**   ndiags     number of diagonals
**   in_pitch   elements from one diagonal of `in` to the next
**   in         in:  ndiags x in_pitch elements; the gaps are not read
**   out_pitch  elements from one diagonal of `out` to the next
**   out        out: ndiags x out_pitch elements, gaps zero
** NDRange: one dimension, global = out_pitch rounded up to the local size, any
**   local size.
** Defines: REAL.
** Assumes nothing.
*/
#include "../type/real.cl"

kernel void repitch(int rows, int ndiags, int in_pitch,
                    global const REAL *restrict in, int out_pitch,
                    global REAL *restrict out)
{
  const size_t i = get_global_id(0);
  if (i >= out_pitch)
    return;
  for (int d = 0; d < ndiags; d++)
    out[(size_t)d * out_pitch + i] =
        i < rows ? in[(size_t)d * in_pitch + i] : 0;
}
