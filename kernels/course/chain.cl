/* chain.cl - work-items that wait for memory: each load tells the next
** SPDX-License-Identifier: MIT
**
** at = i; `steps` times at = next[at]; out[i] = at + a cell of local memory.
**
** Arguments:
**   steps  loads of a work-item, >= 0
**   next   in: indices into next; at least global size elements
**   out    out: global size elements
** NDRange: one dimension, local size <= 64.
** Local memory: ROOM ints, so that it limits the work-groups of a unit.
** Defines: ROOM.
**
** Lesson: a load takes hundreds of cycles, and a work-item that needs it can
** do nothing meanwhile. Other work-items can, if enough share the unit.
*/
#ifndef ROOM
#define ROOM 64 /* ints of local memory, >= 64 */
#endif

kernel void chain(int steps, global const int *restrict next,
                  global int *restrict out)
{
  local int room[ROOM];
  int at = get_global_id(0);
  room[get_local_id(0)] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < steps; i++)
    at = next[at];
  out[get_global_id(0)] = at + room[at & 63 & (get_local_size(0) - 1)];
}
