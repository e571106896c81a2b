/* simd.cl - convolution for CPUs, blocks of rows
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-item computes TALL rows of SPAN columns. It copies what their windows
** reach to local memory, with 0 for what lies outside A, and then goes through
** blocks of HEIGHT rows and VECTORS vectors. A vector of a row, which begins v
** elements further for column v of F, is multiplied for all rows of the block
** that need it.
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
** NDRange: two dimensions, global = {ceil(cols / SPAN), ceil(rows / TALL)},
**   local = {1, 1}.
** Local memory: (SPAN + FCOLS - 1) * (TALL + FROWS - 1) elements.
** Defines: REAL, SPAN, TALL, HEIGHT, VECTORS, WIDTH, FROWS, FCOLS.
** Assumes: FROWS = frows, FCOLS = fcols; HEIGHT divides TALL, VECTORS * WIDTH
**   divides SPAN; WIDTH is 4, 8 or 16.
**
** Lesson, against `naive`: the copy stays in the cache and has no edges. The
** sums are long vectors in registers, as many as it takes to keep
** multiplications going while earlier ones are under way. A core loads no
** faster than it multiplies, so each load serves HEIGHT products.
*/
#include "image.cl"
#ifndef SPAN
#define SPAN 256 /* columns of a work-item */
#endif
#ifndef TALL
#define TALL 16 /* rows of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 4 /* rows side by side */
#endif
#ifndef VECTORS
#define VECTORS 2 /* vectors side by side */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#ifndef FROWS
#define FROWS 7 /* rows of F */
#endif
#ifndef FCOLS
#define FCOLS 7 /* columns of F */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define WIDE (VECTORS * WIDTH)
#define PITCH (SPAN + FCOLS - 1)
#ifndef SMALL
#define SMALL 8 /* rows of a filter that are written out */
#endif

/* adds a row of the tile, times the column of F that ends at f, to rows first
** .. last of a block */
static void add(VECTOR sums[HEIGHT][VECTORS], local const REAL *a,
                global const REAL *f, int ldf, int first, int last)
{
  VECTOR now[VECTORS];
#pragma unroll
  for (int x = 0; x < VECTORS; x++)
    now[x] = JOIN(vload, WIDTH)(x, a);
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
    if (k >= first && k <= last) {
      const VECTOR weight = (VECTOR)(f[-k * (long)ldf]);
#pragma unroll
      for (int x = 0; x < VECTORS; x++)
        sums[k][x] += weight * now[x];
    }
  }
}

/* HEIGHT x WIDE elements, of which rows x cols exist, from a tile */
static void block(local const REAL *tile, global const REAL *F, int ldf,
                  global REAL *B, int ldb, long rows, long cols)
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
      global const REAL *f = F + y * (long)ldf + v;
      if (y >= HEIGHT - 1 && y < FROWS)
        add(sums, tile + y * PITCH + v, f, ldf, 0, HEIGHT - 1);
      else
        add(sums, tile + y * PITCH + v, f, ldf, y - FROWS + 1, y);
    }
  }
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
#pragma unroll
    for (int x = 0; x < VECTORS; x++) {
      global REAL *b = B + k * (long)ldb + x * WIDTH;
      if (k < rows && (x + 1) * WIDTH <= cols) {
        JOIN(vstore, WIDTH)(sums[k][x], 0, b);
      } else if (k < rows) {
        REAL part[WIDTH];
        JOIN(vstore, WIDTH)(sums[k][x], 0, part);
        for (int n = 0; x * WIDTH + n < cols; n++)
          b[n] = part[n];
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            global const REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  local REAL tile[(TALL + FROWS - 1) * PITCH];
  const long j0 = get_group_id(0) * SPAN, i0 = get_group_id(1) * TALL;
  const long n = min((long)SPAN, cols - j0), m = min((long)TALL, rows - i0);
  const long left = j0 - (FCOLS - 1) / 2, up = i0 - (FROWS - 1) / 2;
  const long lo = clamp(-left, 0L, (long)PITCH); /* columns inside A */
  const long hi = clamp(cols - left, lo, (long)PITCH);
  for (long y = 0; y < TALL + FROWS - 1; y++) {
    local REAL *row = tile + y * PITCH;
    global const REAL *a = A + (up + y) * lda + left;
    const long first = up + y >= 0 && up + y < rows ? lo : hi;
    for (long x = 0; x < first; x++)
      row[x] = 0;
    for (long x = first; x < hi; x++)
      row[x] = a[x];
    for (long x = hi; x < PITCH; x++)
      row[x] = 0;
  }
  for (long i = 0; i < m; i += HEIGHT)
    for (long j = 0; j < n; j += WIDE)
      block(tile + i * PITCH + j, F, ldf, B + (i0 + i) * ldb + j0 + j, ldb,
            m - i, n - j);
}
