/* parts.cl - sums of parts of a product, which work-groups tell one another;
** the other files include it
** SPDX-License-Identifier: MIT
**
** With TOLD, work-groups in dimension 1 have parts of the same elements of the
** result: they tell their sums, and the work-group of the last part adds up.
** Defines: REAL, TOLD.
** Assumes, beside scan/told.cl: work-groups begin in the order of their
**   numbers.
*/
#ifndef TOLD
#define TOLD 0 /* 1: work-groups have parts of the product */
#endif
#if TOLD
#include "../scan/told.cl"
/* the size of a part; how many work-groups ended in all launches, then WORDS
** for each part of each element */
#define MORE , int size, volatile global ulong *state
#define BEGIN (get_group_id(1) * (size_t)size) /* of the part */
#define END(n) min(BEGIN + size, (size_t)(n))
#define PARTS get_num_groups(1)
#define GROUPS (get_num_groups(0) * PARTS)
/* the mark of this launch, as this work-group has not ended */
#define MARK (PARTS > 1 ? (uint)(state[0] / GROUPS) + 1 : 0)
#define ADD_PARTS(...) add_parts(state, __VA_ARGS__)

/* Tells the sums in the first `width` cells, of elements g, g + 1 ... of n.
** The work-group of the last part then has the sums over all parts there;
** returns whether it is this one. `count` work-items, a multiple of width,
** have a cell each. All pass all barriers, as not every driver can do with
** barriers of some work-groups alone. */
static bool add_parts(volatile global ulong *state, uint mark,
                      local REAL *cells, uint id, uint count, uint width,
                      size_t g, size_t n)
{
  const uint parts = PARTS, part = get_group_id(1);
  const uint p = id / width, step = count / width;
  const bool last = part + 1 == parts, exists = g + id % width < n;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (parts > 1 && id < width && exists)
    tell(state, part * n + g + id, mark, cells[id]);
  if (parts > 1 && id == 0)
    atom_inc(state);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (parts > 1 && last)
    cells[id] = ask_all(state, g + id % width + p * n, step * n, exists
      && p < parts ? (parts - p + step - 1) / step : 0, mark, 0);
  for (uint s = parts > 1 ? count / 2 : 0; s >= width; s /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s)
      cells[id] += cells[id + s];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return last;
}
#else
#define MORE
#define BEGIN 0
#define END(n) ((size_t)(n))
#define MARK 0
#define ADD_PARTS(mark, ...) ((mark) == 0)
#endif
