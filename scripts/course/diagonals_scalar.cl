/* diagonals_scalar.cl - diagonals times a vector, one element at a time
** SPDX-License-Identifier: MIT
**
** Task: diagonals.lua. Judged: RIGHT
** Teaches: rows of one pitch make a plain index, course "E2"; every work-item
** reads each offset, "E3"; the 4 rows are 4 loads and 4 stores, "E4" (an
** exercise on OpenCL kernels). After it: kernels/course/dia.cl, with offsets
** in local memory and vectors of 4, which need the padded rows of "E6".
*/
kernel void dia(int n, int pitch, int diagonals, global const int *offsets,
                global const float *values, global const float *x,
                global float *y)
{
  const int row = get_global_id(0) * 4;
  for (int r = row; r < row + 4; r++) {
    float sum = 0.0f;
    for (int d = 0; d < diagonals; d++) {
      const int at = r + offsets[d];
      if (at >= 0 && at < n)
        sum += values[d * pitch + r] * x[at];
    }
    y[r] = sum;
  }
}
