/* nv_warp.cl - sums that lanes of a warp and tiles of a scan tell one another;
** the rungs for NVIDIA include it
** SPDX-License-Identifier: MIT
**
** Defines: REAL (float, double or int), INCLUSIVE, WG, WAVE: tiles that ask
**   for sums among them; ASKERS work-items of a tile ask for ASKS sums each.
** Assumes: compute capability 7.0; an aligned store or load of 64 bits is one
**   access.
*/
#include "real.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#ifndef WAVE
#define WAVE 64
#define ASKERS 32
#define ASKS 2
#endif
#define IN_UNIT (16 / (int)sizeof(REAL))
#define WARPS (WG / 32)
#define WORDS (sizeof(REAL) / 4) /* of state per sum */
#define UNROLL _Pragma("unroll")

typedef union { REAL value; uint word[sizeof(REAL) / 4]; } Bits;
typedef union { REAL value[IN_UNIT]; uint word[4]; } Unit;

/* The value of another lane: `d` lanes below, the lane whose number differs by
** bit `d`, or lane d. */
#define SHUFFLE(name, mode, clamp)                                        \
  REAL name(REAL x, uint d)                                               \
  {                                                                       \
    Bits b;                                                               \
    b.value = x;                                                          \
    UNROLL for (uint k = 0; k < WORDS; k++)                               \
      __asm__ volatile("shfl.sync." mode ".b32 %0, %1, %2, " clamp        \
                       ", -1;"                                            \
                       : "=r"(b.word[k]) : "r"(b.word[k]), "r"(d));       \
    return b.value;                                                       \
  }
SHUFFLE(below, "up", "0")
SHUFFLE(across, "bfly", "31")
SHUFFLE(of_lane, "idx", "31")

/* The sum of x over the lanes up to this one */
REAL up_to(REAL x, uint lane)
{
  UNROLL for (uint d = 1; d < 32; d *= 2) {
    const REAL y = below(x, d);
    if (lane >= d)
      x = y + x;
  }
  return x;
}

/* Tells a sum, with the mark of a launch. */
void tell(volatile global ulong *to, uint mark, REAL value)
{
  Bits b;
  b.value = value;
  UNROLL for (uint k = 0; k < WORDS; k++)
    to[k] = (ulong)mark << 32 | b.word[k];
}

/* This asker's part of the sum of tiles before t in its wave, once they have
** told; *before is the sum before the wave. */
REAL ask_part(volatile global ulong *sums, volatile global ulong *waves,
                     uint t, uint id, uint mark, REAL *before)
{
  const uint wave = t / WAVE, first = wave * WAVE + id;
  Bits part[ASKS + 1];
  bool told;
  do {
    told = true;
    UNROLL for (uint r = 0; r <= ASKS; r++) {
      part[r].value = IDENTITY;
      UNROLL for (uint k = 0; k < WORDS; k++) {
        const uint at = first + r * ASKERS;
        ulong word = (ulong)mark << 32 | part[r].word[k];
        if (r < ASKS && at < t)
          word = sums[at * WORDS + k];
        if (r == ASKS && wave > 0)
          word = waves[wave * WORDS + k];
        told &= word >> 32 == mark;
        part[r].word[k] = (uint)word;
      }
    }
  } while (!told);
  REAL sum = IDENTITY;
  UNROLL for (uint r = 0; r < ASKS; r++)
    sum += part[r].value;
  *before = part[ASKS].value;
  return sum;
}

/* The sum of x over all lanes */
REAL over(REAL x)
{
  UNROLL for (uint d = 16; d > 0; d /= 2)
    x += across(x, d);
  return x;
}
