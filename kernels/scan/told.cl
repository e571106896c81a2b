/* told.cl - sums that work-groups tell one another within a launch
** SPDX-License-Identifier: MIT
**
**   tell(state, g, mark, value)  work-group g tells a sum
**   ask(state, g, &mark)         the sum that g has told, once it has
**
** A sum and its mark are one word, so no order of two accesses is needed; a
** sum of double is two of them. Word 0 of `state` hands out numbers; clear.cl
** makes all ready, before the launch.
**
** Defines: REAL.
** Assumes: 64-bit atomics; an aligned load of 64 bits is one access. A
**   work-group that has begun goes on while others wait for it.
*/
#include "real.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define WORDS (sizeof(REAL) / 4) /* of state per work-group */
#define SUM 1u /* mark: the sum of a work-group */
#define ALL 2u /* mark: with all before it */

typedef union { REAL value; uint half_[sizeof(REAL) / 4]; } Bits;

void tell(volatile global ulong *state, size_t g, uint mark, REAL value)
{
  Bits b;
  b.value = value;
  for (uint k = 0; k < WORDS; k++)
    atom_xchg(state + 1 + g * WORDS + k, (ulong)mark << 32 | b.half_[k]);
}

/* The value that work-group g has told, once it has. */
REAL ask(volatile global ulong *state, size_t g, uint *mark)
{
  Bits b;
  ulong word;
  do {
    word = state[1 + g * WORDS];
    *mark = word >> 32;
    b.half_[0] = (uint)word;
    for (uint k = 1; k < WORDS; k++) {
      word = state[1 + g * WORDS + k];
      b.half_[k] = (uint)word;
      if (word >> 32 != *mark)
        *mark = 0;
    }
  } while (*mark == 0);
  return b.value;
}
