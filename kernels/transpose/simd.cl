/* simd.cl - transpose for CPU devices: vectors, and whole cache lines out
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** A work-item owns TILE_ROWS x TILE_COLS elements of A. It turns them into
** local memory in blocks of WIDTH x WIDTH, which are vector registers, and
** from there writes them out as long pieces of rows of B:
**
**    A  a long way along few rows    local memory          B
**       +----+----+--- TILE_COLS     +--TILE_ROWS--+pad
**       |  1 |  2 | ...              |  1'   3'    |       =======> put, a row
**       +----+----+                  +-------------+       =======> after
**       |  3 |  4 | ...              |  2'   4'    |       =======> another
**       TILE_ROWS                    TILE_COLS
**
** A block is turned in log2(WIDTH) steps. Each interleaves vector k with
** vector k + WIDTH/2, which moves the top bit of the row number below the
** column number; after all steps the two have changed places:
**
**    r0 = a b    step: s0 = r0.lo and r1.lo in turns = a c
**    r1 = c d          s1 = r0.hi and r1.hi in turns = b d
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
** in full, as it cannot know. Stores that go past the cache (STREAM, where
** the compiler has __builtin_nontemporal_store) tell it: a third less to
** move. They must then fill lines at once, which is why the tile is collected
** first. What is read again soon, small matrices, should stay in the cache.
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifndef REAL
#define REAL float /* element type: float, double or half */
#endif
#ifndef WIDTH
#define WIDTH 8 /* elements per vector: 2, 4, 8 or 16 */
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

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define VSTORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)
#define LINE (64 / sizeof(REAL))
#define PITCH (TILE_ROWS + LINE) /* rows of the tile meet other cache sets */

#ifdef __has_builtin
#if STREAM && __has_builtin(__builtin_nontemporal_store)
#define PASS(v, p) __builtin_nontemporal_store(v, (global VECTOR *)(p))
#endif
#endif
#ifndef PASS
#define PASS VSTORE
#endif

/* s[2k], s[2k + 1] = the elements of r[k] and r[k + WIDTH/2] in turns */
static void interleave(const VECTOR *r, VECTOR *s)
{
#pragma unroll
  for (int k = 0; k < WIDTH / 2; k++) {
    const VECTOR a = r[k], b = r[k + WIDTH / 2];
    s[2 * k].even = a.lo;
    s[2 * k].odd = b.lo;
    s[2 * k + 1].even = a.hi;
    s[2 * k + 1].odd = b.hi;
  }
}

/* a block of WIDTH x WIDTH elements of A, turned, into the tile */
static void turn(global const REAL *a, size_t lda, local REAL *t)
{
  VECTOR r[WIDTH], s[WIDTH];
#pragma unroll
  for (int k = 0; k < WIDTH; k++)
    r[k] = VLOAD(a + k * lda);
#pragma unroll
  for (int n = WIDTH; n > 1; n /= 2) {
    interleave(r, s);
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
      r[k] = s[k];
  }
#pragma unroll
  for (int k = 0; k < WIDTH; k++)
    VSTORE(r[k], t + k * PITCH);
}

/* m x n elements of A, turned, into the tile t */
static void gather(global const REAL *a, size_t lda, size_t m, size_t n,
                   local REAL *t)
{
  size_t i = 0;
  for (; i + WIDTH <= m; i += WIDTH) {
    size_t j = 0;
    for (; j + WIDTH <= n; j += WIDTH)
      turn(a + i * lda + j, lda, t + j * PITCH + i);
    for (; j < n; j++) {
      for (size_t k = i; k < i + WIDTH; k++)
        t[j * PITCH + k] = a[k * lda + j];
    }
  }
  for (; i < m; i++) {
    for (size_t j = 0; j < n; j++)
      t[j * PITCH + i] = a[i * lda + j];
  }
}

/* m elements to a row of B: whole cache lines, and what lies beside them */
static void put(local const REAL *t, global REAL *b, size_t m)
{
  const size_t over = (uintptr_t)b / sizeof(REAL) % LINE;
  const size_t head = min(m, (LINE - over) % LINE);
  size_t i = 0;
  for (; i < head; i++)
    b[i] = t[i];
  for (; i + LINE <= m; i += LINE) {
#pragma unroll
    for (size_t k = 0; k < LINE; k += WIDTH)
      PASS(VLOAD(t + i + k), b + i + k);
  }
  for (; i < m; i++)
    b[i] = t[i];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose(int rows, int cols, global const REAL *restrict A, int lda,
               global REAL *restrict B, int ldb)
{
  local REAL tile[TILE_COLS * PITCH];
  const size_t j = get_group_id(0) * TILE_COLS;
  const size_t i = get_group_id(1) * TILE_ROWS;
  const size_t m = min((size_t)TILE_ROWS, rows - i);
  const size_t n = min((size_t)TILE_COLS, cols - j);
  gather(A + i * lda + j, lda, m, n, tile);
  for (size_t k = 0; k < n; k++)
    put(tile + k * PITCH, B + (j + k) * ldb + i, m);
}
