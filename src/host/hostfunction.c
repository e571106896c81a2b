/*
** hostfunction.c - the operations of expressions on one element, by their
** names in arrays/statement.lua: C's, with the results of OpenCL C.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

#define PI 3.14159265358979323846

/* Reals. A float comes as a double, and its result is rounded to float. */
static double add(double a, double b) {
  return a + b;
}

static double sub(double a, double b) {
  return a - b;
}

static double mul(double a, double b) {
  return a * b;
}

static double divide(double a, double b) {
  return a / b;
}

static double negative(double a) {
  return -a;
}

static double floordivide(double a, double b) {
  return floor(a / b);
}

static double floordivide_single(double a, double b) {
  return floor((double)(float)(a / b));
}

static double modulo(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double clamp(double a, double lo, double hi) {
  return fmin(fmax(a, lo), hi);
}

static double equal(double a, double b) {
  return a == b;
}

static double unequal(double a, double b) {
  return a != b;
}

static double less(double a, double b) {
  return a < b;
}

static double lessequal(double a, double b) {
  return a <= b;
}

static double greater(double a, double b) {
  return a > b;
}

static double greaterequal(double a, double b) {
  return a >= b;
}

static double test_finite(double a) {
  return isfinite(a) != 0;
}

static double test_infinite(double a) {
  return isinf(a) != 0;
}

static double test_nan(double a) {
  return isnan(a) != 0;
}

static double test_normal(double a) {
  return isnormal(a) != 0;
}

static double test_normal_single(double a) {
  return isnormal((float)a) != 0;
}

static double test_sign(double a) {
  return signbit(a) != 0;
}

/* sin(pi a) and cos(pi a), exact where they are 0, 1 or -1. */
static double sinpi(double a) {
  double r = fmod(fabs(a), 2);
  double s = r <= 0.25   ? sin(PI * r)
             : r <= 0.75 ? cos(PI * (0.5 - r))
             : r <= 1.25 ? sin(PI * (1 - r))
             : r <= 1.75 ? -cos(PI * (1.5 - r))
                         : sin(PI * (r - 2));
  return copysign(1, a) * s;
}

static double cospi(double a) {
  double r = fmod(fabs(a), 2);
  return r <= 0.25   ? cos(PI * r)
         : r <= 0.75 ? sin(PI * (0.5 - r))
         : r <= 1.25 ? -cos(PI * (1 - r))
         : r <= 1.75 ? sin(PI * (r - 1.5))
                     : cos(PI * (2 - r));
}

static double tanpi(double a) {
  return sinpi(a) / cospi(a);
}

static double acospi(double a) {
  return acos(a) / PI;
}

static double asinpi(double a) {
  return asin(a) / PI;
}

static double atanpi(double a) {
  return atan(a) / PI;
}

static double atan2pi(double a, double b) {
  return atan2(a, b) / PI;
}

static double degrees(double a) {
  return a * (180 / PI);
}

static double radians(double a) {
  return a * (PI / 180);
}

static double powerof10(double a) {
  return pow(10, a);
}

static double rsqrt(double a) {
  return 1 / sqrt(a);
}

static double sign(double a) {
  return isnan(a) ? 0 : a > 0 ? 1 : a < 0 ? -1 : a;
}

static double maxmag(double a, double b) {
  double x = fabs(a), y = fabs(b);
  return x > y ? a : y > x ? b : fmax(a, b);
}

static double minmag(double a, double b) {
  double x = fabs(a), y = fabs(b);
  return x < y ? a : y < x ? b : fmin(a, b);
}

static double nextafter_single(double a, double b) {
  return (double)nextafterf((float)a, (float)b);
}

static double powr(double a, double b) {
  bool undefined = a < 0 || (a == 0 && b == 0) || (isinf(a) && b == 0) ||
                   (a == 1 && isinf(b)) || isnan(a) || isnan(b);
  return undefined ? NAN : pow(a, b);
}

static double step(double edge, double a) {
  return a < edge ? 0 : 1;
}

static double fma_single(double a, double b, double c) {
  return (double)fmaf((float)a, (float)b, (float)c);
}

static double mad(double a, double b, double c) {
  return a * b + c;
}

static double mix(double a, double b, double c) {
  return a + (b - a) * c;
}

static double smoothstep(double lo, double hi, double a) {
  double t = clamp((a - lo) / (hi - lo), 0, 1);
  return t * t * (3 - 2 * t);
}

/* Integers of type `t`, extended to 64 bits; the result is cut to it. */
static Wide widen(const Type *t, int64_t a) {
  return t->kind == 'u' ? (Wide)(uint64_t)a : (Wide)a;
}

static int64_t iadd(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t isub(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t imul(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t inegative(const Type *t, int64_t a) {
  return isub(t, 0, a);
}

/* As in Lua; a division by 0 gives 0. */
static int64_t ifloordivide(const Type *t, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (t->kind == 'u')
    return (int64_t)((uint64_t)a / (uint64_t)b);
  if (b == -1)
    return inegative(t, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t imodulo(const Type *t, int64_t a, int64_t b) {
  return b == 0 ? 0 : isub(t, a, imul(t, b, ifloordivide(t, a, b)));
}

static int64_t ibnot(const Type *t, int64_t a) {
  (void)t;
  return ~a;
}

static int64_t iband(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return a & b;
}

static int64_t ibor(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return a | b;
}

static int64_t ibxor(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return a ^ b;
}

static int bits(const Type *t) {
  return 8 * t->unit;
}

static int64_t ishl(const Type *t, int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a << (b & (bits(t) - 1)));
}

static int64_t ishr(const Type *t, int64_t a, int64_t b) {
  return (int64_t)(widen(t, a) >> (b & (bits(t) - 1)));
}

static int64_t iless(const Type *t, int64_t a, int64_t b) {
  return widen(t, a) < widen(t, b);
}

static int64_t ilessequal(const Type *t, int64_t a, int64_t b) {
  return widen(t, a) <= widen(t, b);
}

static int64_t igreater(const Type *t, int64_t a, int64_t b) {
  return iless(t, b, a);
}

static int64_t igreaterequal(const Type *t, int64_t a, int64_t b) {
  return ilessequal(t, b, a);
}

static int64_t iequal(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return a == b;
}

static int64_t iunequal(const Type *t, int64_t a, int64_t b) {
  (void)t;
  return a != b;
}

static int64_t iabs(const Type *t, int64_t a) {
  return iless(t, a, 0) ? inegative(t, a) : a;
}

static int64_t imin(const Type *t, int64_t a, int64_t b) {
  return iless(t, b, a) ? b : a;
}

static int64_t imax(const Type *t, int64_t a, int64_t b) {
  return iless(t, a, b) ? b : a;
}

static int64_t iclamp(const Type *t, int64_t a, int64_t lo, int64_t hi) {
  return imin(t, imax(t, a, lo), hi);
}

/* The nearest number that the type holds. */
static int64_t saturated(const Type *t, Wide a) {
  Wide one = 1, hi = (one << (bits(t) - (t->kind == 'i'))) - 1;
  Wide lo = t->kind == 'i' ? -hi - 1 : 0;
  return (int64_t)(a < lo ? lo : a > hi ? hi : a);
}

static int64_t iadd_sat(const Type *t, int64_t a, int64_t b) {
  return saturated(t, widen(t, a) + widen(t, b));
}

static int64_t isub_sat(const Type *t, int64_t a, int64_t b) {
  return saturated(t, widen(t, a) - widen(t, b));
}

static int64_t ihadd(const Type *t, int64_t a, int64_t b) {
  return (int64_t)((widen(t, a) + widen(t, b)) >> 1);
}

static int64_t irhadd(const Type *t, int64_t a, int64_t b) {
  return (int64_t)((widen(t, a) + widen(t, b) + 1) >> 1);
}

static int64_t imul_hi(const Type *t, int64_t a, int64_t b) {
  if (t->kind == 'i')
    return (int64_t)(((Wide)a * b) >> bits(t));
  return (int64_t)(((unsigned __int128)(uint64_t)a * (uint64_t)b) >> bits(t));
}

/* The bits of `a` alone, as an unsigned number. */
static uint64_t plain(const Type *t, int64_t a) {
  return (uint64_t)a & (UINT64_MAX >> (64 - bits(t)));
}

static int64_t irotate(const Type *t, int64_t a, int64_t b) {
  int k = (int)(b & (bits(t) - 1));
  uint64_t x = plain(t, a);
  return (int64_t)(k == 0 ? x : x << k | x >> (bits(t) - k));
}

static int64_t ipopcount(const Type *t, int64_t a) {
  return __builtin_popcountll(plain(t, a));
}

static int64_t iclz(const Type *t, int64_t a) {
  uint64_t x = plain(t, a);
  return x == 0 ? bits(t) : __builtin_clzll(x) - (64 - bits(t));
}

#define ALL(f, T, U, op)                                                      \
  static void f(size_t n, const T *restrict a, const T *restrict b,           \
                T *restrict r) {                                              \
    for (size_t i = 0; i < n; i++)                                            \
      r[i] = (T)((U)a[i] op(U) b[i]);                                         \
  }

ALL(add_all, double, double, +)
ALL(sub_all, double, double, -)
ALL(mul_all, double, double, *)
ALL(divide_all, double, double, /)
ALL(iadd_all, int64_t, uint64_t, +)
ALL(isub_all, int64_t, uint64_t, -)
ALL(imul_all, int64_t, uint64_t, *)

#define REAL1(name, f)                                                        \
  { name, 'f', 0, .real.one = f }
#define REAL2(name, f)                                                        \
  { name, 'f', 0, .real.two = f }
#define REAL3(name, f)                                                        \
  { name, 'f', 0, .real.three = f }
#define INTEGER1(name, f)                                                     \
  { name, 'i', 0, .integer.one = f }
#define INTEGER2(name, f)                                                     \
  { name, 'i', 0, .integer.two = f }
#define INTEGER3(name, f)                                                     \
  { name, 'i', 0, .integer.three = f }

/* Of two that serve a type the first one does. */
static const Function functions[] = {
    REAL1("abs", fabs),
    REAL1("acos", acos),
    REAL1("acosh", acosh),
    REAL1("acospi", acospi),
    {"add", 'f', 0, .real = {.two = add, .all = add_all}},
    REAL1("asin", asin),
    REAL1("asinh", asinh),
    REAL1("asinpi", asinpi),
    REAL1("atan", atan),
    REAL2("atan2", atan2),
    REAL2("atan2pi", atan2pi),
    REAL1("atanh", atanh),
    REAL1("atanpi", atanpi),
    REAL1("cbrt", cbrt),
    REAL1("ceil", ceil),
    REAL3("clamp", clamp),
    REAL2("copysign", copysign),
    REAL1("cos", cos),
    REAL1("cosh", cosh),
    REAL1("cospi", cospi),
    REAL1("degrees", degrees),
    {"div", 'f', 0, .real = {.two = divide, .all = divide_all}},
    REAL2("eq", equal),
    REAL1("erf", erf),
    REAL1("erfc", erfc),
    REAL1("exp", exp),
    REAL1("exp10", powerof10),
    REAL1("exp2", exp2),
    REAL1("expm1", expm1),
    REAL2("fdim", fdim),
    REAL1("floor", floor),
    REAL2("fmax", fmax),
    REAL2("fmin", fmin),
    {"fma", 'f', 4, .real.three = fma_single},
    REAL3("fma", fma),
    REAL2("fmod", fmod),
    REAL2("ge", greaterequal),
    REAL2("gt", greater),
    REAL2("hypot", hypot),
    {"idiv", 'f', 4, .real.two = floordivide_single},
    REAL2("idiv", floordivide),
    REAL1("isfinite", test_finite),
    REAL1("isinf", test_infinite),
    REAL1("isnan", test_nan),
    {"isnormal", 'f', 4, .real.one = test_normal_single},
    REAL1("isnormal", test_normal),
    REAL2("le", lessequal),
    REAL1("lgamma", lgamma),
    REAL1("log", log),
    REAL1("log10", log10),
    REAL1("log1p", log1p),
    REAL1("log2", log2),
    REAL1("logb", logb),
    REAL2("lt", less),
    REAL3("mad", mad),
    REAL2("maxmag", maxmag),
    REAL2("minmag", minmag),
    REAL3("mix", mix),
    REAL2("mod", modulo),
    {"mul", 'f', 0, .real = {.two = mul, .all = mul_all}},
    REAL2("ne", unequal),
    {"nextafter", 'f', 4, .real.two = nextafter_single},
    REAL2("nextafter", nextafter),
    REAL2("pow", pow),
    REAL2("pown", pow),
    REAL2("powr", powr),
    REAL1("radians", radians),
    REAL2("remainder", remainder),
    REAL1("rint", rint),
    REAL1("round", round),
    REAL1("rsqrt", rsqrt),
    REAL1("sign", sign),
    REAL1("signbit", test_sign),
    REAL1("sin", sin),
    REAL1("sinh", sinh),
    REAL1("sinpi", sinpi),
    REAL3("smoothstep", smoothstep),
    REAL1("sqrt", sqrt),
    REAL2("step", step),
    {"sub", 'f', 0, .real = {.two = sub, .all = sub_all}},
    REAL1("tan", tan),
    REAL1("tanh", tanh),
    REAL1("tanpi", tanpi),
    REAL1("tgamma", tgamma),
    REAL1("trunc", trunc),
    REAL1("unm", negative),
    INTEGER1("abs", iabs),
    {"add", 'i', 0, .integer = {.two = iadd, .all = iadd_all}},
    INTEGER2("add_sat", iadd_sat),
    INTEGER2("band", iband),
    INTEGER1("bnot", ibnot),
    INTEGER2("bor", ibor),
    INTEGER2("bxor", ibxor),
    INTEGER3("clamp", iclamp),
    INTEGER1("clz", iclz),
    INTEGER2("eq", iequal),
    INTEGER2("fmax", imax),
    INTEGER2("fmin", imin),
    INTEGER2("ge", igreaterequal),
    INTEGER2("gt", igreater),
    INTEGER2("hadd", ihadd),
    INTEGER2("idiv", ifloordivide),
    INTEGER2("le", ilessequal),
    INTEGER2("lt", iless),
    INTEGER2("mod", imodulo),
    {"mul", 'i', 0, .integer = {.two = imul, .all = imul_all}},
    INTEGER2("mul_hi", imul_hi),
    INTEGER2("ne", iunequal),
    INTEGER1("popcount", ipopcount),
    INTEGER2("rhadd", irhadd),
    INTEGER2("rotate", irotate),
    INTEGER2("shl", ishl),
    INTEGER2("shr", ishr),
    {"sub", 'i', 0, .integer = {.two = isub, .all = isub_all}},
    INTEGER2("sub_sat", isub_sat),
    INTEGER1("unm", inegative),
};

/* The operation on n elements of a type, or NULL. */
const Function *clsh_hostfunction_find(const char *name, const Type *t,
                                       int n) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    const Function *f = &functions[i];
    bool real = f->kind == 'f';
    bool takes = n == 1   ? f->real.one != NULL || f->integer.one != NULL
                 : n == 2 ? f->real.two != NULL || f->integer.two != NULL
                          : f->real.three != NULL || f->integer.three != NULL;
    if (takes && real == (t->kind == 'f') &&
        (f->unit == 0 || f->unit == t->unit) && strcmp(f->name, name) == 0)
      return f;
  }
  return NULL;
}
