/* reduce.cl - the sum of each work-group's elements, in local memory
** SPDX-License-Identifier: MIT
**
** out[g] = the sum of x over the work-group g.
**
**    PAIRS = 0   s[i] += s[i + k], k = WG/2, WG/4 .. 1, for i < k
**    PAIRS = 1   s[i] += s[i + k], k = 1, 2 .. WG/2, for i % (2 k) == 0
**
** Arguments:
**   x    in: global size elements
**   out  out: an element for each work-group
** NDRange: one dimension, local = WG.
** Local memory: WG elements.
** Defines: WG, PAIRS, BARRIER, SIZE.
** Assumes: WG is a power of two.
**
** Lesson: a work-item reads sums that others wrote in the step before, so all
** work-items must have come to the end of the step: BARRIER = 0 is a race. And
** in pairs each warp parts at the branch until its last lane is alone.
**
** PoCL 3.1 compiles PAIRS = 1 wrongly: the sum is x of work-item 0 alone. With
** a constant SIZE it is right.
*/
#ifndef WG
#define WG 64 /* work-group size, a power of two */
#endif
#ifndef PAIRS
#define PAIRS 0 /* 1: neighbouring pairs first, as texts begin */
#endif
#ifndef SIZE
#define SIZE get_local_size(0) /* or WG: the end of the loop of PAIRS */
#endif
#ifndef BARRIER
#define BARRIER 1 /* 0: no barrier between the steps, a race */
#endif

#if BARRIER
#define STEP_ENDS barrier(CLK_LOCAL_MEM_FENCE)
#else
#define STEP_ENDS
#endif

kernel void reduce(global const float *restrict x,
                   global float *restrict out)
{
  local float s[WG];
  const int i = get_local_id(0);
  s[i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
#if PAIRS
  for (int k = 1; k < SIZE; k *= 2) {
    if (i % (2 * k) == 0)
      s[i] += s[i + k];
    STEP_ENDS;
  }
#else
  for (int k = WG / 2; k > 0; k /= 2) {
    if (i < k)
      s[i] += s[i + k];
    STEP_ENDS;
  }
#endif
  if (i == 0)
    out[get_group_id(0)] = s[0];
}
