/* sum_last_group.cl - a sum in one launch: the last group adds up
** SPDX-License-Identifier: MIT
**
** Task: sum.lua. Judged: RIGHT
** Teaches: halves, with a barrier at the end of each step. course "A8", "A9"
** (a lecture on tiled products). Groups do not wait for each other: each makes
** its sum seen by a fence, then counts itself, and whoever counts last finds
** all sums. Before it: sum_race.cl, and kernels/course/reduce.cl, which leaves
** the sums of the groups to the host.
*/
#define WG 64 /* work-items of a group, a power of two */

kernel void sum(global const int *x, global int *partial, global int *done,
                global int *total, int n)
{
  local int s[WG];
  const int i = get_local_id(0), at = get_global_id(0);
  s[i] = at < n ? x[at] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = WG / 2; k > 0; k /= 2) {
    if (i < k)
      s[i] += s[i + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i > 0)
    return;
  const int groups = get_num_groups(0);
  partial[get_group_id(0)] = s[0];
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  if (atomic_inc(done) < groups - 1)
    return;
  int sum = 0;
  for (int g = 0; g < groups; g++)
    sum += ((volatile global int *)partial)[g];
  total[0] = sum;
}
