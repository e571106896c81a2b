/*
** half.c - IEEE 754 binary16 to and from the host's types.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <string.h>

#include "type.h"

/* Exact: every half is a float. A NaN keeps its payload. */
float clsh_half_decode(unsigned short h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  uint32_t bits;
  float x;
  if (exponent == 0) { /* zero and subnormals: mantissa * 2^-24 */
    x = (float)mantissa * 0x1p-24f;
    return sign != 0 ? -x : x;
  }
  if (exponent == 31)
    bits = sign | 0x7f800000u | mantissa << 13;
  else
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/*
** Rounds to the nearest half, ties to even, in one step from double: going
** through float would round twice. A NaN stays one.
*/
unsigned short clsh_half_encode(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  unsigned sign = (unsigned)(bits >> 48) & 0x8000u;
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t mantissa = bits & 0xfffffffffffffu;
  if (exponent == 1024)
    return (unsigned short)(sign | (mantissa != 0 ? 0x7e00u : 0x7c00u));
  if (exponent > 15)
    return (unsigned short)(sign | 0x7c00u);
  if (exponent < -25)
    return (unsigned short)sign;
  int drop = 42; /* mantissa bits that a half has no room for */
  unsigned h = 0;
  if (exponent >= -14) {
    h = (unsigned)(exponent + 15) << 10;
  } else { /* subnormal: the leading 1 is written out */
    mantissa |= (uint64_t)1 << 52;
    drop += -14 - exponent;
  }
  h += (unsigned)(mantissa >> drop);
  uint64_t rest = mantissa & (((uint64_t)1 << drop) - 1);
  uint64_t tie = (uint64_t)1 << (drop - 1);
  if (rest > tie || (rest == tie && (h & 1) != 0))
    h++; /* the carry runs into the exponent, up to infinity, as it must */
  return (unsigned short)(sign | h);
}
