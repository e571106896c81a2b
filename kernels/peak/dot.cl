/* dot.cl - peak rate of whole numbers: chains of dot products of four char
** SPDX-License-Identifier: MIT
**
**   v[c] = v[c] + dot4(v[c], a), `iterations` x UNROLL times, c = 0 ..
**   CHAINS-1
**
** Operations per work-item: 8 * CHAINS * UNROLL * iterations, as each product
** and each addition counts. See fma.cl for the chains, and gemm/dot4.cl for
** the instruction.
**
** Arguments:
**   iterations  times the loop runs, >= 0; choose it for some milliseconds
**   a           four char, as bits
**   out         out: global size ints
** NDRange: one dimension, any size.
** Defines: CHAINS, UNROLL.
**
** Lesson: where a device has the instruction, char is four times as fast as
** float, beside tensor cores. */
#ifndef CHAINS
#define CHAINS 8 /* independent results per work-item */
#endif
#ifndef UNROLL
#define UNROLL 16 /* dot products per chain in one turn of the loop */
#endif
#include "../gemm/dot4.cl"

kernel void dot_chains(int iterations, uint a, global int *restrict out)
{
  int v[CHAINS], sum = 0;
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    v[c] = (int)get_global_id(0) + c * 0x01020305;
  for (int t = 0; t < iterations; t++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int c = 0; c < CHAINS; c++)
        v[c] = DOT4((uint)v[c], a, v[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    sum ^= v[c];
  out[get_global_id(0)] = sum;
}
