/* register.cl - convolution, each work-item computes several elements
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** The tile in local memory is the tile of tiled.cl, HEIGHT times as high. A
** work-item computes HEIGHT elements below each other. For each column of F it
** goes down a column of the tile, with HEIGHT elements in registers; each step
** multiplies them by one element of F, and takes one more element:
**
**    u = 0   [a b c d] e f g       sums += F[0][v] * (a b c d)
**    u = 1    a [b c d e] f g      sums += F[1][v] * (b c d e)
**
** Arguments:
**   rows, cols    size of A and of B
**   frows, fcols  size of F
**   A    in:  rows x cols, row-major
**   lda  elements from one row of A to the next, >= cols
**   F    in:  frows x fcols, row-major
**   ldf  elements from one row of F to the next, >= fcols
**   B    out: rows x cols, row-major
**   ldb  elements from one row of B to the next, >= cols
** NDRange: two dimensions, global = {cols rounded up to LX, ceil(rows /
**   HEIGHT) rounded up to LY}, local = {LX, LY}.
** Local memory: (LX + FCOLS - 1) * (LY * HEIGHT + FROWS - 1) elements.
** Defines: REAL, LX, LY, HEIGHT, FROWS, FCOLS, UNROLL.
** Assumes: FROWS = frows, FCOLS = fcols; F with its gaps fits
**   CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE.
**
** Lesson, against `tiled`: one load of the tile and one of F for HEIGHT
** products, not two for each. With UNROLL, which makes it the rung
** `unrolled`, the steps of a column are written out, as the compiler knows
** FROWS: no counter, and no moves from register to register.
*/
#include "image.cl"
#ifndef LX
#define LX 32 /* work-group size along rows */
#endif
#ifndef LY
#define LY 8 /* rows of a work-group */
#endif
#ifndef HEIGHT
#define HEIGHT 4 /* elements of a work-item */
#endif
#ifndef FROWS
#define FROWS 7 /* rows of F */
#endif
#ifndef FCOLS
#define FCOLS 7 /* columns of F */
#endif
#ifndef UNROLL
#define UNROLL 1 /* 1: the compiler knows the rows of F */
#endif

#define TALL (LY * HEIGHT)

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            constant REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  local REAL tile[TALL + FROWS - 1][LX + FCOLS - 1];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const long i0 = get_group_id(1) * TALL, j0 = get_group_id(0) * LX;
  const long i = i0 + ty * HEIGHT, j = j0 + tx;
  REAL sums[HEIGHT], now[HEIGHT];
  for (int y = ty; y < TALL + FROWS - 1; y += LY)
    for (int x = tx; x < LX + FCOLS - 1; x += LX)
      tile[y][x] = pixel(A, rows, cols, lda, i0 + y - (FROWS - 1) / 2,
                         j0 + x - (FCOLS - 1) / 2);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int k = 0; k < HEIGHT; k++)
    sums[k] = 0;
  for (int v = 0; v < FCOLS; v++) {
#pragma unroll
    for (int k = 0; k < HEIGHT - 1; k++)
      now[k] = tile[ty * HEIGHT + k][tx + v];
#if UNROLL
#pragma unroll
    for (int u = 0; u < FROWS; u++) {
#else
    for (int u = 0; u < frows; u++) {
#endif
      const REAL f = F[u * ldf + v];
      now[HEIGHT - 1] = tile[ty * HEIGHT + HEIGHT - 1 + u][tx + v];
#pragma unroll
      for (int k = 0; k < HEIGHT; k++) {
        sums[k] += f * now[k];
        now[k] = now[k + 1 < HEIGHT ? k + 1 : k];
      }
    }
  }
#pragma unroll
  for (int k = 0; k < HEIGHT; k++)
    if (i + k < rows && j < cols)
      B[(i + k) * ldb + j] = sums[k];
}
