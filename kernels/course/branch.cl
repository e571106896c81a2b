/* branch.cl - work-items that take one of two sides of a branch
** SPDX-License-Identifier: MIT
**
** x[i] = x[i] * 0.75 + 1, or x[i] * 0.5 + 2, `turns` times: the sides cost
** the same. Work-items in turns of `width` take the same side:
**
**    width = 1    i 0 1 2 3 ...      side 0 1 0 1 ...   all warps part
**    width = 64   i 0 .. 63, 64 ..   side 0 .. 0, 1 ..  no warp parts
**
** Arguments:
**   turns  times that a side's loop runs, >= 0
**   width  neighbours that take one side, >= 1
**   x      in, out: global size elements
** NDRange: one dimension, any local size.
**
** Lesson: a warp has one program counter. Where its lanes take different
** sides, it runs both, and each leaves the other's lanes idle.
*/
kernel void branch(int turns, int width, global float *restrict x)
{
  const int i = get_global_id(0);
  float v = x[i];
  if (i / width % 2 == 0)
    for (int t = 0; t < turns; t++)
      v = v * 0.75f + 1.0f;
  else
    for (int t = 0; t < turns; t++)
      v = v * 0.5f + 2.0f;
  x[i] = v;
}
