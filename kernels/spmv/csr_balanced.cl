/* csr_balanced.cl - sparse matrix times vector, CSR, in equal parts of work
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over k of values[k] * x[col_ind[k]],
**          row_ptr[i] <= k < row_ptr[i+1]
**
** Storage as in csr_scalar.cl. The work is a list of items: each element, and
** behind the elements of a row the end of the row, which writes y:
**
**    rows of 2, 0, 5 elements    a b |  |  c d e f g |
**    parts of 4 items            a b |  |  / c d e f / g |
**
** A work-group takes CHUNK = WG * ITEMS items, a work-item ITEMS of these,
** whatever the lengths of rows: empty rows cost work, too, and a row of any
** length is cut (merge-based CSR of Merrill and Garland). The sum of an
** unfinished row is a tail; `join` adds the tails of earlier groups to a row
** that ends in a later one.
**
** Arguments:
**   rows, cols, nnz, row_ptr, col_ind, values, x, y  as in csr_scalar.cl
**   groups   parts of CHUNK items
**   starts   out of `starts`, then in: groups + 1 ints, the row of each
**            group's first item; the last is rows
**   tails    the sum of the row that goes on behind each group
**   faults   1 for each group whose rows are not where `starts` has them
** NDRange: one dimension. starts: one work-item for each of starts; spmv:
**   groups * WG, local = WG; join: groups rounded up to WG, local = WG.
** Local memory: spmv CHUNK + CHUNK / 32 + WG elements and CHUNK + WG + 2
**   ints; join WG elements and WG + 1 ints.
** Defines: REAL, WG, ITEMS.
** Assumes: WG is a power of two. row_ptr is checked row by row: a group where
** it does not ascend, or was written since `starts` ran, takes its rows as
** csr_scalar does.
**
** Lesson, against `csr_vector`: no row that others wait for and no lane
** without work: the time follows the numbers of elements and of rows, not
** their lengths; a binary search finds where a part begins. Rows of about one
** length have no need of it: there `csr_vector` is as fast in one launch.
** Elements are read in their order, coalesced, and their products wait in
** local memory for the work-items that add them up. Sums have one order: the
** same bits each time.
*/
#include "../type/real.cl"
#include "meet.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef ITEMS
#define ITEMS 8 /* of a work-item */
#endif
#define CHUNK (WG * ITEMS)
#define CELL(k) ((k) + (k) / 32) /* lanes ITEMS apart meet in few banks */
#define LONG 32 /* tails from which a work-group adds them up */

/* The number of rows whose end comes before item `at`, when `ends` has the
** number of elements up to the end of each row. T: int, or long for all rows
** of a matrix. */
#define ENDED(T, ends, rows, count, at, answer)                              \
  {                                                                          \
    int low = max((at) - (count), (T)0), high = min((T)(rows), at);          \
    while (low < high) {                                                     \
      const int middle = low + (high - low) / 2;                             \
      if ((T)(ends)[middle] + middle < at)                                   \
        low = middle + 1;                                                    \
      else                                                                   \
        high = middle;                                                       \
    }                                                                        \
    answer = low;                                                            \
  }

kernel void starts(int rows, int nnz, int groups,
                   global const int *restrict row_ptr,
                   global int *restrict starts)
{
  const int g = get_global_id(0);
  if (g <= groups) {
    const long at = min((long)g * CHUNK, (long)rows + nnz);
    ENDED(long, row_ptr + 1, rows, nnz, at, starts[g])
  }
}

/* A row by one work-item, as in csr_scalar.cl. */
REAL sum_of(int i, int cols, int nnz, global const int *row_ptr,
            global const int *col_ind, global const REAL *values,
            global const REAL *x)
{
  const int begin = row_ptr[i], end = row_ptr[i + 1];
  REAL sum = begin < 0 || end > nnz ? NAN : 0;
  for (int k = max(begin, 0); k < min(end, nnz); k++) {
    const uint j = col_ind[k];
    if (j >= (uint)cols)
      return NAN;
    sum += values[k] * x[j];
  }
  return sum;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int nnz, global const int *restrict row_ptr,
          global const int *restrict col_ind,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y,
          global const int *restrict starts, global REAL *restrict tails,
          global int *restrict faults)
{
  local REAL product[CELL(CHUNK)], carry[WG];
  local int ends[CHUNK + 1], ended[WG], fault;
  const int id = get_local_id(0), g = get_group_id(0);
  const int row = starts[g], n = max(starts[g + 1] - row, 0);
  const long place = (long)g * CHUNK - row;
  const int first = clamp(place, (long)0, (long)nnz);
  const int end = clamp(place + CHUNK - n, (long)first, (long)nnz);
  const int count = end - first;
  if (id == 0) {
    fault = n > CHUNK;
    ends[min(n, CHUNK)] = count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (count > 0) {
    /* all loads come before the first use; beyond the last element it is
    ** taken again, for cells that nothing reads */
#pragma unroll
    for (int step = 0; step < ITEMS; step++) {
      const int at = id + step * WG, k = first + min(at, count - 1);
      const uint j = col_ind[k]; /* negative becomes huge */
      const REAL a = values[k] * x[min(j, (uint)cols - 1)];
      product[CELL(at)] = j < (uint)cols ? a : (REAL)NAN;
    }
  }
  for (int i = id; i < min(n, CHUNK); i += WG) {
    const int from = row_ptr[row + i], to = row_ptr[row + i + 1];
    if (from < (i == 0 ? 0 : first) || from > (i == 0 ? first : to)
        || to < first || to > end)
      atomic_or(&fault, 1);
    ends[i] = to - first;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id == 0)
    faults[g] = fault;
  if (fault) { /* for all work-items or for none */
    for (int i = row + id; i < row + n; i += WG)
      y[i] = sum_of(i, cols, nnz, row_ptr, col_ind, values, x);
    return;
  }

  const int at = min(id * ITEMS, n + count);
  int r, own = -1;
  ENDED(int, ends, n, count, at, r)
  int k = at - r, to = ends[r];
  REAL sum = 0, head = 0;
  for (int i = min(ITEMS, n + count - at); i > 0; i--)
    if (k < to) {
      sum += product[CELL(k)];
      k++;
    } else {
      if (own < 0) { /* may have begun before this work-item */
        own = r;
        head = sum;
      } else {
        y[row + r] = sum;
      }
      sum = 0;
      to = ends[++r];
    }
  carry[id] = sum;
  ended[id] = own >= 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (own >= 0) {
    for (int u = id - 1; u >= 0; u--) {
      head += carry[u];
      if (ended[u])
        break;
    }
    y[row + own] = head;
  }
  if (id == WG - 1) {
    for (int u = id - 1; u >= 0 && !ended[u + 1]; u--)
      sum += carry[u];
    tails[g] = sum;
  }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void join(int rows, int cols, int nnz, int groups,
          global const int *restrict row_ptr,
          global const int *restrict col_ind,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y,
          global const int *restrict starts,
          global const REAL *restrict tails,
          global const int *restrict faults)
{
  local REAL partial[WG];
  local int list[WG], longs;
  const int id = get_local_id(0), base = get_group_id(0) * WG, g = base + id;
  if (id == 0)
    longs = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (g < groups) {
    const int row = starts[g];
    if (row < starts[g + 1] && !faults[g]
        && row_ptr[row] < (long)g * CHUNK - row) {
      const long begin = (long)row_ptr[row] + row;
      const int from = begin / CHUNK;
      if (faults[from] || starts[from + 1] != row
          || (starts[from] == row && begin % CHUNK != 0))
        y[row] = sum_of(row, cols, nnz, row_ptr, col_ind, values, x);
      else if (g - from >= LONG)
        list[atomic_inc(&longs)] = id;
      else {
        REAL sum = 0;
        for (int h = from; h < g; h++)
          sum += tails[h];
        y[row] += sum;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q = 0; q < longs; q++) { /* in any order: each for itself */
    const int to = base + list[q], row = starts[to];
    REAL sum = 0;
    for (int h = (int)(((long)row_ptr[row] + row) / CHUNK) + id; h < to;
         h += WG)
      sum += tails[h];
    sum = meet(partial, id, WG, sum);
    if (id == 0)
      y[row] += sum;
    barrier(CLK_LOCAL_MEM_FENCE); /* partial is used */
  }
}
