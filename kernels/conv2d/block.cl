/* block.cl - a block of sums of `simd`; simd.cl includes it for blocks of the
** image and for copies of blocks at its edges
** SPDX-License-Identifier: MIT
**
** Defines: NAME, the function's name; SPACE, the address space of a; and the
**   words of simd.cl, which this file includes where it is compiled alone.
*/
#ifndef NAME
#include "simd.cl"
#else

/* HEIGHT x WIDE elements of B, of which rows x cols exist. Their windows begin
** at a, which has `pitch` elements from one row to the next. */
static void NAME(SPACE const REAL *a, long pitch, local const REAL *weights,
                 global REAL *B, long ldb, long rows, long cols)
{
  VECTOR sums[HEIGHT][VECTORS];
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
#pragma unroll
    for (int x = 0; x < VECTORS; x++)
      sums[k][x] = (VECTOR)(0);
  }
  for (int v = 0; v < FCOLS; v++) {
#if FROWS <= SMALL
#pragma unroll
#endif
    for (int y = 0; y < HEIGHT + FROWS - 1; y++) {
      local const REAL *f = weights + y * FCOLS + v;
      VECTOR now[VECTORS];
#pragma unroll
      for (int x = 0; x < VECTORS; x++)
        now[x] = JOIN(vload, WIDTH)(x, a + y * pitch + v);
      if (y >= HEIGHT - 1 && y < FROWS)
        add(sums, now, f, 0, HEIGHT - 1);
      else
        add(sums, now, f, y - FROWS + 1, y);
    }
  }
  keep(sums, B, ldb, rows, cols);
}
#undef NAME
#undef SPACE
#endif
