/* told.cl - sums that work-groups tell one another within a launch
** SPDX-License-Identifier: MIT
**
**   tell(state, g, mark, value)  work-group g tells a sum
**   ask(state, g, mark)          the sum that g has told, once it has
**   ask_all(state, g, step, count, mark, sum)
**     `sum` combined with the sums of g, g + step ..., in this order
**
** A sum and its mark are one word, so no order of two accesses is needed; a
** sum of double is two of them. Word 0 of `state` hands out numbers; clear.cl
** makes all ready. A mark is not 0, and another one in each launch, unless all
** is cleared before.
**
** Defines: REAL.
** Assumes: 64-bit atomics; an aligned load of 64 bits is one access. A
**   work-group that has begun goes on while others wait for it.
*/
#include "real.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define WORDS (sizeof(REAL) / 4) /* of state per sum */
#define ASKED 8                  /* sums that a work-item asks for at a time */
#define UNROLL_ _Pragma("unroll")

typedef union { REAL value; uint half_[sizeof(REAL) / 4]; } Bits;

void tell(volatile global ulong *state, size_t g, uint mark, REAL value)
{
  Bits b;
  b.value = value;
  for (uint k = 0; k < WORDS; k++)
    atom_xchg(state + 1 + g * WORDS + k, (ulong)mark << 32 | b.half_[k]);
}

REAL ask(volatile global ulong *state, size_t g, uint mark)
{
  Bits b;
  for (uint k = 0; k < WORDS; k++) {
    ulong word;
    do
      word = state[1 + g * WORDS + k];
    while (word >> 32 != mark);
    b.half_[k] = (uint)word;
  }
  return b.value;
}

REAL ask_all(volatile global ulong *state, size_t g, size_t step, uint count,
             uint mark, REAL sum)
{
  for (uint i = 0; i < count; i += ASKED) {
    Bits b[ASKED];
    bool told;
    do {
      told = true;
      UNROLL_ for (uint v = 0; v < ASKED; v++)
        UNROLL_ for (uint k = 0; k < WORDS; k++) {
          ulong word = (ulong)mark << 32;
          if (i + v < count)
            word = state[1 + (g + (i + v) * step) * WORDS + k];
          told &= word >> 32 == mark;
          b[v].half_[k] = (uint)word;
        }
    } while (!told);
    UNROLL_ for (uint v = 0; v < ASKED; v++)
      if (i + v < count)
        sum = COMBINE(sum, b[v].value);
  }
  return sum;
}
