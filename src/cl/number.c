/*
** number.c - components of any element type to and from double and int64_t;
** a half is IEEE 754 binary16, bfloat16 the upper 16 bits of a float, the two
** float8 as in OCP's OFP8.
** The memory of components must be aligned.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "type.h"

/*
** The float of a code with `e` bits of exponent, 5 at most, and `f` bits of
** fraction: exact. A NaN keeps its payload. `finite`: the largest exponent has
** numbers too, and no infinity; all bits but the sign make NaN.
*/
static inline float decode(unsigned code, int e, int f, bool finite) {
  uint32_t sign = (uint32_t)code >> (e + f) << 31;
  uint32_t top = (1u << e) - 1, bias = top >> 1, bits;
  uint32_t exponent = code >> f & top, mantissa = code & ((1u << f) - 1);
  float x;
  if (exponent == 0) { /* zero and subnormals */
    x = (float)mantissa / (float)(1u << (bias - 1 + (unsigned)f));
    return sign != 0 ? -x : x;
  }
  if (exponent < top || (finite && mantissa + 1 < 1u << f))
    bits = sign | (exponent + 127 - bias) << 23 | mantissa << (23 - f);
  else
    bits = sign | 0x7f800000u | mantissa << (23 - f);
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float decodebfloat16(unsigned short code) {
  uint32_t bits = (uint32_t)code << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/*
** Rounds to the nearest code, see decode, ties to even, in one step from
** double: a step through float would round twice. A NaN stays a NaN and keeps
** the upper bits of its payload. Numbers too large become infinity or, where
** the type is finite, the largest number, as does infinity: the saturating
** conversion of OCP's OFP8, and of NVIDIA's cvt.rn.satfinite.
*/
static inline unsigned encode(double x, int e, int f, bool finite) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  unsigned sign = (unsigned)(bits >> 63) << (e + f);
  unsigned all = (1u << (e + f)) - 1, infinity = all >> f << f;
  unsigned most = finite ? all - 1 : infinity;
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023, bias = (1 << (e - 1)) - 1;
  uint64_t mantissa = bits & 0xfffffffffffffu;
  if (exponent == 1024 && mantissa != 0)
    return sign | infinity | (finite ? all : 1u << (f - 1)) |
           (unsigned)(mantissa >> (52 - f));
  if (exponent > bias + finite)
    return sign | most;
  if (exponent < -bias - f)
    return sign;
  int drop = 52 - f; /* mantissa bits that a code has no room for */
  unsigned h = 0;
  if (exponent >= 1 - bias) {
    h = (unsigned)(exponent + bias) << f;
  } else { /* subnormal: the leading 1 is written out */
    mantissa |= (uint64_t)1 << 52;
    drop += 1 - bias - exponent;
  }
  h += (unsigned)(mantissa >> drop);
  uint64_t rest = mantissa & (((uint64_t)1 << drop) - 1);
  uint64_t tie = (uint64_t)1 << (drop - 1);
  if (rest > tie || (rest == tie && (h & 1) != 0))
    h++; /* the carry runs into the exponent, up to infinity, as it must */
  return sign | (h > most ? most : h);
}

#define CODE(kind, unit) ((kind) << 6 | (unit)) /* for switches */
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
  switch (CODE(t->kind, t->kind == 'f' ? t->fraction : t->unit)) {
    LOAD('f', 2, uint8_t, (double)decode(s[i], 5, 2, false))
    LOAD('f', E4M3, uint8_t, (double)decode(s[i], 4, 3, true))
    LOAD('f', 7, unsigned short, (double)decodebfloat16(s[i]))
    LOAD('f', 10, unsigned short, (double)decode(s[i], 5, 10, false))
    LOAD('f', 23, float, (double)s[i])
    LOAD('f', 52, double, s[i])
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
  switch (t->fraction) {
    STORE(2, uint8_t, (uint8_t)encode(x[i], 5, 2, false))
    STORE(E4M3, uint8_t, (uint8_t)encode(x[i], 4, 3, true))
    STORE(7, unsigned short, (unsigned short)encode(x[i], 8, 7, false))
    STORE(10, unsigned short, (unsigned short)encode(x[i], 5, 10, false))
    STORE(23, float, (float)x[i])
  default:
    memcpy(p, x, n * sizeof *x);
  }
}

/* `x` as a variable of the real type holds it. */
double clsh_number_round(const Type *t, double x) {
  double c; /* room for a component, aligned */
  clsh_number_storereals(t, &x, 1, &c);
  clsh_number_loadreals(t, &c, 1, &x);
  return x;
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
