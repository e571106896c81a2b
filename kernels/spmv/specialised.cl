/* specialised.cl - DIA sparse matrix times vector, offsets compiled in
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + OFFSETS[d]],
**          for those d with 0 <= i + OFFSETS[d] < cols
**
** The program is built for one pattern: OFFSETS is a list in the build options
** such as -DOFFSETS=-64,-1,0,1,64. The loop over the diagonals is unrolled,
** and the offsets become constants inside the load addresses. Since they are
** sorted, the rows in which every diagonal is inside the matrix are one range,
** and only the rows before and after it are tested element by element:
**
**    row 0     +-------------+
**              |  edge       |  the first diagonal is left of column 0
**    FIRST     +-------------+  = max(0, -OFFSETS[0])
**              |  interior   |  nothing is tested
**    LAST      +-------------+  = min(rows, cols - OFFSETS[last])
**              |  edge       |  the last diagonal is right of column cols-1
**    rows      +-------------+
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      unused: the number of diagonals is the length of OFFSETS
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     unused: the values of OFFSETS count
**   values      in:  diagonals x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = ceil(rows / WIDTH) rounded up to the local
**   size, any local size.
** Defines: REAL, WIDTH, OFFSETS (sorted ascending, at least one).
** Assumes: for speed only, that pitch is a multiple of WIDTH elements.
**
** Lesson, against `float4`: what is known before the launch need not be found
** out in it. No offset loads, no loop, no tests in the interior, and all loads
** of a row are independent, so they are in flight together. A load of x whose
** offset is a multiple of WIDTH is an aligned vector load, decided by the
** compiler. The price is one build per pattern, paid back when the same matrix
** is applied many times, as iterative solvers do. With many diagonals the code
** grows, registers run out, and the gain is gone.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 4 /* rows per work-item: 1, 2, 4, 8 or 16 */
#endif
#ifndef OFFSETS
#define OFFSETS -1, 0, 1 /* column minus row of each diagonal, ascending */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#define VLOAD(p) (*(p))
#else
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#endif
#define ALIGNED(p) ((uintptr_t)(p) % sizeof(VECTOR) == 0)
#define NDIAGS ((int)(sizeof(offset) / sizeof(offset[0])))

constant int offset[] = {OFFSETS};

/* one row, every element tested */
REAL edge_row(long i, int cols, int pitch, global const REAL *values,
              global const REAL *x)
{
  REAL sum = 0;
  for (int d = 0; d < NDIAGS; d++) {
    const long j = i + offset[d];
    if (j >= 0 && j < cols)
      sum += values[(size_t)d * pitch + i] * x[j];
  }
  return sum;
}

kernel void spmv(int rows, int cols, int ndiags, int pitch,
                 global const int *restrict offsets,
                 global const REAL *restrict values,
                 global const REAL *restrict x, global REAL *restrict y)
{
  const long i = (long)get_global_id(0) * WIDTH;
  const long first = -(long)offset[0];
  const long last = min((long)rows, (long)cols - offset[NDIAGS - 1]);
  if (i >= first && i + WIDTH <= last && pitch % WIDTH == 0 &&
      ALIGNED(values) && ALIGNED(x) && ALIGNED(y)) {
    VECTOR sum = (VECTOR)(0);
#pragma unroll
    for (int d = 0; d < NDIAGS; d++) {
      global const REAL *xd = x + (i + offset[d]);
      const VECTOR v =
          *(global const VECTOR *)(values + (size_t)d * pitch + i);
      sum += v * (offset[d] % WIDTH == 0 ? *(global const VECTOR *)xd
                                         : VLOAD(xd));
    }
    *(global VECTOR *)(y + i) = sum;
  } else {
    for (long k = i; k < min(i + WIDTH, (long)rows); k++)
      y[k] = edge_row(k, cols, pitch, values, x);
  }
}
