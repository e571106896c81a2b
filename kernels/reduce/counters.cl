/* counters.cl - sets the counters of kernels whose last work-group does more
** to 0: no work-group has ended
** SPDX-License-Identifier: MIT
**
** Arguments:
**   counters  out: vector
** NDRange: one dimension, global = elements, any local size.
** Assumes nothing.
*/
kernel void clear(global int *counters)
{
  counters[get_global_id(0)] = 0;
}
