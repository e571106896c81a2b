/* meet.cl - the steps of a work-group in local memory, whose work-items have
** one value each
** SPDX-License-Identifier: MIT
**
** Defines: as op.cl, WG, a power of two. */
#include "op.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif

/* The cells of `part` are combined into the first cell. */
#define MEET(part, id)                                \
  for (uint s_ = WG / 2; s_ > 0; s_ /= 2) {           \
    barrier(CLK_LOCAL_MEM_FENCE);                     \
    if (id < s_)                                      \
      part[id] = COMBINE(part[id], part[id + s_]);    \
  }
