/* edge_inside.cl - neighbours change places, the barrier inside of the test
** SPDX-License-Identifier: MIT
**
** Task: edge.lua. Judged: WRONG: divergent
** Teaches: a test around the barrier keeps work-items from it, and all must
** reach it. course "A10" (a lecture on tiled products). After it:
** kernels/course/edge.cl.
*/
kernel void neighbour(int n, global const float *x, global float *y)
{
  local float s[64];
  const int i = get_global_id(0), at = get_local_id(0);
  if (i < n) {
    s[at] = x[i];
    if ((i ^ 1) >= n)
      s[at ^ 1] = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = s[at ^ 1];
  }
}
