/*
** number.c - components of any element type to and from double and int64_t;
** a half is IEEE 754 binary16.
** The memory of components must be aligned.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "type.h"

/* Exact: every half is a float. A NaN keeps its payload. */
static float decodehalf(unsigned short h) {
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
** Rounds to the nearest half, ties to even, in one step from double: a step
** through float would round twice. A NaN stays a NaN.
*/
static unsigned short encodehalf(double x) {
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

#define CODE(kind, unit) ((kind) << 4 | (unit)) /* for switches */
/* A case of a switch: converts n components of type T at p, or to p. */
#define LOAD(kind, unit, T, value)                                            \
  case CODE(kind, unit): {                                                    \
    const T *s = p;                                                           \
    for (size_t i = 0; i < n; i++)                                            \
      x[i] = value;                                                           \
    break;                                                                    \
  }
#define STORE(unit, T, value)                                                 \
  case unit: {                                                                \
    T *s = p;                                                                 \
    for (size_t i = 0; i < n; i++)                                            \
      s[i] = value;                                                           \
    break;                                                                    \
  }

/* Integers are rounded where they have more than 53 bits. */
void clsh_number_loadreals(const Type *t, const void *p, size_t n,
                           double *restrict x) {
  switch (CODE(t->kind, t->unit)) {
    LOAD('f', 2, unsigned short, (double)decodehalf(s[i]))
    LOAD('f', 4, float, (double)s[i])
    LOAD('f', 8, double, s[i])
    LOAD('i', 1, int8_t, s[i])
    LOAD('i', 2, int16_t, s[i])
    LOAD('i', 4, int32_t, s[i])
    LOAD('i', 8, int64_t, (double)s[i])
    LOAD('u', 1, uint8_t, s[i])
    LOAD('u', 2, uint16_t, s[i])
    LOAD('u', 4, uint32_t, s[i])
    LOAD('u', 8, uint64_t, (double)s[i])
  }
}

/* The type must be an integer type. A ulong comes as its bits. */
void clsh_number_loadintegers(const Type *t, const void *p, size_t n,
                              int64_t *restrict x) {
  switch (CODE(t->kind, t->unit)) {
    LOAD('i', 1, int8_t, s[i])
    LOAD('i', 2, int16_t, s[i])
    LOAD('i', 4, int32_t, s[i])
    LOAD('u', 1, uint8_t, s[i])
    LOAD('u', 2, uint16_t, s[i])
    LOAD('u', 4, uint32_t, s[i])
  default:
    memcpy(x, p, n * sizeof *x);
  }
}

/* Rounds to a real type. */
void clsh_number_storereals(const Type *t, const double *restrict x, size_t n,
                            void *p) {
  switch (t->unit) {
    STORE(2, unsigned short, encodehalf(x[i]))
    STORE(4, float, (float)x[i])
  default:
    memcpy(p, x, n * sizeof *x);
  }
}

/* `x` as a variable of the real type holds it. */
double clsh_number_round(const Type *t, double x) {
  return t->unit == 2   ? (double)decodehalf(encodehalf(x))
         : t->unit == 4 ? (double)(float)x
                        : x;
}

/* The type is an integer type; its range has been checked. */
void clsh_number_storeintegers(const Type *t, const int64_t *restrict x,
                               size_t n, void *p) {
  switch (t->unit) {
    STORE(1, uint8_t, (uint8_t)x[i])
    STORE(2, uint16_t, (uint16_t)x[i])
    STORE(4, uint32_t, (uint32_t)x[i])
  default:
    memcpy(p, x, n * sizeof *x);
  }
}

/* Whether type `t` can hold `v`; `big`: its bits stand for 2^63 or more. */
bool clsh_number_fits(const Type *t, int64_t v, bool big) {
  int bits = 8 * t->unit;
  if (t->kind == 'u')
    return bits == 64 ? big || v >= 0 : !big && v >= 0 && v >> bits == 0;
  return !big && (v >> (bits - 1) == 0 || v >> (bits - 1) == -1);
}

/* The number of leading numbers, of `n`, that integer type `t` can hold. */
size_t clsh_number_whole(const Type *t, const double *x, size_t n,
                         int64_t *v) {
  for (size_t i = 0; i < n; i++) {
    bool big = x[i] >= 0x1p63;
    if (!(x[i] >= -0x1p63 && x[i] < 0x1p64) || x[i] != floor(x[i]))
      return i;
    v[i] = big ? (int64_t)(uint64_t)x[i] : (int64_t)x[i];
    if (!clsh_number_fits(t, v[i], big))
      return i;
  }
  return n;
}
