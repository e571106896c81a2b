/* stencil_tiled.cl - the mean of five points, by tiles with a border
** SPDX-License-Identifier: MIT
**
** Task: stencil.lua. Judged: RIGHT
** Teaches: a group of 8 x 8 fetches 10 x 10 points and not 5 times 64; the
** loads are guarded, and all work-items come to the barrier. course "A4",
** "A10", "A12" (a lecture on tiled products). Before it: stencil_naive.cl.
*/
#define T 8       /* side of a tile, and of the work-group */
#define S (T + 2) /* with its border */

kernel void stencil(global const float *x, global float *y, int n)
{
  local float s[S][S];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  for (int i = ly * T + lx; i < S * S; i += T * T) {
    const int r = row - ly + i / S - 1, c = col - lx + i % S - 1;
    s[i / S][i % S] = r >= 0 && r < n && c >= 0 && c < n ? x[r * n + c] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (row < n && col < n)
    y[row * n + col] = (s[ly + 1][lx + 1] + s[ly + 1][lx] + s[ly + 1][lx + 2]
                        + s[ly][lx + 1] + s[ly + 2][lx + 1]) / 5.0f;
}
