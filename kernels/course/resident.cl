/* resident.cl - how many work-groups are under way at the same time
** SPDX-License-Identifier: MIT
**
** Each work-group counts itself in state[0] while it runs; state[1] is the
** greatest count.
**
** Arguments:
**   turns  turns of a loop that keeps a work-group busy, >= 0
**   state  in, out: 2 elements, zero at first
**   out    out: global size elements
** NDRange: one dimension, local size <= 64.
** Local memory: ROOM ints, so that it limits the work-groups of a unit.
** Defines: ROOM.
**
** Lesson: the work-groups of a launch take turns on the compute units. As many
** share a unit as its registers and local memory hold.
*/
#ifndef ROOM
#define ROOM 64 /* ints of local memory, >= 64 */
#endif

kernel void resident(int turns, global volatile int *state,
                     global int *restrict out)
{
  local int room[ROOM];
  const int i = get_global_id(0), at = get_local_id(0);
  if (at == 0)
    atomic_max(&state[1], atomic_inc(&state[0]) + 1);
  room[at] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  int v = room[get_local_size(0) - 1 - at];
  for (int t = 0; t < turns; t++)
    v = v * 1664525 + 1013904223;
  out[i] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (at == 0)
    atomic_dec(&state[0]);
}
