/* simd.cl - convolution for CPUs, blocks of rows
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-item computes TALL rows of SPAN columns, in blocks of HEIGHT rows and
** VECTORS vectors. A vector of a row, which begins v elements further for
** column v of F, is multiplied for all rows of the block that need it. Windows
** that reach over an edge of A are copied to local memory first, with 0 for
** elements outside A.
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
** Local memory: (VECTORS * WIDTH + FCOLS - 1) * (HEIGHT + FROWS - 1)
**   + FROWS * FCOLS elements.
** Defines: REAL, SPAN, TALL, HEIGHT, VECTORS, WIDTH, STREAM, FROWS, FCOLS.
** Assumes: FROWS = frows, FCOLS = fcols; WIDTH is 4, 8 or 16; for speed only,
**   that HEIGHT divides TALL, VECTORS * WIDTH divides SPAN, and rows of B
**   begin at multiples of a vector.
**
** Lesson, against `naive`: the sums are long vectors in registers, enough of
** them to keep multiplications going while earlier ones are under way. A core
** loads no faster than it multiplies, so each load serves HEIGHT products.
** Rows below are asked for meanwhile. Stores past the cache (STREAM) do not
** fetch their lines first.
*/
#include "image.cl"
#ifndef SPAN
#define SPAN 1024 /* columns of a work-item */
#endif
#ifndef TALL
#define TALL 64 /* rows of a work-item */
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
#ifndef STREAM
#define STREAM 1 /* 1: B goes past the cache */
#endif
#include "../cache/lines.cl"
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
#define PITCH (WIDE + FCOLS - 1) /* of a copy */
#ifndef SMALL
#define SMALL 8 /* rows of a filter that are written out */
#endif
#define LINE (64 / (int)sizeof(REAL)) /* elements of a cache line */
#if FROWS <= 3 /* more rows crowd the first cache */
#define ASK_ROW ASK
#else
#define ASK_ROW ASK_SECOND
#endif

/* adds vectors of a row, times the column of weights that ends at f, to rows
** first .. last of a block */
static void add(VECTOR sums[HEIGHT][VECTORS], const VECTOR now[VECTORS],
                local const REAL *f, int first, int last)
{
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
    if (k >= first && k <= last) {
      const VECTOR weight = (VECTOR)(f[-k * FCOLS]);
#pragma unroll
      for (int x = 0; x < VECTORS; x++)
        sums[k][x] += weight * now[x];
    }
  }
}

/* writes a block, of which rows x cols exist, to B */
static void keep(VECTOR sums[HEIGHT][VECTORS], global REAL *B, long ldb,
                 long rows, long cols)
{
  const bool aligned = (uintptr_t)B % sizeof(VECTOR) == 0 && ldb % WIDTH == 0;
#pragma unroll
  for (int k = 0; k < HEIGHT; k++) {
#pragma unroll
    for (int x = 0; x < VECTORS; x++) {
      global REAL *b = B + k * ldb + x * WIDTH;
      if (k < rows && (x + 1) * WIDTH <= cols && aligned) {
        PASS(sums[k][x], (global VECTOR *)b);
      } else if (k < rows && (x + 1) * WIDTH <= cols) {
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

#define NAME image_block
#define SPACE global
#include "block.cl"
#define NAME copy_block
#define SPACE local
#include "block.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            global const REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  local REAL copy[(HEIGHT + FROWS - 1) * PITCH], weights[FROWS * FCOLS];
  const long j0 = get_group_id(0) * SPAN, i0 = get_group_id(1) * TALL;
  const long j1 = min(j0 + SPAN, (long)cols), i1 = min(i0 + TALL, (long)rows);
  for (int u = 0; u < FROWS; u++)
    for (int v = 0; v < FCOLS; v++)
      weights[u * FCOLS + v] = F[u * (long)ldf + v];
  for (long i = i0; i < i1; i += HEIGHT)
    for (long j = j0; j < j1; j += WIDE) {
      const long up = i - (FROWS - 1) / 2, left = j - (FCOLS - 1) / 2;
      global const REAL *a = A + up * lda + left;
      global REAL *b = B + i * ldb + j;
      if (up >= 0 && up + HEIGHT + FROWS - 1 <= rows && left >= 0
          && left + PITCH <= cols) {
#pragma unroll
        for (int y = FROWS - 1; y < HEIGHT + FROWS - 1; y++)
          for (int x = 0; x < WIDE; x += LINE)
            ASK_ROW(a + (HEIGHT + y) * (long)lda + x);
        image_block(a, lda, weights, b, ldb, i1 - i, j1 - j);
      } else {
        const int lo = clamp(-left, 0L, (long)PITCH); /* columns inside A */
        const int hi = clamp(cols - left, (long)lo, (long)PITCH);
        for (int y = 0; y < HEIGHT + FROWS - 1; y++) {
          local REAL *row = copy + y * PITCH;
          const int first = up + y >= 0 && up + y < rows ? lo : hi;
          for (int x = 0; x < first; x++)
            row[x] = 0;
          for (int x = first; x < hi; x++)
            row[x] = a[y * (long)lda + x];
          for (int x = hi; x < PITCH; x++)
            row[x] = 0;
        }
        copy_block(copy, PITCH, weights, b, ldb, i1 - i, j1 - j);
      }
    }
}
