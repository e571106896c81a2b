/* fma.cl - peak arithmetic rate: chains of multiply-adds in registers
** SPDX-License-Identifier: MIT
**
**   v[c] = v[c] * a + b, `iterations` x UNROLL times, c = 0 .. CHAINS-1
**
** FLOP per work-item: 2 * WIDTH * CHAINS * UNROLL * iterations.
** A multiply-add takes a few cycles, but a new one can begin in each: CHAINS
** results that do not wait for each other keep the unit busy:
**
**    cycle     0    1    2    3    4    5 ...
**    chain 0   FMA------------->   FMA-------
**    chain 1        FMA------------->   FMA--
**    chain 2             FMA------------->
**    chain 3                  FMA------------->
**
** On a GPU other work-items fill the gaps as well, on a CPU only the chains.
** Rounding keeps the compiler from replacing the loop by a formula, the chains
** begin with different values, so that none is dropped as a copy of another,
** and the sum is stored, so that nothing is dead code.
**
** Arguments:
**   iterations  times the loop runs, >= 0; choose it for some milliseconds
**   a, b        factor and summand; |a| < 1 keeps the values finite, 0.5 and 1
**               end up at 2
**   out         out: global size x WIDTH elements
** NDRange: one dimension, any size; a GPU wants at least some 8 work-groups of
**   256 per compute unit, a CPU device a few work-items per core, local size 1
**   and WIDTH = 16.
** Defines: REAL, WIDTH, CHAINS, UNROLL, MULTIPLY_ADD.
** Assumes: no fast-math options.
**
** Lesson: this is the ceiling of every compute-bound kernel, as the device
** runs it and not as the data sheet has it: FLOPS = 2 x FMAs per second, at
** the clock that the device can hold. Compare double with float: 1/2 on
** large GPUs and CPUs, down to 1/64 on small GPUs.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 1 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif
#ifndef CHAINS
#define CHAINS 8 /* independent results per work-item */
#endif
#ifndef UNROLL
#define UNROLL 16 /* multiply-adds per chain in one turn of the loop */
#endif

#ifndef MULTIPLY_ADD
#define MULTIPLY_ADD fma /* fma: rounds once; mad: as the device likes */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#else
#define VECTOR JOIN(REAL, WIDTH)
#endif
#if WIDTH == 1
#define VSTORE(v, i, p) ((p)[i] = (v))
#else
#define VSTORE(v, i, p) JOIN(vstore, WIDTH)(v, i, p)
#endif

kernel void fma_chains(int iterations, REAL a, REAL b,
                       global REAL *restrict out)
{
  VECTOR v[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    v[c] = (VECTOR)(a * (REAL)c + (REAL)(get_local_id(0) % 16));
  for (int t = 0; t < iterations; t++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int c = 0; c < CHAINS; c++)
        v[c] = MULTIPLY_ADD(v[c], (VECTOR)(a), (VECTOR)(b));
    }
  }
  VECTOR sum = v[0];
#pragma unroll
  for (int c = 1; c < CHAINS; c++)
    sum += v[c];
  VSTORE(sum, get_global_id(0), out);
}
