/* clear.cl - no work-group has ended: the count of `one_launch` before
** SPDX-License-Identifier: MIT
**
** Arguments:
**   count  out: one element
** NDRange: a single work-item.
** Assumes nothing.
*/
kernel void clear(global int *count)
{
  *count = 0;
}
