/* slide.cl - convolution without local memory, rows go through registers
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-item computes HEIGHT x WIDTH elements. It goes down the rows of A and
** takes of each the vectors that the windows of its columns reach, straight
** from global memory. A row is added to all sums that need it, at most FROWS
** rows of them, of which the uppermost is then complete and stored:
**
**    A   p q r s | a b c d | t u v w     for FCOLS = 3 and WIDTH = 4
**
**    sums[k] += F[u][0] * (s a b c) + F[u][1] * (a b c d)
**             + F[u][2] * (b c d t)
**
** All is written out, so F, the rows and the sums are in registers; the loads
** of a row are under way while the row before is added. At the edges of A, and
** everywhere if lda, ldb or a base address is no multiple of a vector, loads
** and stores are of elements.
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
** Defines: REAL, LX, LY, WIDTH, HEIGHT, FROWS, FCOLS.
** Assumes: FROWS = frows, FCOLS = fcols; WIDTH is 2, 4 or 8; F with its gaps
**   fits CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE; for speed only, that lda and ldb
**   are multiples of WIDTH.
**
** Lesson, against `vector`: a small filter has few products for each element;
** they take less time than the way through local memory and its barrier.
** Neighbours load the same vectors, but the cache has them. This holds for as
** long as F and FROWS rows of sums fit in registers.
*/
#include "image.cl"
#ifndef LX
#define LX 32 /* work-group size along rows */
#endif
#ifndef LY
#define LY 4 /* work-group size along columns */
#endif
#ifndef WIDTH
#define WIDTH 4 /* columns of a work-item */
#endif
#ifndef HEIGHT
#define HEIGHT 8 /* rows of a work-item */
#endif
#ifndef FROWS
#define FROWS 3 /* rows of F */
#endif
#ifndef FCOLS
#define FCOLS 3 /* columns of F */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define ALIGNED(p, ld) \
  ((ld) % WIDTH == 0 && (uintptr_t)(p) % sizeof(VECTOR) == 0)
#define TALL (HEIGHT + FROWS - 1) /* rows of A */
#define LEFT ((FCOLS - 1) / 2)    /* columns of a window before its element */
#define BEFORE ((LEFT + WIDTH - 1) / WIDTH) /* vectors before the block */
#define AFTER ((FCOLS / 2 + WIDTH - 1) / WIDTH)
#define PARTS (BEFORE + 1 + AFTER)
#define SKIP (BEFORE * WIDTH - LEFT) /* elements that no window reaches */

#if WIDTH == 2
#define VECTOR_AT(a) ((VECTOR)((a)[0], (a)[1]))
#elif WIDTH == 4
#define VECTOR_AT(a) ((VECTOR)((a)[0], (a)[1], (a)[2], (a)[3]))
#else
#define VECTOR_AT(a) \
  ((VECTOR)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7]))
#endif
#define INLINE static inline __attribute__((always_inline))

/* PARTS vectors of A from element (i, j) on, 0 outside. whole: all are inside,
** where vectors of their type may be. */
INLINE void take(REAL row[PARTS * WIDTH], int rows, int cols,
                 global const REAL *restrict A, int lda, long i, long j,
                 bool whole)
{
  const bool exists = i >= 0 && i < rows;
  global const REAL *a = A + (whole ? i : clamp(i, 0L, rows - 1L)) * lda;
#pragma unroll
  for (int part = 0; part < PARTS; part++, j += WIDTH) {
    if (whole) {
      JOIN(vstore, WIDTH)(*(global const VECTOR *)(a + j), part, row);
    } else {
#pragma unroll
      for (int x = 0; x < WIDTH; x++) {
        const REAL value = a[clamp(j + x, 0L, cols - 1L)];
        row[part * WIDTH + x] =
            exists && j + x >= 0 && j + x < cols ? value : 0;
      }
    }
  }
}

/* The block of B at (i, j). whole: so are the vectors of its windows and its
** own, inside and where vectors may be. */
INLINE void block(int rows, int cols, global const REAL *restrict A, int lda,
                  constant REAL *restrict F, int ldf, global REAL *restrict B,
                  int ldb, long i, long j, bool whole)
{
  const long up = i - (FROWS - 1) / 2, left = j - BEFORE * WIDTH;
  REAL weights[FROWS][FCOLS], taken[TALL][PARTS * WIDTH];
  VECTOR sums[HEIGHT];
#pragma unroll
  for (int u = 0; u < FROWS; u++)
#pragma unroll
    for (int v = 0; v < FCOLS; v++)
      weights[u][v] = F[u * ldf + v];
#pragma unroll
  for (int k = 0; k < HEIGHT; k++)
    sums[k] = (VECTOR)(0);
  take(taken[0], rows, cols, A, lda, up, left, whole);
#pragma unroll
  for (int y = 0; y < TALL; y++) {
    const int done = y - (FROWS - 1); /* row of B */
    if (y + 1 < TALL)
      take(taken[y + 1], rows, cols, A, lda, up + y + 1, left, whole);
#pragma unroll
    for (int k = 0; k < HEIGHT; k++) {
      const int u = y - k;
      if (u >= 0 && u < FROWS) {
#pragma unroll
        for (int v = 0; v < FCOLS; v++)
          sums[k] += weights[u][v] * VECTOR_AT(taken[y] + SKIP + v);
      }
    }
    if (done >= 0) {
      global REAL *b = B + (i + done) * ldb + j;
      if (whole) {
        *(global VECTOR *)b = sums[done];
      } else {
        REAL sum[WIDTH];
        JOIN(vstore, WIDTH)(sums[done], 0, sum);
#pragma unroll
        for (int x = 0; x < WIDTH; x++)
          if (i + done < rows && j + x < cols)
            b[x] = sum[x];
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            constant REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  const long i = get_global_id(1) * HEIGHT, j = get_global_id(0) * WIDTH;
  if (i >= (FROWS - 1) / 2 && i + HEIGHT + FROWS / 2 <= rows &&
      j >= BEFORE * WIDTH && j + (1 + AFTER) * WIDTH <= cols &&
      ALIGNED(A, lda) && ALIGNED(B, ldb))
    block(rows, cols, A, lda, F, ldf, B, ldb, i, j, true);
  else if (i < rows && j < cols)
    block(rows, cols, A, lda, F, ldf, B, ldb, i, j, false);
}
