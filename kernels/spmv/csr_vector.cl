/* csr_vector.cl - sparse matrix times vector, CSR, several lanes per row
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over k of values[k] * x[col_ind[k]],
**          row_ptr[i] <= k < row_ptr[i+1]
**
** Storage as in csr_scalar.cl. LANES neighbouring work-items share a row, and
** a work-group has WG / LANES rows. Lane l takes the elements l, l + LANES,
** l + 2 LANES ...; the partial sums meet in local memory (LANES = 4):
**
**    row elements   0 1 2 3 4 5 6 7 8
**    lane           0 1 2 3 0 1 2 3 0
**    step 2         [0]+=[2]   [1]+=[3]
**    step 1         [0]+=[1]   -> y[i]
**
** Arguments:
**   rows     rows of A
**   cols     columns of A, as many as x has elements
**   nnz      elements of values and of col_ind
**   row_ptr  in:  rows + 1 ints, where each row begins; the last is nnz
**   col_ind  in:  nnz ints, the column of each element
**   values   in:  nnz elements
**   x        in:  vector, one element per column of A
**   y        out: vector of rows elements; 0 for an empty row, NaN for a row
**                with an index outside: scripts can write to col_ind
** NDRange: one dimension, global = ceil(rows / (WG / LANES)) * WG, local = WG.
** Local memory: WG elements.
** Defines: REAL, WG, LANES.
** Assumes: LANES is a power of two and divides WG.
**
** Lesson, against `csr_scalar`: lanes of one row read neighbouring elements,
** so values and columns are coalesced. The best LANES is about the usual
** length of a row; more leave lanes idle. Every work-item passes every
** barrier, also without a row or without elements: lane and row decide about
** the addition, never about a barrier. Lanes read and write consecutive cells,
** so no two meet in one bank.
*/
#include "../type/real.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef LANES
#define LANES 8 /* work-items per row */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int nnz, global const int *restrict row_ptr,
          global const int *restrict col_ind,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  local REAL partial[WG];
  const int id = get_local_id(0);
  const int lane = id % LANES;
  const size_t i = get_global_id(0) / LANES;
  REAL sum = 0;
  if (i < rows) {
    const int begin = row_ptr[i], end = row_ptr[i + 1];
    sum = begin < 0 || end > nnz ? NAN : 0;
    for (long k = (long)max(begin, 0) + lane; k < min(end, nnz); k += LANES) {
      const uint j = col_ind[k]; /* negative becomes huge */
      if (j >= (uint)cols) {
        sum = NAN;
        break;
      }
      sum += values[k] * x[j];
    }
  }
  partial[id] = sum;
  for (int step = LANES / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < step)
      partial[id] += partial[id + step];
  }
  if (lane == 0 && i < rows)
    y[i] = partial[id];
}
