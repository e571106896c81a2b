/* float4.cl - DIA sparse matrix times vector, four rows per work-item
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** Work-item g owns the rows i = 4g .. 4g+3:
**
**    values, diagonal d   | 4g  4g+1  4g+2  4g+3 |     one aligned load
**    x           | 4g+o  4g+1+o  4g+2+o  4g+3+o |      vload4 at any o
**    y                    | 4g  4g+1  4g+2  4g+3 |     one aligned store
**
** Where only some of the four columns exist the lanes are tested one by one.
** The last rows % 4 rows, and every row if values or y are not aligned to a
** vector, are done by scalar code.
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   ndiags      number of diagonals, any
**   pitch       elements from one diagonal to the next, >= rows
**   offsets     in:  ndiags ints, column minus row, sorted ascending
**   values      in:  ndiags x pitch elements
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, global = ceil(rows / 4) rounded up to WG,
**   local = WG.
** Local memory: 4 * CHUNK bytes.
** Defines: REAL, WG, CHUNK.
** Assumes: for speed only, that pitch is a multiple of 4 elements.
**
** Lesson, against `local_offsets`: one 16-byte load in place of four 4-byte
** ones means fewer instructions and more bytes in flight per work-item, and
** each offset is read once for four rows. The store belongs at y + 4g:
** vstore4(sum, g, y), not vstore4(sum, 4*g, y), which lands at 16g. It pays
** where the kernel is bound by instructions or by latency, less where memory
** is saturated already; small matrices lose, with a quarter of the work-items.
*/
#include "../type/real.cl"
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef CHUNK
#define CHUNK 256 /* offsets held in local memory at a time */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REAL4 JOIN(REAL, 4)
#define ALIGNED(p) ((uintptr_t)(p) % sizeof(REAL4) == 0)

/* sum + v * x[j..j+3], leaving out the columns outside 0..cols-1;
** columns are taken modulo 2^32, so that a negative one is huge */
REAL4 add4(REAL4 sum, REAL4 v, global const REAL *x, uint j,
           uint cols)
{
  if (cols >= 4 && j <= cols - 4)
    return sum + v * vload4(0, x + j);
  if (j < cols)
    sum.s0 += v.s0 * x[j];
  if (j + 1 < cols)
    sum.s1 += v.s1 * x[j + 1];
  if (j + 2 < cols)
    sum.s2 += v.s2 * x[j + 2];
  if (j + 3 < cols)
    sum.s3 += v.s3 * x[j + 3];
  return sum;
}

/* up to four consecutive elements, zero for the others */
REAL4 load_some(global const REAL *p, size_t count)
{
  REAL4 v = (REAL4)(0);
  v.s0 = p[0];
  if (count > 1)
    v.s1 = p[1];
  if (count > 2)
    v.s2 = p[2];
  if (count > 3)
    v.s3 = p[3];
  return v;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int ndiags, int pitch,
          global const int *restrict offsets,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  local int chunk[CHUNK];
  const size_t i = 4 * get_global_id(0);
  const size_t count = i < rows ? min((size_t)4, rows - i) : 0;
  const int vector =
      count == 4 && pitch % 4 == 0 && ALIGNED(values) && ALIGNED(y);
  REAL4 sum = (REAL4)(0);
  size_t at = i;
  for (int first = 0; first < ndiags; first += CHUNK) {
    const int n = min(CHUNK, ndiags - first);
    barrier(CLK_LOCAL_MEM_FENCE); /* the last chunk is no longer in use */
    for (int k = get_local_id(0); k < n; k += WG)
      chunk[k] = offsets[first + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (count > 0) {
      for (int k = 0; k < n; k++) {
        const REAL4 v = vector ? *(global const REAL4 *)(values + at)
                               : load_some(values + at, count);
        sum = add4(sum, v, x, (uint)i + (uint)chunk[k], cols);
        at += pitch;
      }
    }
  }
  if (vector) {
    *(global REAL4 *)(y + i) = sum;
  } else if (count > 0) {
    y[i] = sum.s0;
    if (count > 1)
      y[i + 1] = sum.s1;
    if (count > 2)
      y[i + 2] = sum.s2;
    if (count > 3)
      y[i + 3] = sum.s3;
  }
}
