/* simd.cl - transpose for CPU devices: vectors, and whole cache lines out
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** A work-item owns TILE_ROWS x TILE_COLS elements of A. It takes LINE rows of
** them, a cache line of B, a long way, four columns at a time:
**
**    A     j  j+4     TILE_COLS        B     i                 i+LINE
**    i    +--+--+------------+         j    +===================+
**         |  |  |   ---->    |              +===================+  four lines,
**         |  |  |            |              +===================+  written as
**    i+LINE--+--+------------+         j+4  +===================+  a whole
**
** Four columns are turned in groups of four rows, which vectors hold side by
** side, so that nothing crosses a group. Two steps of merging two vectors are
** a 4 x 4 transpose in each group:
**
**    r0: a b c d    p = low(r0, r2)  = a i b j    low(p, q)  = a e i m
**    r1: e f g h    q = low(r1, r3)  = e m f n    high(p, q) = b f j n
**    r2: i j k l    s = high(r0, r2) = c k d l    low(s, t)  = c g k o
**    r3: m n o p    t = high(r1, r3) = g o h p    high(s, t) = d h l p
**
** Where rows of B do not begin with a line, the tile is collected in local
** memory first and then written row by row, whole lines and the elements
** beside them.
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, global = {ceil(cols / TILE_COLS),
**   ceil(rows / TILE_ROWS)}, local = {1, 1}.
** Local memory: TILE_COLS * (TILE_ROWS * sizeof(REAL) + 64) bytes.
** Defines: REAL, WIDTH, TILE_ROWS, TILE_COLS, STREAM.
** Assumes nothing; fastest where rows of B begin at multiples of 64 bytes.
**
** Lesson, against `naive_write`: memory moves in lines of 64 bytes. A core
** follows a few streams that run on for a page, so TILE_COLS is long; it
** fetches every line that it writes in part, and even those that it writes
** in full, as it cannot know. Stores that go past the cache (STREAM) tell it:
** a third less to move. They must then fill a line at once. Small matrices,
** which are read again soon, should stay in the cache.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 8 /* elements per vector: 4, 8 or 16, at most 64 bytes */
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 64 /* rows of A per work-item */
#endif
#ifndef TILE_COLS
#define TILE_COLS 256 /* columns of A per work-item */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: B goes past the cache, if the compiler knows how */
#endif
#include "../cache/lines.cl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define VSTORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)
#define LINE (64 / sizeof(REAL))
#define PARTS (LINE / WIDTH)     /* vectors in a line */
#define PITCH (TILE_ROWS + LINE) /* rows of the tile meet other cache sets */

/* the first and the second half of each group of four elements */
#if WIDTH == 4
#define FIRST lo
#define SECOND hi
#elif WIDTH == 8
#define FIRST s0145
#define SECOND s2367
#else
#define FIRST s014589cd
#define SECOND s2367abef
#endif

static VECTOR low(VECTOR a, VECTOR b)
{
  VECTOR v;
  v.even = a.FIRST;
  v.odd = b.FIRST;
  return v;
}

static VECTOR high(VECTOR a, VECTOR b)
{
  VECTOR v;
  v.even = a.SECOND;
  v.odd = b.SECOND;
  return v;
}

/* four elements each of rows 0, 4, .. of a, WIDTH in all */
static VECTOR groups(global const REAL *a, size_t lda)
{
#if WIDTH == 4
  return vload4(0, a);
#else
  VECTOR v;
#if WIDTH == 8
  v.lo = vload4(0, a);
  v.hi = vload4(0, a + 4 * lda);
#else
  v.lo.lo = vload4(0, a);
  v.lo.hi = vload4(0, a + 4 * lda);
  v.hi.lo = vload4(0, a + 8 * lda);
  v.hi.hi = vload4(0, a + 12 * lda);
#endif
  return v;
#endif
}

/* line[q] = column q of LINE rows of a, q < 4 */
static void turn(global const REAL *a, size_t lda, VECTOR line[4][PARTS])
{
#pragma unroll
  for (int k = 0; k < PARTS; k++, a += WIDTH * lda) {
    const VECTOR r0 = groups(a, lda), r1 = groups(a + lda, lda);
    const VECTOR r2 = groups(a + 2 * lda, lda), r3 = groups(a + 3 * lda, lda);
    const VECTOR even_low = low(r0, r2), even_high = high(r0, r2);
    const VECTOR odd_low = low(r1, r3), odd_high = high(r1, r3);
    line[0][k] = low(even_low, odd_low);
    line[1][k] = high(even_low, odd_low);
    line[2][k] = low(even_high, odd_high);
    line[3][k] = high(even_high, odd_high);
  }
}

/* m x n elements straight to B, whole lines; m % LINE and n % 4 are 0 */
static void write_lines(global const REAL *a, size_t lda, size_t m, size_t n,
                        global REAL *b, size_t ldb)
{
  for (size_t i = 0; i < m; i += LINE) {
    for (size_t j = 0; j < n; j += 4) {
      VECTOR line[4][PARTS];
      turn(a + i * lda + j, lda, line);
#pragma unroll
      for (int q = 0; q < 4; q++) {
#pragma unroll
        for (int k = 0; k < PARTS; k++)
          PASS(line[q][k],
               (global VECTOR *)(b + (j + q) * ldb + i + k * WIDTH));
      }
    }
  }
}

/* the same into the tile t */
static void collect_lines(global const REAL *a, size_t lda, size_t m,
                          size_t n, local REAL *t)
{
  for (size_t i = 0; i < m; i += LINE) {
    for (size_t j = 0; j < n; j += 4) {
      VECTOR line[4][PARTS];
      turn(a + i * lda + j, lda, line);
#pragma unroll
      for (int q = 0; q < 4; q++) {
#pragma unroll
        for (int k = 0; k < PARTS; k++)
          VSTORE(line[q][k], t + (j + q) * PITCH + i + k * WIDTH);
      }
    }
  }
}

/* m elements of the tile to a row of B */
static void put(local const REAL *t, global REAL *b, size_t m)
{
  const size_t over = (uintptr_t)b / sizeof(REAL) % LINE;
  const size_t head = min(m, (LINE - over) % LINE);
  size_t i = 0;
  for (; i < head; i++)
    b[i] = t[i];
  for (; i + LINE <= m; i += LINE) {
#pragma unroll
    for (int k = 0; k < PARTS; k++)
      PASS(VLOAD(t + i + k * WIDTH), (global VECTOR *)(b + i + k * WIDTH));
  }
  for (; i < m; i++)
    b[i] = t[i];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose(int rows, int cols, global const REAL *restrict A, int lda,
               global REAL *restrict B, int ldb)
{
  local REAL tile[TILE_COLS * PITCH];
  const size_t j0 = get_group_id(0) * TILE_COLS;
  const size_t i0 = get_group_id(1) * TILE_ROWS;
  const size_t m = min((size_t)TILE_ROWS, rows - i0);
  const size_t n = min((size_t)TILE_COLS, cols - j0);
  const size_t lines = m - m % LINE, fours = n - n % 4;
  global const REAL *a = A + i0 * lda + j0;
  global REAL *b = B + j0 * ldb + i0;

  if ((uintptr_t)B % 64 == 0 && ldb % LINE == 0) {
    write_lines(a, lda, lines, fours, b, ldb);
    for (size_t i = 0; i < m; i++) {
      for (size_t j = i < lines ? fours : 0; j < n; j++)
        b[j * ldb + i] = a[i * lda + j];
    }
  } else {
    collect_lines(a, lda, lines, fours, tile);
    for (size_t i = 0; i < m; i++) {
      for (size_t j = i < lines ? fours : 0; j < n; j++)
        tile[j * PITCH + i] = a[i * lda + j];
    }
    for (size_t j = 0; j < n; j++)
      put(tile + j * PITCH, b + j * ldb, m);
  }
}
