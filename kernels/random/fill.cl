/* fill.cl - random numbers: uniform, normal and integers
** SPDX-License-Identifier: MIT
**
** Number e of a sequence is made of the words e % PER of counter e / PER: of
** one word of 32 bits, or of two for types of 64 bits, the lower one first.
**
**   UNIFORM   a + u (b - a),  u = k / 2^24 (half: 2^11, double: 2^53), below b
**   NORMAL    a + b r cos(2 pi v) and a + b r sin(2 pi v) of two neighbours,
**             r = sqrt(-2 log u),  u above 0  (Box, Muller)
**   INTEGER   a + floor(w b / 2^32), or 2^64; b = 0: all the words there are
**
** The products of INTEGER are not the same number for all results: products
** whose lower half is below (2^32 mod b) give some results once too often.
** They are drawn again, with the next value in the counter's third word
** (Lemire).
**
** Arguments:
**   n        elements of y
**   offset   number of the first one
**   seed     key
**   a, b     as above
**   y        out: vector
** NDRange: one dimension, a work-item for each counter, any local size.
** Defines: TYPE (of y), STORED (the same, ushort for half), VECTOR (of PER
**   STORED), REAL (float, or double for double), KIND (UNIFORM, NORMAL or
**   INTEGER), WIDE (1 for types of 64 bits), HALF (1 for half), THREEFRY (0 or
**   1).
** Assumes: y begins where a VECTOR may.
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define UNIFORM 1
#define NORMAL 2
#define INTEGER 3
#ifndef TYPE
#define TYPE float
#define STORED float
#define VECTOR float4
#define REAL float
#define KIND UNIFORM
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef HALF
#define HALF 0
#endif
#if THREEFRY
#include "threefry.cl"
#else
#include "philox.cl"
#endif
#if WIDE
#define WORD ulong
#define WORDS ulong2
#define VSTORE vstore2
#define VLOAD vload2
#define NORMALS double2
#define PER 2
#else
#define WORD uint
#define WORDS uint4
#define VSTORE vstore4
#define VLOAD vload4
#define NORMALS float2
#define PER 4
#endif
#if KIND == INTEGER
#define PARAMETER WORD
#else
#define PARAMETER REAL
#endif
#if WIDE
#define UNIT ((REAL)0x1p-53)
#define FRACTION(w) ((w) >> 11)
#elif HALF
#define UNIT 0x1p-11f
#define FRACTION(w) ((w) >> 21)
#else
#define UNIT 0x1p-24f
#define FRACTION(w) ((w) >> 8)
#endif

static WORDS words_of(ulong block, uint again, ulong seed)
{
  const uint4 counter = (uint4)((uint)block, (uint)(block >> 32), again, 0);
#if THREEFRY
  const uint4 w = threefry(counter, (uint4)((uint)seed, seed >> 32, 0, 0));
#else
  const uint4 w = philox(counter, (uint2)((uint)seed, seed >> 32));
#endif
#if WIDE
  return upsample(w.yw, w.xz);
#else
  return w;
#endif
}

#if HALF
static ushort stored(float v)
{
  ushort bits;
  vstore_half(v, 0, (half *)&bits);
  return bits;
}
#else
#define stored(v) (v)
#endif

#if KIND == UNIFORM
/* A number from a to b; a number that is rounded up to b becomes a. */
static STORED uniform(WORD w, REAL a, REAL b)
{
  const REAL step = (REAL)FRACTION(w) * UNIT * (b - a);
  const STORED x = stored(a + step);
#if HALF
  return vload_half(0, (const half *)&x) < b ? x : stored(a);
#else
  return x < b ? x : a;
#endif
}
#elif KIND == NORMAL
/* Two normal numbers of two words. */
#if WIDE
static double2 normal(ulong w, ulong v)
{
  const double r = sqrt(-2 * log((double)((w >> 11) + 1) * UNIT));
  const double turn = (double)(v >> 11) * (2 * UNIT);
  return (double2)(r * cospi(turn), r * sinpi(turn));
}
#else
static float2 normal(uint w, uint v)
{
  const float r = sqrt(-2 * log(w * 0x1p-32f + 0x1p-33f));
  const float turn = (float)(v >> 8) * (2 * 0x1p-24f);
  return (float2)(r * cospi(turn), r * sinpi(turn));
}
#endif
#else
/* An integer out of b from a on, of word k of a block. */
static STORED integer(ulong block, int k, ulong seed, WORD w, WORD a, WORD b)
{
  if (b == 0)
    return a + w;
  for (uint again = 1; w * b < b && w * b < (WORD)(0 - b) % b; again++) {
    WORD more[PER];
    VSTORE(words_of(block, again, seed), 0, more);
    w = more[k];
  }
  return a + mul_hi(w, b);
}
#endif

kernel void fill(ulong n, ulong offset, ulong seed, PARAMETER a, PARAMETER b,
                 global TYPE *y)
{
  const ulong block = offset / PER + get_global_id(0);
  const long first = block * PER - offset;
  WORD w[PER];
  STORED x[PER];
  VSTORE(words_of(block, 0, seed), 0, w);
#if KIND == NORMAL
  for (int k = 0; k < PER; k += 2) {
    const NORMALS two = normal(w[k], w[k + 1]);
    x[k] = stored(a + b * two.x);
    x[k + 1] = stored(a + b * two.y);
  }
#else
  for (int k = 0; k < PER; k++)
#if KIND == UNIFORM
    x[k] = uniform(w[k], a, b);
#else
    x[k] = integer(block, k, seed, w[k], a, b);
#endif
#endif
  if (offset % PER == 0 && first + PER <= (long)n)
    ((global VECTOR *)y)[get_global_id(0)] = VLOAD(0, x);
  else
    for (int k = 0; k < PER; k++)
      if (first + k >= 0 && first + k < (long)n)
        ((global STORED *)y)[first + k] = x[k];
}
