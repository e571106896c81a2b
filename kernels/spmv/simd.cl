/* simd.cl - DIA sparse matrix times vector for CPU devices, long vectors
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of values[d*pitch + i] * x[i + offsets[d]],
**          for those d with 0 <= i + offsets[d] < cols
**
** A work-item owns BLOCK consecutive rows and runs over them once for each
** diagonal. The rows of a block in which diagonal d exists are one range:
**
**    begin        lo = max(begin, -offset)     hi = min(end, cols-offset)  end
**      |------------|=============================|--------------------------|
**        no column 0  y += values * x, in vectors   no column cols-1 or later
**
** so no element is tested, and three streams are read at a time, however many
** diagonals there are. The block of y stays in the first-level cache between
** diagonals.
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
** Defines: REAL, WIDTH, BLOCK.
** Assumes nothing about alignment.
**
** Lesson: on a CPU a work-item is a loop iteration of one thread, not a lane.
** Vectors are written out, because compilers seldom vectorise a loop inside a
** kernel, and neighbouring rows belong to one work-item, because a core likes
** to read on where it stopped. One work-item per work-group: enough groups for
** all cores, with little to schedule. On a GPU the same kernel is hopeless,
** as neighbouring work-items are BLOCK rows apart: nothing is coalesced.
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
#define WIDTH 16 /* elements per vector: 2, 4, 8 or 16 */
#endif
#ifndef BLOCK
#define BLOCK 2048 /* rows per work-item */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define VSTORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void spmv(int rows, int cols, int ndiags, int pitch,
          global const int *restrict offsets,
          global const REAL *restrict values,
          global const REAL *restrict x, global REAL *restrict y)
{
  const long begin = (long)get_global_id(0) * BLOCK;
  const long end = min(begin + BLOCK, (long)rows);
  for (long i = begin; i < end; i++)
    y[i] = 0;
  for (int d = 0; d < ndiags; d++) {
    global const REAL *v = values + (size_t)d * pitch;
    const long offset = offsets[d];
    const long hi = min(end, cols - offset);
    long i = max(begin, -offset);
    for (; i + WIDTH <= hi; i += WIDTH)
      VSTORE(VLOAD(y + i) + VLOAD(v + i) * VLOAD(x + i + offset), y + i);
    for (; i < hi; i++)
      y[i] += v[i] * x[i + offset];
  }
}
