/* blocks.cl - sort for CPUs, by digits, a block of elements per work-item
** SPDX-License-Identifier: MIT
**
** The passes of radix.cl. A work-item counts the digits of its block, and then
** goes through it in order once more, with the next place of each digit.
**
** Arguments of both:
**   n        elements
**   shift    bits below the digit
**   groups   work-items
** Arguments of count:
**   x        in:  vector
**   counts   out: int[2^BITS][groups]
** Arguments of scatter:
**   first    1: the first pass, which has the places 1, 2 .. n
**   x        in:  vector
**   y        out: vector
**   offsets  in:  int[2^BITS][groups]
**   from     in:  with INDEX the places of x's elements
**   to       out: with INDEX the places of y's elements
** NDRange: one dimension, global = ceil(n / BLOCK), local = 1.
** Defines: BLOCK, BITS, the words of key.cl.
** Assumes nothing.
**
** Lesson: a core sorts fastest as one would by hand. The counters of a block
** stay in the core's own cache; no local memory, no barrier.
*/
#include "key.cl"
#ifndef BLOCK
#define BLOCK 65536 /* elements per work-item */
#endif
#ifndef BITS
#define BITS 8 /* of a digit */
#endif
#define DIGITS (1 << BITS)
#define DIGIT(bits) ((uint)(rank_of(bits) >> shift) & (DIGITS - 1))

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void count(int n, int shift, int groups, global const REAL *restrict x,
           global int *restrict counts)
{
  global const KEY *keys = (global const KEY *)x;
  const size_t g = get_global_id(0), begin = g * BLOCK;
  const size_t end = min(begin + BLOCK, (size_t)n);
  uint bins[DIGITS];
  for (uint d = 0; d < DIGITS; d++)
    bins[d] = 0;
  for (size_t i = begin; i < end; i++)
    bins[DIGIT(keys[i])]++;
  for (uint d = 0; d < DIGITS; d++)
    counts[(size_t)d * groups + g] = bins[d];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scatter(int n, int shift, int groups, int first,
             global const REAL *restrict x, global REAL *restrict y,
             global const int *restrict offsets
             WITH(global const uint *restrict from)
             WITH(global uint *restrict to))
{
  global const KEY *keys = (global const KEY *)x;
  const size_t g = get_global_id(0), begin = g * BLOCK;
  const size_t end = min(begin + BLOCK, (size_t)n);
  uint next[DIGITS];
  for (uint d = 0; d < DIGITS; d++)
    next[d] = offsets[(size_t)d * groups + g];
  for (size_t i = begin; i < end; i++) {
    const KEY bits = keys[i];
    const uint at = next[DIGIT(bits)]++;
    ((global KEY *)y)[at] = bits;
    ALSO(to[at] = first ? i + 1 : from[i]);
  }
}
