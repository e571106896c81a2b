/* simd.cl - DIA sparse matrix times vector for CPU devices, long vectors
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** A work-item owns BLOCK consecutive rows. It takes ROWS = VECTORS * WIDTH of
** them at a time, whose sums stay in registers over all diagonals:
**
**             d = 0     d = 1     d = 2         a diagonal is one stream, of
**    row i   +-------+ +-------+ +-------+      which a run of ROWS elements
**     ...    | run   | | run   | | run   | ...  is read, then one of the next
**    i+ROWS  +-------+ +-------+ +-------+
**
** A run that lies in the matrix as a whole is not tested by element. A run
** that is cut by column 0 or cols-1 is left out first and added to y
** afterwards; there are few such runs.
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      number of diagonals, any
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     in:  ndiags ints, column minus row, sorted ascending
**   values      in:  ndiags x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = ceil(rows / BLOCK), local = 1.
** Defines: REAL, WIDTH, VECTORS, BLOCK, AHEAD, STREAM.
** Assumes nothing about alignment.
**
** Lesson: on a CPU a work-item is a loop iteration of one thread, not a lane.
** Vectors are written out, because compilers seldom vectorise a loop inside a
** kernel, and neighbouring rows belong to one work-item, because a core likes
** to read on where it stopped. Sums in registers leave a load of the value, a
** load of x and a multiply-add per element; with y in the cache between
** diagonals it was a load and a store more, and half the rate. Memory is the
** limit then: each stream is asked for AHEAD of its use, and y goes past the
** cache (STREAM), for a core otherwise reads each line before it writes it.
** Both need a compiler that knows how and are left out elsewhere.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 16 /* elements per vector: 2, 4, 8 or 16 */
#endif
#ifndef VECTORS
#define VECTORS 4 /* vectors whose sums are in registers */
#endif
#ifndef BLOCK
#define BLOCK 4096 /* rows per work-item */
#endif
#ifndef AHEAD
#define AHEAD 256 /* rows between a request and the use; 0: no requests */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: y goes past the cache */
#endif
#include "../cache/lines.cl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define ROWS (VECTORS * WIDTH)
#define LINE (64 / (long)sizeof(REAL))

/* y[i] += values[i] * x[i + offset] for rows from lo to before hi */
static void add(long lo, long hi, long offset, global const REAL *values,
                global const REAL *x, global REAL *y)
{
  for (long i = lo; i < hi; i++)
    y[i] += values[i] * x[i + offset];
}

/* y for a few rows, from begin to before end */
static void few(long begin, long end, long cols, int ndiags, size_t pitch,
                global const int *offsets, global const REAL *values,
                global const REAL *x, global REAL *y)
{
  for (long i = begin; i < end; i++)
    y[i] = 0;
  for (int d = 0; d < ndiags; d++, values += pitch)
    add(max(begin, -(long)offsets[d]), min(end, cols - offsets[d]),
        offsets[d], values, x, y);
}

/* sum = the runs from row i on that lie in the matrix; returns whether others
** are cut by its first or last column */
static bool whole_runs(long i, long cols, int ndiags, size_t pitch,
                       global const int *offsets, global const REAL *values,
                       global const REAL *x, VECTOR *sum)
{
  bool cut = false;
#pragma unroll
  for (int k = 0; k < VECTORS; k++)
    sum[k] = (VECTOR)(0);
  values += i;
  for (int d = 0; d < ndiags; d++, values += pitch) {
    const long j = i + offsets[d];
    if (j < 0 || j + ROWS > cols) {
      cut |= j > -ROWS && j < cols;
      continue;
    }
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
      sum[k] += VLOAD(values + k * WIDTH) * VLOAD(x + j + k * WIDTH);
      if (AHEAD > 0)
        ASK(values + k * WIDTH + AHEAD);
    }
  }
  return cut;
}

/* y += the runs from row i on that are cut */
static void cut_runs(long i, long cols, int ndiags, size_t pitch,
                     global const int *offsets, global const REAL *values,
                     global const REAL *x, global REAL *y)
{
  for (int d = 0; d < ndiags; d++, values += pitch) {
    const long offset = offsets[d];
    if (i + offset < 0 || i + offset + ROWS > cols)
      add(max(i, -offset), min(i + ROWS, cols - offset), offset, values, x,
          y);
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void spmv(int rows, int cols, int ndiags, int pitch,
          global const int *restrict offsets,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  const long begin = (long)get_global_id(0) * BLOCK;
  const long end = min(begin + BLOCK, (long)rows);
  const long over = (uintptr_t)(y + begin) / sizeof(REAL) % LINE;
  long i = min(end, begin + (LINE - over) % LINE);
  few(begin, i, cols, ndiags, pitch, offsets, values, x, y);
  for (; i + ROWS <= end; i += ROWS) {
    VECTOR sum[VECTORS];
    const bool cut = whole_runs(i, cols, ndiags, pitch, offsets, values, x,
                                sum);
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
      PASS(sum[k], (global VECTOR *)(y + i + k * WIDTH));
    if (cut)
      cut_runs(i, cols, ndiags, pitch, offsets, values, x, y);
  }
  few(i, end, cols, ndiags, pitch, offsets, values, x, y);
}
