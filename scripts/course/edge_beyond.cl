/* edge_beyond.cl - neighbours change places, no test for the edge: mend it
** SPDX-License-Identifier: MIT
**
** Task: edge.lua. Judged: WRONG: outside
** Teaches: the global size is n rounded up, so that the last group stores
** beyond the edge. course "A11" (a lecture on tiled products), "B23" (course
** notes on GPUs). After it: kernels/course/edge.cl.
*/
kernel void neighbour(int n, global const float *x, global float *y)
{
  local float s[64];
  const int i = get_global_id(0), at = get_local_id(0);
  s[at] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[at ^ 1];
}
