/* stencil_start.cl - the mean of five points: complete it
** SPDX-License-Identifier: MIT
**
** Task: stencil.lua. Judged: WRONG: never written
** Teaches: points at the edge need care. course "A4" (a lecture on tiled
** products). After it: stencil_naive.cl.
*/
kernel void stencil(global const float *x, global float *y, int n)
{
  const int col = get_global_id(0), row = get_global_id(1);
  if (row > 0 && row < n - 1 && col > 0 && col < n - 1) { /* and the edge? */
    const int i = row * n + col;
    y[i] = (x[i] + x[i - 1] + x[i + 1] + x[i - n] + x[i + n]) / 5.0f;
  }
}
