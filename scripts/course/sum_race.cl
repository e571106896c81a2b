/* sum_race.cl - a sum in one launch, with a barrier left out: mend it
** SPDX-License-Identifier: MIT
**
** Task: sum.lua. Judged: WRONG: race
** Teaches: a work-item reads sums that others wrote in the step before.
** course "A8" (a lecture on tiled products). After it: sum_last_group.cl.
*/
#define WG 64 /* work-items of a group */

kernel void sum(global const int *x, global int *partial, global int *done,
                global int *total, int n)
{
  local int s[WG];
  const int i = get_local_id(0), at = get_global_id(0);
  s[i] = at < n ? x[at] : 0;
  for (int k = WG / 2; k > 0; k /= 2) {
    if (i < k)
      s[i] += s[i + k];
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
