/* splitmix.cl - uniform random numbers, the bits that Array:random makes
** SPDX-License-Identifier: MIT
**
** Number i is drawn from output i of splitmix64 with state `seed`: Steele,
** Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
**
**   reals      lo + u (hi - lo),  u = k / 2^BITS, in double; below hi
**   integers   lo + floor(w n / 2^32), of n > 2^32 values lo + z mod n;
**              n = 0: all the values there are
**
** Arguments:
**   n        elements of y
**   seed     state
**   lo, hi   ends of reals; of integers the lower end, and the number of values
**   y        out: vector
** NDRange: one dimension, a work-item for each element, any local size.
** Defines: TYPE (of y), BITS (of the mantissa; 0 for integers).
*/
#ifndef TYPE
#define TYPE uint
#endif
#ifndef BITS
#define BITS 0
#endif
#if BITS
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define PARAMETER double
#else
#define PARAMETER ulong
#endif
#pragma OPENCL FP_CONTRACT OFF

static ulong splitmix64(ulong seed, ulong i)
{
  ulong z = seed + (i + 1) * 0x9e3779b97f4a7c15UL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
  return z ^ z >> 31;
}

kernel void splitmix(ulong n, ulong seed, PARAMETER lo, PARAMETER hi,
                     global TYPE *y)
{
  const ulong i = get_global_id(0);
  if (i >= n)
    return;
  const ulong z = splitmix64(seed, i);
#if BITS
  const double k = (double)(z >> (64 - BITS));
  const double step = k / (double)(1UL << BITS) * (hi - lo); /* never fused */
  const double v = lo + step;
#if BITS == 11
  vstore_half((float)v, i, y); /* exact: the ends are 0 and 1 */
#else
  y[i] = (TYPE)v < hi ? (TYPE)v : (TYPE)lo;
#endif
#else
  const ulong u = hi == 0 ? z : hi <= UINT_MAX ? (z >> 32) * hi >> 32 : z % hi;
  y[i] = (TYPE)(lo + u);
#endif
}
