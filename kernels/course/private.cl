/* private.cl - work-items that keep CELLS values in private memory
** SPDX-License-Identifier: MIT
**
** cells[k] = k + x[i]; `turns` times cells[k] = cells[k] * 0.5 + 1 for all k;
** x[i] = the sum of the cells. CELLS * turns updates for a work-item.
**
** Arguments:
**   turns  times that all cells are updated, >= 0
**   x      in, out: global size elements
** NDRange: one dimension, any local size.
** Defines: CELLS.
**
** Lesson: private values lie in registers while there are enough; an NVIDIA
** GPU gives a work-item 255 of them. The compiler spills the rest to memory,
** and each use of a spilled value is a load or a store.
*/
#ifndef CELLS
#define CELLS 16 /* values of a work-item */
#endif

kernel void private_cells(int turns, global float *restrict x)
{
  const int i = get_global_id(0);
  float cells[CELLS];
#pragma unroll
  for (int k = 0; k < CELLS; k++)
    cells[k] = k + x[i];
  for (int t = 0; t < turns; t++) {
#pragma unroll
    for (int k = 0; k < CELLS; k++)
      cells[k] = cells[k] * 0.5f + 1.0f;
  }
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < CELLS; k++)
    sum += cells[k];
  x[i] = sum;
}
