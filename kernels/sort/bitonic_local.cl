/* bitonic_local.cl - sort, the short steps in local memory
** SPDX-License-Identifier: MIT
**
** The steps of bitonic.cl. Pieces of 2 WG elements are sorted by one
** work-group. Of the longer pieces, `exchange` of bitonic.cl does the steps of
** 2 WG and more, and `merge` all shorter steps at once.
**
** Arguments of sort:
**   n      elements of x and of y
**   x      in:  vector
**   y      out: vector
**   index  out: with INDEX the places of the elements, from 1
** Arguments of merge:
**   n      elements of y
**   y      in, out: vector
**   index  in, out: with INDEX
** NDRange of both: one dimension, global = n / 2 rounded up to WG, local = WG.
** Local memory: 2 WG elements, with INDEX 2 WG uint more.
** Defines: WG (a power of two), the words of key.cl.
** Assumes nothing.
**
** Lesson, against `bitonic`: with WG = 256 a work-group does 45 steps between
** one load and one store, and each of the longer pieces saves 9 more.
*/
#include "key.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif

/* One step of a piece of 2 WG ranks. */
static void exchange(local KEY *ranks WITH(local uint *places), uint i, uint j)
{
  barrier(CLK_LOCAL_MEM_FENCE);
  const KEY a = ranks[i], b = ranks[j];
  uint ia = 0, ib = 0;
  ALSO(ia = places[i]; ib = places[j]);
  if (b < a || (a == b && ib < ia)) {
    ranks[i] = b;
    ranks[j] = a;
    ALSO(places[i] = ib; places[j] = ia);
  }
}

/* Puts the ranks of a piece in order, whose two halves rise and fall as one:
** steps of WG and below. */
static void merge_piece(local KEY *ranks WITH(local uint *places), uint most)
{
  const uint id = get_local_id(0);
  for (uint s = most; s > 0; s /= 2) {
    const uint i = 2 * id - (id & (s - 1));
    exchange(ranks WITH(places), i, i + s);
  }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void sort(int n, global const REAL *restrict x,
          global REAL *restrict y WITH(global uint *restrict index))
{
  local KEY ranks[2 * WG];
  ALSO(local uint places[2 * WG]);
  const uint id = get_local_id(0);
  const size_t first = get_group_id(0) * (2 * WG);
  for (uint k = id; k < 2 * WG; k += WG) {
    const size_t i = first + k;
    ranks[k] = i < (size_t)n ? rank_of(((global const KEY *)x)[i]) : ALL;
    ALSO(places[k] = i + 1);
  }
  for (uint side = 1; side <= WG; side *= 2) {
    const uint at = 2 * (id & ~(side - 1)), inside = id & (side - 1);
    exchange(ranks WITH(places), at + inside, at + 2 * side - 1 - inside);
    merge_piece(ranks WITH(places), side / 2);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < 2 * WG; k += WG)
    if (first + k < (size_t)n) {
      ((global KEY *)y)[first + k] = bits_of(ranks[k]);
      ALSO(index[first + k] = places[k]);
    }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void merge(int n, global REAL *restrict y WITH(global uint *restrict index))
{
  local KEY ranks[2 * WG];
  ALSO(local uint places[2 * WG]);
  const uint id = get_local_id(0);
  const size_t first = get_group_id(0) * (2 * WG);
  for (uint k = id; k < 2 * WG; k += WG) {
    const size_t i = first + k;
    ranks[k] = i < (size_t)n ? rank_of(((global KEY *)y)[i]) : ALL;
    ALSO(places[k] = i < (size_t)n ? index[i] : (uint)-1);
  }
  merge_piece(ranks WITH(places), WG);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < 2 * WG; k += WG)
    if (first + k < (size_t)n) {
      ((global KEY *)y)[first + k] = bits_of(ranks[k]);
      ALSO(index[first + k] = places[k]);
    }
}
