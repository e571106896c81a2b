/* slide.cl - convolution without local memory, rows go through registers
** SPDX-License-Identifier: MIT
**
**   B[i][j] = sum over u < frows, v < fcols of
**             F[u][v] * A[i + u - (frows-1)/2][j + v - (fcols-1)/2]
**   with elements outside A taken as 0
**
** A work-item computes HEIGHT x WIDTH elements. It goes down the rows of A and
** takes of each the vectors that the windows of its columns reach, straight
** from global memory, AHEAD rows before their turn. A row is added to the sums
** of the FROWS rows of B that need it; the first of them is then complete and
** stored, and the others move up by one, within the first product of each:
**
**    A   p q r s | a b c d | t u v w     for FCOLS = 3 and WIDTH = 4
**
**    sums[k] = sums[k + 1] + F[2 - k][0] * (s a b c)
**            + F[2 - k][1] * (a b c d) + F[2 - k][2] * (b c d t)
**
** With UNROLL all rows are written out, and products for rows of B that are
** not the work-item's fall away; without it the program is short, and HEIGHT
** has to be large against FROWS. Work-groups at an edge of A put 0 for vectors
** outside. Work-groups with a vector that is cut by the last column go by
** elements, and so do all groups where lda, ldb or a base address is no
** multiple of a vector.
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
** Defines: REAL, LX, LY, WIDTH, HEIGHT, AHEAD, UNROLL, FROWS, FCOLS.
** Assumes: FROWS = frows, FCOLS = fcols; WIDTH is 2, 4 or 8; F with its gaps
**   fits CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE; for speed only, that lda, ldb and
**   cols are multiples of WIDTH.
**
** Lesson, against `vector`: a small filter has few products for each element;
** they take less time than the way through local memory and its barrier.
** Neighbours load the same vectors, but the cache has them. This holds for as
** long as F and FROWS rows of sums fit in registers. The test for an edge is
** one for each work-group, so that work-items do not go two ways.
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
#ifndef AHEAD
#define AHEAD 1 /* rows that are loaded before their turn */
#endif
#ifndef UNROLL
#define UNROLL 1 /* 1: the rows of a work-item are written out */
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
#define RING (AHEAD + 1)             /* rows of A in registers */

#if WIDTH == 2
#define VECTOR_AT(a) ((VECTOR)((a)[0], (a)[1]))
#elif WIDTH == 4
#define VECTOR_AT(a) ((VECTOR)((a)[0], (a)[1], (a)[2], (a)[3]))
#else
#define VECTOR_AT(a) \
  ((VECTOR)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7]))
#endif
#define INLINE static inline __attribute__((always_inline))

/* A row of A is added to the sums of the FROWS rows of B that need it. sums[0]
** is then complete; the others move up by one at the next row. */
INLINE void add(VECTOR sums[FROWS], const REAL *row,
                const REAL weights[FROWS][FCOLS])
{
#pragma unroll
  for (int k = 0; k < FROWS; k++) {
    VECTOR sum = k + 1 < FROWS ? sums[k + 1 < FROWS ? k + 1 : 0] : (VECTOR)(0);
#pragma unroll
    for (int v = 0; v < FCOLS; v++)
      sum += weights[FROWS - 1 - k][v] * VECTOR_AT(row + SKIP + v);
    sums[k] = sum;
  }
}

/* PARTS vectors of a row of A from a on, 0 for vectors that are not inside. */
INLINE void take(REAL row[PARTS * WIDTH], global const REAL *a,
                 const bool inside[PARTS], bool exists)
{
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
    VECTOR vector = (VECTOR)(0);
    if (exists && inside[part])
      vector = *(global const VECTOR *)(a + part * WIDTH);
    JOIN(vstore, WIDTH)(vector, part, row);
  }
}

/* The block of B at (i, j), in vectors. whole: all elements that its windows
** reach are inside A. */
INLINE void vectors(int rows, int cols, global const REAL *restrict A, int lda,
                    const REAL weights[FROWS][FCOLS], global REAL *restrict B,
                    int ldb, long i, long j, bool whole)
{
  const long up = i - (FROWS - 1) / 2, left = j - BEFORE * WIDTH;
  global const REAL *a = A + up * lda + left;
  global REAL *b = B + (i - (FROWS - 1)) * ldb + j;
  REAL taken[RING][PARTS * WIDTH];
  VECTOR sums[FROWS];
  bool inside[PARTS];
#pragma unroll
  for (int part = 0; part < PARTS; part++)
    inside[part] = whole ||
                   (left + part * WIDTH >= 0 && left + part * WIDTH < cols);
#pragma unroll
  for (int k = 0; k < FROWS; k++)
    sums[k] = (VECTOR)(0);
#pragma unroll
  for (int y = 0; y < AHEAD; y++, a += lda)
    take(taken[y], a, inside, whole || (up + y >= 0 && up + y < rows));
#if UNROLL
#pragma unroll
#else
#pragma unroll 1
#endif
  for (int first = 0; first < TALL; first += RING) {
#pragma unroll
    for (int r = 0; r < RING; r++, a += lda, b += ldb) {
      const int y = first + r, next = y + AHEAD; /* rows of A */
      const long done = i + y - (FROWS - 1);     /* row of B */
      if (next < TALL)
        take(taken[(r + AHEAD) % RING], a, inside,
             whole || (up + next >= 0 && up + next < rows));
      if (y < TALL) {
        add(sums, taken[r], weights);
        if (y >= FROWS - 1 && (whole || done < rows))
          *(global VECTOR *)b = sums[0];
      }
    }
  }
}

/* The block of B at (i, j), by elements. */
INLINE void elements(int rows, int cols, global const REAL *restrict A,
                     int lda, const REAL weights[FROWS][FCOLS],
                     global REAL *restrict B, int ldb, long i, long j)
{
  const long up = i - (FROWS - 1) / 2, left = j - BEFORE * WIDTH;
  VECTOR sums[FROWS];
#pragma unroll
  for (int k = 0; k < FROWS; k++)
    sums[k] = (VECTOR)(0);
#pragma unroll 1
  for (int y = 0; y < TALL; y++) {
    const long done = i + y - (FROWS - 1);
    REAL row[PARTS * WIDTH], sum[WIDTH];
#pragma unroll
    for (int x = 0; x < PARTS * WIDTH; x++)
      row[x] = x < SKIP || x >= SKIP + WIDTH + FCOLS - 1
                   ? 0
                   : pixel(A, rows, cols, lda, up + y, left + x);
    add(sums, row, weights);
    JOIN(vstore, WIDTH)(sums[0], 0, sum);
#pragma unroll
    for (int x = 0; x < WIDTH; x++)
      if (y >= FROWS - 1 && done < rows && j + x < cols)
        B[done * ldb + j + x] = sum[x];
  }
}

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void conv2d(int rows, int cols, int frows, int fcols,
            global const REAL *restrict A, int lda,
            constant REAL *restrict F, int ldf, global REAL *restrict B,
            int ldb)
{
  const long i0 = get_group_id(1) * (LY * HEIGHT);
  const long j0 = get_group_id(0) * (LX * WIDTH);
  const long i = i0 + get_local_id(1) * HEIGHT;
  const long j = j0 + get_local_id(0) * WIDTH;
  REAL weights[FROWS][FCOLS];
#pragma unroll
  for (int u = 0; u < FROWS; u++)
#pragma unroll
    for (int v = 0; v < FCOLS; v++)
      weights[u][v] = F[u * ldf + v];
  const bool last = j0 + (LX + AFTER) * WIDTH > cols;
  if (!(ALIGNED(A, lda) && ALIGNED(B, ldb)) || (last && cols % WIDTH != 0))
    elements(rows, cols, A, lda, weights, B, ldb, i, j);
  else if (i0 >= (FROWS - 1) / 2 && i0 + LY * HEIGHT + FROWS / 2 <= rows &&
           j0 >= BEFORE * WIDTH && !last)
    vectors(rows, cols, A, lda, weights, B, ldb, i, j, true);
  else if (i < rows && j < cols)
    vectors(rows, cols, A, lda, weights, B, ldb, i, j, false);
}
