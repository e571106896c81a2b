/* vector.cl - convolution, each work-item computes a block of elements
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-item computes HEIGHT x WIDTH elements. It goes down the tile in local
** memory, takes as much of each row as the windows of its WIDTH columns reach,
** in vectors, and has it in registers for all elements that need it: for the
** HEIGHT rows of sums, and for the columns of F, each time one further:
**
**    row     a b c d e f       sums[k] += F[u][0] * (a b c d)
**                                       + F[u][1] * (b c d e)
**                                       + F[u][2] * (c d e f)
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
** NDRange: two dimensions, global = {ceil(cols / WIDTH) rounded up to LX,
**   ceil(rows / HEIGHT) rounded up to LY}, local = {LX, LY}.
** Local memory: (LX * WIDTH + FCOLS - 1, rounded up to WIDTH)
**   * (LY * HEIGHT + FROWS - 1) elements.
** Defines: REAL, LX, LY, WIDTH, HEIGHT, FROWS, FCOLS, UNROLL.
** Assumes: FROWS = frows, FCOLS = fcols; WIDTH is 4 or 8; F with its gaps fits
**   CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE.
**
** Lesson, against `unrolled`: a row of the tile, (WIDTH + FCOLS - 1) elements
** in loads of WIDTH, serves HEIGHT * WIDTH * FCOLS products, so local memory
** is no longer the limit. With UNROLL the rows of F are written out too; large
** filters then make long programs, which take long to compile and leave the
** cache of instructions.
*/
#include "image.cl"
#ifndef LX
#define LX 16 /* work-group size along rows */
#endif
#ifndef LY
#define LY 8 /* work-group size along columns */
#endif
#ifndef WIDTH
#define WIDTH 4 /* columns of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 4 /* rows of a work-item */
#endif
#ifndef FROWS
#define FROWS 7 /* rows of F */
#endif
#ifndef FCOLS
#define FCOLS 7 /* columns of F */
#endif
#ifndef UNROLL
#define UNROLL 1 /* 1: the rows of F are written out */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define TALL (LY * HEIGHT)
#define PARTS ((WIDTH + FCOLS - 2) / WIDTH + 1) /* vectors of a row */
#define WIDE (LX + PARTS - 1)

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            constant REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  local VECTOR tile[TALL + FROWS - 1][WIDE];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const long i0 = get_group_id(1) * TALL, j0 = get_group_id(0) * LX * WIDTH;
  const long i = i0 + ty * HEIGHT, j = j0 + tx * WIDTH;
  REAL sums[HEIGHT][WIDTH];
  for (int y = ty; y < TALL + FROWS - 1; y += LY)
    for (int x = tx; x < WIDE * WIDTH; x += LX)
      ((local REAL *)tile[y])[x] =
          pixel(A, rows, cols, lda, i0 + y - (FROWS - 1) / 2,
                j0 + x - (FCOLS - 1) / 2);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int k = 0; k < HEIGHT; k++)
#pragma unroll
    for (int x = 0; x < WIDTH; x++)
      sums[k][x] = 0;
#if UNROLL
#pragma unroll
#endif
  for (int y = 0; y < HEIGHT + FROWS - 1; y++) {
    REAL row[PARTS * WIDTH];
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      JOIN(vstore, WIDTH)(tile[ty * HEIGHT + y][tx + part], part, row);
#pragma unroll
    for (int k = 0; k < HEIGHT; k++) {
      const int u = y - k;
      if (u >= 0 && u < FROWS) {
#pragma unroll
        for (int v = 0; v < FCOLS; v++) {
          const REAL f = F[u * ldf + v];
#pragma unroll
          for (int x = 0; x < WIDTH; x++)
            sums[k][x] += f * row[v + x];
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
    global REAL *b = B + (i + k) * ldb + j;
    if (i + k < rows && j + WIDTH <= cols) {
      JOIN(vstore, WIDTH)(JOIN(vload, WIDTH)(0, sums[k]), 0, b);
    } else if (i + k < rows) {
#pragma unroll
      for (int x = 0; x < WIDTH; x++)
        if (j + x < cols)
          b[x] = sums[k][x];
    }
  }
}
