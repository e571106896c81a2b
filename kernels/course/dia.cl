/* dia.cl - a product of diagonals, four rows for each work-item, as a text's
** last version has it, and with its mistakes
** SPDX-License-Identifier: MIT
**
** y[r] = sum over d of values[d * pitch + r] * x[r + offsets[d]], x = 0 beyond
** its ends.
**
**    MISTAKE = 1   the local array is not declared
**    MISTAKE = 2   its name is declared twice
**    MISTAKE = 3   the store has a wrong base
**
** Arguments:
**   n          elements of x, >= 1
**   pitch      values of a diagonal, >= n
**   diagonals  at most 256, as there is room for as many
**   offsets    in: diagonals
**   values     in: diagonals * pitch elements
**   x          in: n elements
**   y          out: 4 * global size elements
** NDRange: one dimension, global = n / 4 rounded up, any local size.
** Local memory: 256 ints.
** Defines: MISTAKE.
** Assumes: pitch, and the elements of y, are a multiple of 4.
**
** Lesson: vload4 and vstore4 take four elements. Where the rows are no
** multiple of 4, the last work-item leaves y, unless rows are padded.
*/
#ifndef MISTAKE
#define MISTAKE 0 /* 0: none */
#endif

#if MISTAKE == 3
#define BASE get_global_id(0)
#else
#define BASE row
#endif
#define X(i) ((i) >= 0 && (i) < n ? x[i] : 0.0f)

kernel void dia(int n, int pitch, int diagonals,
                global const int *restrict offsets,
                global const float *restrict values,
                global const float *restrict x, global float *restrict y)
{
#if MISTAKE != 1
  local int near[256];
#endif
#if MISTAKE == 2
  local float near[256];
#endif
  const int row = get_global_id(0) * 4;
  for (int d = get_local_id(0); d < diagonals; d += get_local_size(0))
    near[d] = offsets[d];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 sum = 0.0f;
  for (int d = 0; d < diagonals; d++) {
    const int i = row + near[d];
    sum += vload4(0, values + d * pitch + row)
      * (float4)(X(i), X(i + 1), X(i + 2), X(i + 3));
  }
  vstore4(sum, 0, y + BASE);
}
