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
** A work-group takes CHUNK items, whatever the lengths of rows: empty rows
** cost work, too, and a row of any length is cut (merge-based CSR of Merrill
** and Garland). A work-item has ITEMS elements in registers, from a multiple
** of four on, and a mark for each that is the last of its row; it adds up to
** the marks, and what is left goes to the next mark. The sum of an unfinished
** row is a tail; `join` adds the tails of earlier groups to a row that ends in
** a later one.
**
** Arguments:
**   rows, cols, nnz, row_ptr, col_ind, values, x, y  as in csr_scalar.cl
**   groups   parts of CHUNK items
**   starts   out of `starts`, then in: groups + 1 ints, the row of each
**            group's first item; the last is rows
**   tails    the sum of the row that goes on behind each group
**   links    for each group, the group where its first row begins, if that is
**            another one, else -1; -2 if its rows are not where `starts` has
**            them
** NDRange: one dimension. starts: one work-item for each of starts; spmv:
**   groups * WG, local = WG; join: groups rounded up to WG, local = WG.
** Local memory: spmv WG ITEMS ushorts, WG elements and WG + 1 ints (where NV
**   is 1, WG / 32 of both); join WG elements and WG + 1 ints.
** Defines: REAL, WG, ITEMS, NV (see quads.cl).
** Assumes: WG is a power of two, at least 32 where NV is 1. row_ptr is checked
** row by row: a group where it does not ascend, or was written since `starts`
** ran, takes its rows as csr_scalar does.
**
** Lesson, against `csr_vector`: no row that others wait for and no lane
** without work: the time follows the numbers of elements and of rows, not
** their lengths; a binary search finds where a part begins. Rows of about one
** length have no need of it: there `csr_vector` is as fast in one launch.
** Sums have one order: the same bits each time. On an H100, rmat of 48
** entries a row, as parts of cuSPARSE's rate: products that wait in local
** memory 0.76, in registers 0.84, tails passed by shuffles, not one by one,
** 1.07, and elements that leave the first cache to x 1.13.
*/
#include "quads.cl"
#include "meet.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef ITEMS
#define ITEMS 4 /* of a work-item, a multiple of 4 */
#endif
#define CHUNK (WG * ITEMS - 4) /* elements begin at a multiple of 4 */
#define QUADS (ITEMS / 4)
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
          global int *restrict links)
{
  local ushort4 marks[WG * QUADS];
  local ushort *mark = (local ushort *)marks;
  local int fault;
  const int id = get_local_id(0), g = get_group_id(0);
  const int row = starts[g], n = max(starts[g + 1] - row, 0);
  const long place = (long)g * CHUNK - row;
  const int first = clamp(place, (long)0, (long)nnz);
  const int end = clamp(place + CHUNK - n, (long)first, (long)nnz);
  const uint base = first / 4 * 4;
  int link = -1;
  REAL4 p[QUADS];
#pragma unroll
  for (int q = 0; q < QUADS; q++) {
    marks[id + q * WG] = 0;
    p[q] = products(base + (id * QUADS + q) * 4, first, end, cols, nnz,
                    col_ind, values, x);
  }
  if (id == 0)
    fault = n > CHUNK;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = id; i < min(n, CHUNK); i += WG) {
    const int from = row_ptr[row + i], to = row_ptr[row + i + 1];
    if (from < (i == 0 ? 0 : first) || from > (i == 0 ? first : to)
        || to < first || to > end)
      atomic_or(&fault, 1);
    else if (to > max(from, first))
      mark[to - 1 - base] = i + 1;
    else
      y[row + i] = 0;
    if (i == 0 && from < first)
      link = ((long)from + row) / CHUNK;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id == 0)
    links[g] = fault ? -2 : link;
  if (fault) { /* for all work-items or for none */
    for (int i = row + id; i < row + n; i += WG)
      y[i] = sum_of(i, cols, nnz, row_ptr, col_ind, values, x);
    return;
  }

  int own = -1; /* the first row that ends in this work-item */
  REAL sum = 0, head = 0;
#define TAKE(c)                                                              \
  sum += p[q].c;                                                             \
  if (m.c) {                                                                 \
    if (own < 0) { /* may have begun before this work-item */                \
      own = m.c - 1;                                                         \
      head = sum;                                                            \
    } else {                                                                 \
      y[row + m.c - 1] = sum;                                                \
    }                                                                        \
    sum = 0;                                                                 \
  }
#pragma unroll
  for (int q = 0; q < QUADS; q++) {
    const ushort4 m = marks[id * QUADS + q];
    TAKE(x) TAKE(y) TAKE(z) TAKE(w)
  }

#if NV
  /* tails come from lanes down to `reach` below, then from earlier warps */
  local REAL carry[WG / 32];
  local int ended[WG / 32];
  const uint lane = id % 32, warp = id / 32;
  uint ends;
  __asm__ volatile("{.reg .pred q; setp.ge.s32 q, %1, 0; "
                   "vote.sync.ballot.b32 %0, q, -1;}" : "=r"(ends) : "r"(own));
  const uint before = ends & ((1u << lane) - 1);
  const uint reach = own >= 0 ? 0 : before ? lane - (31 - clz(before)) : lane;
#pragma unroll
  for (uint d = 1; d < 32; d *= 2) {
    const REAL other = of_lane(sum, lane - d);
    if (d <= reach)
      sum = other + sum;
  }
  const REAL carried = of_lane(sum, lane - 1);
  if (lane > 0)
    head += carried;
  if (lane == 31) {
    carry[warp] = sum;
    ended[warp] = ends != 0;
  }
  const int u_head = before ? -1 : (int)warp - 1;
  const int u_tail = ends ? -1 : (int)warp - 1;
#else
  local REAL carry[WG];
  local int ended[WG];
  carry[id] = sum;
  ended[id] = own >= 0;
  const int u_head = id - 1, u_tail = own >= 0 ? -1 : id - 1;
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
#define COLLECT(sum, from)                                                   \
  for (int u = from; u >= 0; u--) {                                          \
    sum += carry[u];                                                         \
    if (ended[u])                                                            \
      break;                                                                 \
  }
  if (own >= 0) {
    COLLECT(head, u_head)
    y[row + own] = head;
  }
  if (id == WG - 1) {
    COLLECT(sum, u_tail)
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
          global const int *restrict links)
{
  local REAL partial[WG];
  local int list[WG], longs;
  const int id = get_local_id(0), base = get_group_id(0) * WG, g = base + id;
  if (id == 0)
    longs = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int from = g < groups ? links[g] : -1;
  if (from >= 0) { /* loads that do not wait for one another */
    const int row = starts[g], at = starts[from], next = starts[from + 1];
    const int link = links[from], begin = row_ptr[row];
    REAL sum = tails[from];
    if (link == -2 || next != row
        || (at == row && ((long)begin + row) % CHUNK != 0)) {
      y[row] = sum_of(row, cols, nnz, row_ptr, col_ind, values, x);
    } else if (g - from >= LONG) {
      list[atomic_inc(&longs)] = id;
    } else {
      for (int h = from + 1; h < g; h++)
        sum += tails[h];
      y[row] += sum;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q = 0; q < longs; q++) { /* in any order: each for itself */
    const int to = base + list[q], row = starts[to];
    REAL sum = 0;
    for (int h = links[to] + id; h < to; h += WG)
      sum += tails[h];
    sum = meet(partial, id, WG, sum);
    if (id == 0)
      y[row] += sum;
    barrier(CLK_LOCAL_MEM_FENCE); /* partial is used */
  }
}
