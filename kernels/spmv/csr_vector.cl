/* csr_vector.cl - sparse matrix times vector, CSR, several lanes per row
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over k of values[k] * x[col_ind[k]],
**          row_ptr[i] <= k < row_ptr[i+1]
**
** Storage as in csr_scalar.cl. LANES neighbouring work-items share a row, and
** a work-group has WG / LANES rows. A lane takes four elements at a time, from
** a multiple of four on, so that columns and values are whole vectors of 16
** bytes (LANES = 2, a row of elements 3 to 16):
**
**    elements   - - - 3   4 5 6 7   8 9 10 11   12 13 14 15   16 - - -
**    lane       0         1         0           1             0
**
** The partial sums meet in local memory, or by shuffles where NV is 1.
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
** Local memory: WG + WG / LANES elements, none where NV is 1.
** Defines: REAL, WG, LANES, NV (see quads.cl).
** Assumes: LANES is a power of two and divides WG.
**
** Lesson, against `csr_scalar`: lanes of one row read neighbouring elements,
** so values and columns are coalesced. The loop asks for 4 columns, then for 4
** elements of x at once: one after another, as many work-items have a quarter
** as many bytes on their way. The best LANES is about an eighth of the usual
** length of a row, and not less than 2; more leave lanes idle. Every work-item
** passes the barrier, also without a row or without elements. One cell in
** LANES + 1 stays empty, so that the sums of rows meet in no bank.
*/
#include "quads.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef LANES
#define LANES 4 /* work-items per row */
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int nnz, global const int *restrict row_ptr,
          global const int *restrict col_ind,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  const int id = get_local_id(0);
  const int lane = id % LANES;
  const size_t i = get_global_id(0) / LANES;
  REAL sum = 0;
  if (i < rows) {
    const int from = row_ptr[i], to = row_ptr[i + 1];
    const uint first = max(from, 0), end = clamp(to, 0, nnz);
    sum = from < 0 || to > nnz ? NAN : 0;
    for (uint at = first / 4 * 4 + 4 * lane; at < end; at += 4 * LANES) {
      const REAL4 p = products(at, first, end, cols, nnz, col_ind, values, x);
      sum += (p.x + p.y) + (p.z + p.w);
    }
  }
#if NV
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2)
    sum += of_lane(sum, id + d);
  if (lane == 0 && i < rows)
    y[i] = sum;
#else
  local REAL partial[WG + WG / LANES];
  partial[id + id / LANES] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t own = get_group_id(0) * (size_t)(WG / LANES) + id;
  if (id < WG / LANES && own < rows) {
    sum = 0;
    for (int l = 0; l < LANES; l++)
      sum += partial[id * (LANES + 1) + l];
    y[own] = sum;
  }
#endif
}
