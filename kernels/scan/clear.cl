/* clear.cl - clears the words that work-groups tell one another, see told.cl
** SPDX-License-Identifier: MIT
**
** Arguments:
**   n      words
**   state  out: vector
** NDRange: one dimension, global = n, any local size.
** Assumes nothing.
*/
kernel void clear(int n, global ulong *state)
{
  if (get_global_id(0) < (size_t)n)
    state[get_global_id(0)] = 0;
}
