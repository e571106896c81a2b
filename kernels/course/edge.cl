/* edge.cl - a size that is no multiple of the work-group, in three ways
** SPDX-License-Identifier: MIT
**
** y[i] = the x of the neighbour i ^ 1 (0 beyond the end), by local memory,
** for i < n.
**
**    TEST = 0   around nothing: work-items behind the end load and store too
**    TEST = 1   around all: `if (i < n)` has the barrier inside
**    TEST = 2   around the load and the store; all come to the barrier
**
** Arguments:
**   n  elements, >= 1
**   x  in: n elements
**   y  out: n elements
** NDRange: one dimension, global = n rounded up to a multiple of WG, local =
** WG.
** Local memory: WG elements.
** Defines: WG, TEST.
** Assumes: WG is even.
**
** Lesson: the last group has work-items behind the end. They must neither load
** nor store there, and must come to the barrier all the same.
*/
#ifndef WG
#define WG 64 /* work-group size, even */
#endif
#ifndef TEST
#define TEST 2 /* 0: no test; 1: around all; 2: around the accesses */
#endif

#if TEST == 1
#define AROUND_ALL if (i < n)
#else
#define AROUND_ALL
#endif
#if TEST == 2
#define INSIDE (i < n)
#else
#define INSIDE 1
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void neighbour(int n, global const float *restrict x,
               global float *restrict y)
{
  local float s[WG];
  const int i = get_global_id(0), at = get_local_id(0);
  AROUND_ALL {
    s[at] = INSIDE ? x[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (INSIDE)
      y[i] = s[at ^ 1];
  }
}
