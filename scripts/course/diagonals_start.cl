/* diagonals_start.cl - diagonals times a vector: complete it
** SPDX-License-Identifier: MIT
**
** Task: diagonals.lua. Judged: WRONG: read outside
** Teaches: x ends, the diagonals do not. course "E2" (an exercise on OpenCL
** kernels). After it: diagonals_scalar.cl.
*/
kernel void dia(int n, int pitch, int diagonals, global const int *offsets,
                global const float *values, global const float *x,
                global float *y)
{
  const int row = get_global_id(0) * 4;
  for (int r = row; r < row + 4; r++) {
    float sum = 0.0f;
    for (int d = 0; d < diagonals; d++)
      sum += values[d * pitch + r] * x[r + offsets[d]]; /* is it in x? */
    y[r] = sum;
  }
}
