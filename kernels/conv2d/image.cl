/* image.cl - the element type of a convolution, and the elements of its image,
** zero outside; the other files include it
** SPDX-License-Identifier: MIT
**
** Defines: REAL (float or double).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif

/* element (i, j) of A, or 0 outside */
REAL pixel(global const REAL *A, int rows, int cols, int lda, long i, long j)
{
  return i >= 0 && i < rows && j >= 0 && j < cols ? A[i * lda + j] : 0;
}
