/* local_offsets.cl - DIA sparse matrix times vector, offsets in local memory
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** The offsets pass through local memory CHUNK at a time, so their number is
** not limited:
**
**   offsets  |.. CHUNK ..|.. CHUNK ..|.. rest|
**                  | copied by the whole work-group, barrier
**                  v
**            local chunk[CHUNK] -> every work-item adds these diagonals to its
**                                  private sum, barrier, next chunk
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      number of diagonals, any
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     in:  ndiags ints, column minus row, sorted ascending
**   values      in:  ndiags x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = rows rounded up to WG, local = WG.
** Local memory: 4 * CHUNK bytes.
** Defines: REAL, WG, CHUNK.
** Assumes: for speed only, that pitch is a multiple of 32 elements.
**
** Lesson, against `pitch`: data that a whole work-group shares is fetched once
** per group. Work-items past the last row have no sum to make, yet they must
** copy and reach both barriers: only the arithmetic stands under the `if`.
** All work-items read the same cell, which local memory serves as one
** broadcast, without a bank conflict. It pays where global loads are not
** cached (the course measured 50 %); a cached uniform load costs hardly more,
** so on recent GPUs expect little, and on a CPU device a loss: there barriers
** are loops over saved work-items.
*/
#include "../type/real.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef CHUNK
#define CHUNK 256 /* offsets held in local memory at a time */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int ndiags, int pitch,
          global const int *restrict offsets,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  local int chunk[CHUNK];
  const size_t i = get_global_id(0);
  REAL sum = 0;
  size_t at = i;
  for (int first = 0; first < ndiags; first += CHUNK) {
    const int n = min(CHUNK, ndiags - first);
    barrier(CLK_LOCAL_MEM_FENCE); /* the last chunk is no longer in use */
    for (int k = get_local_id(0); k < n; k += WG)
      chunk[k] = offsets[first + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < rows) {
      for (int k = 0; k < n; k++) {
        const uint j = (uint)i + (uint)chunk[k]; /* negative becomes huge */
        if (j < (uint)cols)
          sum += values[at] * x[j];
        at += pitch;
      }
    }
  }
  if (i < rows)
    y[i] = sum;
}
