/* stored.cl - bfloat16 and float8 elements, which OpenCL C has no types for
** SPDX-License-Identifier: MIT
**
** Other files include it, and Buffer:astype has its functions. Memory holds
** such elements as bits, kernels calculate with floats:
**
**                   sign exponent fraction
**   bfloat16         1      8        7      the upper half of a float
**   float8_e5m2      1      5        2      the upper half of a half
**   float8_e4m3      1      4        3      no infinity: 448 is the largest
**
** load_TYPE(bits) is the float, exactly. store_TYPE(float) rounds to the
** nearest element, ties to even; too large a number becomes infinity, in
** float8_e4m3 +-448, as the host's conversion has it.
**
** Defines: ELEMENT, type of the bits, none: elements are of REAL; WIDEN, its
**          function; C_ELEMENT, WIDEN_C, NARROW, the same of C, none: C is of
**          RESULT, which is int for char, none: REAL
**
** Lesson: memory holds four such elements in the room of a float, and the
** conversions are a few integer operations: sums in float keep the digits. */
#ifdef ELEMENT
float load_bits(uint bits, uint e, uint f, bool finite)
{
  const uint sign = bits >> (e + f) << 31, top = (1u << e) - 1;
  const uint bias = top >> 1, exponent = bits >> f & top;
  const uint fraction = bits & ((1u << f) - 1);
  if (exponent == 0) { /* zero and subnormals */
    const float x = fraction / (float)(1u << (bias - 1 + f));
    return sign != 0 ? -x : x;
  }
  if (exponent == top && (!finite || fraction + 1 == 1u << f))
    return as_float(sign | 0x7f800000u | fraction << (23 - f));
  return as_float(sign | (exponent + 127 - bias) << 23 | fraction << (23 - f));
}

uint store_bits(float x, uint e, uint f, bool finite)
{
  const uint bits = as_uint(x) & 0x7fffffffu, bias = (1u << (e - 1)) - 1;
  const uint sign = as_uint(x) >> 31 << (e + f), all = (1u << (e + f)) - 1;
  const uint infinity = all >> f << f, most = finite ? all - 1 : infinity;
  const uint shift = 23 - f;
  uint h;
  if (bits > 0x7f800000u) /* NaN keeps the upper bits of its payload */
    return sign | infinity | (finite ? all : 1u << (f - 1))
      | (bits & 0x7fffffu) >> shift;
  if (bits >> 23 > 127 + bias + finite)
    return sign | most;
  if (e == 8 || bits >> 23 >= 128 - bias) {
    h = bits - ((127 - bias) << 23);
    h = (h + ((1u << (shift - 1)) - 1) + (h >> shift & 1)) >> shift;
  } else { /* subnormal: a number of least steps */
    h = (uint)rint(fabs(x) * (float)(1u << (bias - 1 + f)));
  }
  return sign | min(h, most);
}

float load_bfloat16(ushort bits)
{
  return as_float((uint)bits << 16);
}

ushort store_bfloat16(float x)
{
  return store_bits(x, 8, 7, false);
}

float load_float8_e4m3(uchar bits)
{
  return load_bits(bits, 4, 3, true);
}

uchar store_float8_e4m3(float x)
{
  return store_bits(x, 4, 3, true);
}

float load_float8_e5m2(uchar bits)
{
  return load_bits(bits, 5, 2, false);
}

uchar store_float8_e5m2(float x)
{
  return store_bits(x, 5, 2, false);
}
#else
#define ELEMENT REAL
#define WIDEN(x) (x)
#endif

#ifdef RESULT
#define SUM uint /* of int, as it wraps around */
#else
#define RESULT REAL /* type of alpha, beta and C */
#define SUM REAL
#endif
#ifndef C_ELEMENT
#define C_ELEMENT RESULT
#define WIDEN_C(x) (x)
#define NARROW(x) (x)
#endif
