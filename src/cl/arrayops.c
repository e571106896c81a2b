/*
** arrayops.c - class Array: methods over all elements (conversion, random
** numbers, comparison, byte order) and raw bytes to and from files.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "process.h"

#define TURN 6.28318530717958647693 /* radians */
#define IOBYTES ((size_t)16 << 20)  /* read or written between two polls */

/*
** The i-th output, from 0, of splitmix64 with state `seed`: Steele, Lea,
** Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014),
** constants of Sebastiano Vigna's public-domain splitmix64.c. It needs no
** state, so each element has its number whatever the order of filling.
*/
uint64_t clsh_arrayops_splitmix64(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Components by the run. A vector of 3 has a gap in each. */
typedef struct Run {
  size_t first;  /* number of its first component, gaps not counted */
  size_t n;      /* components, at most RUN */
  size_t offset; /* bytes from the array's first element */
} Run;

/*
** Steps `r` (zeroed at first) to the next run of array `a`, false after the
** last. Vectors of 3 come one by one, as a gap follows each.
*/
static bool nextrun(lua_State *L, const Array *a, Run *r) {
  const Type *t = a->type;
  size_t total = a->shape.count * t->width;
  r->first += r->n;
  if (r->first >= total)
    return false;
  clsh_poll(L);
  r->n = t->width == 3 ? 3 : total - r->first < RUN ? total - r->first : RUN;
  r->offset = t->width == 3 ? r->first / 3 * t->size : r->first * t->unit;
  return true;
}

/* Converts a run; the number of components done, `n` if all went well. */
static size_t convertrun(const Type *t, void *to, const Type *f,
                         const void *from, size_t n) {
  double x[RUN];
  int64_t v[RUN];
  size_t done = n;
  if (t->kind == 'f') {
    clsh_number_loadreals(f, from, n, x);
    clsh_number_storereals(t, x, n, to);
    return n;
  }
  if (f->kind == 'f') {
    clsh_number_loadreals(f, from, n, x);
    done = clsh_number_whole(t, x, n, v);
  } else {
    bool unsigned64 = f->kind == 'u' && f->unit == 8;
    clsh_number_loadintegers(f, from, n, v);
    for (size_t i = 0; i < n && done == n; i++)
      if (!clsh_number_fits(t, v[i], unsigned64 && v[i] < 0))
        done = i;
  }
  clsh_number_storeintegers(t, v, done, to);
  return done;
}

/* Raises: type `t` has no number such as component `i` of array `from`. */
static void refuse(lua_State *L, const Type *t, Array *from, size_t i) {
  const Type *f = from->type;
  size_t at = i / f->width, component = i % f->width;
  const char *p = clsh_array_data(L, from);
  double x;
  p += at * f->size + component * f->unit;
  clsh_number_loadreals(f, p, 1, &x);
  clsh_type_pushtext(L, f, p);
  const char *wrong = clsh_type_misfit(L, -1, t, x);
  if (f->width > 1)
    wrong = lua_pushfstring(L, "component %I: %s", (lua_Integer)component + 1,
                            wrong);
  clsh_error(L, "element %I of an Array %s: %s", (lua_Integer)at + 1,
             clsh_array_name(L, from), wrong);
}

/*
** Fills array `to` with the converted elements of `from`, which must have
** as many.
*/
void clsh_arrayops_convert(lua_State *L, Array *to, Array *from) {
  const Type *t = to->type;
  const Type *f = from->type;
  if (to->shape.count != from->shape.count)
    clsh_error(L, "%s takes %I elements, an Array %s has %I",
               clsh_array_name(L, to), (lua_Integer)to->shape.count,
               clsh_array_name(L, from), (lua_Integer)from->shape.count);
  if (t->width != f->width)
    clsh_error(L, "%s cannot become %s: vectors of another width", f->name,
               t->name);
  char *p = clsh_array_data(L, to);
  const char *q = clsh_array_data(L, from);
  if (t == f) {
    memmove(p, q, clsh_array_bytes(to));
    return;
  }
  Run r = {0}, s = {0};
  assert(clsh_array_bytes(to) <= to->block->bytes &&
         clsh_array_bytes(from) <= from->block->bytes);
  while (nextrun(L, to, &r) && nextrun(L, from, &s)) {
    size_t done = convertrun(t, p + r.offset, f, q + s.offset, r.n);
    if (done < r.n)
      refuse(L, t, from, r.first + done);
  }
}

/** Array:convert(type) -> array
 * A new array of the same shape with another element type. Integer types
 * take whole numbers in their range only; anything else raises, with its
 * index. A ulong counts from 0 to 2^64 - 1 here.
 * Example:
 * local h = cl.array("float", 3, 2)
 * print(h:convert("int").type) --> int
 */
static int array_convert(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  clsh_arrayops_convert(L, clsh_array_new(L, t, &a->shape), a);
  return 1;
}

/* The number at `arg`, or `def`, as the array's type has it. */
static void checkbound(lua_State *L, const Array *a, int arg, int def,
                       char *element) {
  lua_pushinteger(L, def);
  if (!lua_isnoneornil(L, arg)) {
    lua_pushvalue(L, arg);
    if (lua_type(L, -1) != LUA_TNUMBER)
      clsh_error_arg(L, arg, "must be a number; got %s", luaL_typename(L, -1));
  }
  const char *wrong = clsh_type_convert(L, -1, a->type, element);
  if (wrong != NULL)
    clsh_error_arg(L, arg, "%s", wrong);
}

/* Both bounds belong to it. More than 2^32 values: the modulo is biased by
** less than one in 2^64 / n, otherwise the multiplication by n in 2^32. */
static void randomintegers(lua_State *L, Array *a, uint64_t seed) {
  const Type *t = a->type;
  char element[2][128];
  int64_t lo, hi, x[RUN];
  checkbound(L, a, 3, 0, element[0]);
  checkbound(L, a, 4, 99, element[1]);
  clsh_number_loadintegers(t, element[0], 1, &lo);
  clsh_number_loadintegers(t, element[1], 1, &hi);
  if (t->kind == 'u' ? (uint64_t)lo > (uint64_t)hi : lo > hi)
    clsh_error_arg(L, 4, "upper bound below the lower one");
  uint64_t n = (uint64_t)hi - (uint64_t)lo + 1; /* 0 stands for 2^64 */
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    for (size_t i = 0; i < r.n; i++) {
      uint64_t u = clsh_arrayops_splitmix64(seed, r.first + i);
      if (n != 0)
        u = n <= UINT32_MAX ? (u >> 32) * n >> 32 : u % n;
      x[i] = (int64_t)((uint64_t)lo + u);
    }
    clsh_number_storeintegers(t, x, r.n, p + r.offset);
  }
}

/* As many random bits as the type has in its mantissa: k / 2^bits is exact
** and below 1. Scaled, it may round up to `hi`, which is left out. */
static void randomreals(lua_State *L, Array *a, uint64_t seed) {
  const Type *t = a->type;
  int bits = t->unit == 2 ? 11 : t->unit == 4 ? 24 : 53;
  double unit = ldexp(1, -bits);
  char element[2][128];
  double lo, hi, x[RUN];
  checkbound(L, a, 3, 0, element[0]);
  checkbound(L, a, 4, 1, element[1]);
  clsh_number_loadreals(t, element[0], 1, &lo);
  clsh_number_loadreals(t, element[1], 1, &hi);
  double width = hi - lo;
  if (!isfinite(width) || width <= 0)
    clsh_error_arg(L, 4, "must be finite and above the lower bound");
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    for (size_t i = 0; i < r.n; i++) {
      uint64_t k = clsh_arrayops_splitmix64(seed, r.first + i) >> (64 - bits);
      double step = (double)k * unit * width; /* apart: never fused */
      double v = lo + step;
      x[i] = clsh_number_round(t, v) < hi ? v : lo;
    }
    clsh_number_storereals(t, x, r.n, p + r.offset);
  }
}

/* The seed at index 2, and two numbers behind it: all may be in one table, by
** these names. */
static uint64_t checkseed(lua_State *L, const char *const names[],
                          const char *what) {
  int whole;
  lua_settop(L, 4);
  if (lua_type(L, 2) == LUA_TTABLE) {
    clsh_option_check(L, 2, names, what);
    for (int i = 0; i < 3; i++)
      clsh_option_push(L, 2, names[i]);
    lua_rotate(L, 2, 3);
    lua_settop(L, 4);
  }
  lua_Integer seed = lua_tointegerx(L, 2, &whole);
  if (!whole || lua_type(L, 2) != LUA_TNUMBER)
    clsh_error_arg(L, 2,
                   "the seed must be a whole number; got %s; such as (7, 0, "
                   "1) or {seed = 7, %s = 0, %s = 1}",
                   clsh_option_got(L, 2), names[1], names[2]);
  return (uint64_t)seed;
}

/** Array:random(seed [, lo, hi]) -> array
 * Fills with uniform random numbers, the same for the same seed on every
 * machine: reals lo <= x < hi (0 and 1 by default), for integer types whole
 * numbers lo..hi, both included (0 and 99). Element i is drawn from the
 * i-th output of splitmix64. All three may be given by name:
 * `h:random{seed = 7, hi = 2}`.
 * Example:
 * local h = cl.array("float", 1000):random(1, -1, 1)
 * print(h[1] >= -1 and h[1] < 1) --> true
 */
static int array_random(lua_State *L) {
  static const char *const names[] = {"seed", "lo", "hi", NULL};
  Array *a = clsh_array_check(L, 1);
  uint64_t seed = checkseed(L, names, "Array:random");
  if (a->type->kind == 'f')
    randomreals(L, a, seed);
  else
    randomintegers(L, a, seed);
  lua_settop(L, 1);
  return 1;
}

/** Array:normal(seed [, mean, deviation]) -> array
 * Fills with normal random numbers (0 and 1 by default), by the method of Box
 * and Muller: element i from outputs 2 i and 2 i + 1 of splitmix64. All three
 * may be given by name: `h:normal{seed = 7, deviation = 2}`. None is further
 * from the mean than 8.6 deviations. Buffer:normal makes other numbers.
 * Example:
 * local h = cl.array("float", 1000):normal(1, 10, 0.1)
 * print(h:min() > 9 and h:max() < 11) --> true
 */
static int array_normal(lua_State *L) {
  static const char *const names[] = {"seed", "mean", "deviation", NULL};
  Array *a = clsh_array_check(L, 1);
  const Type *t = a->type;
  uint64_t seed = checkseed(L, names, "Array:normal");
  double mean = luaL_optnumber(L, 3, 0), deviation = luaL_optnumber(L, 4, 1);
  if (t->kind != 'f')
    return clsh_error(L,
                      "normal: the type must be half, float or double; "
                      "got %s; such as h:convert \"float\"",
                      t->name);
  if (!isfinite(mean) || !isfinite(deviation) || deviation < 0)
    return clsh_error(L,
                      "normal: mean and deviation must be finite, "
                      "deviation >= 0; got %f and %f",
                      mean, deviation);
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    double x[RUN];
    for (size_t i = 0; i < r.n; i++) {
      uint64_t at = 2 * (uint64_t)(r.first + i);
      uint64_t k = clsh_arrayops_splitmix64(seed, at) >> 11;
      uint64_t m = clsh_arrayops_splitmix64(seed, at + 1) >> 11;
      double radius = sqrt(-2 * log(ldexp((double)(k + 1), -53)));
      x[i] = mean + deviation * radius * cos(TURN * ldexp((double)m, -53));
    }
    clsh_number_storereals(t, x, r.n, p + r.offset);
  }
  lua_settop(L, 1);
  return 1;
}

/* Two arrays with as many elements of the same width. */
static void checkalike(lua_State *L, const Array *a, const Array *b) {
  if (a->shape.count != b->shape.count || a->type->width != b->type->width)
    clsh_error(L, "an Array %s cannot be compared with an Array %s",
               clsh_array_name(L, a), clsh_array_name(L, b));
}

/* Index of the first pair that differs in a bit, or the count. */
static size_t differing(lua_State *L, const Array *a, const Array *b) {
  const Type *t = a->type;
  const char *p = clsh_array_data(L, a);
  const char *q = clsh_array_data(L, b);
  size_t used = (size_t)t->unit * t->width; /* the gap may hold anything */
  for (Run r = {0}; nextrun(L, a, &r);) {
    if (memcmp(p + r.offset, q + r.offset, r.n * t->unit) == 0)
      continue;
    size_t i = r.first / t->width;
    while (memcmp(p + i * t->size, q + i * t->size, used) == 0)
      i++;
    return i;
  }
  return a->shape.count;
}

/** Array:equal(other) -> true, or false and an index
 * Whether two arrays of the same type hold the same bits; the index is that
 * of the first element that differs. 0.0 and -0.0 differ, a NaN equals
 * itself.
 * Example:
 * local a, b = cl.array("int", 3, 1), cl.array("int", 3, 1)
 * b[2] = 5
 * print(a:equal(b)) --> false 2
 */
static int array_equal(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  checkalike(L, a, b);
  if (a->type != b->type)
    return clsh_error_arg(L, 2, "must be an Array of %s; got %s",
                          a->type->name, b->type->name);
  size_t i = differing(L, a, b);
  lua_pushboolean(L, i == a->shape.count);
  if (i == a->shape.count)
    return 1;
  lua_pushinteger(L, (lua_Integer)i + 1);
  return 2;
}

/* |x - y|; where either is NaN it is infinite. */
static double distance(double x, double y) {
  double d = x == y ? 0 : fabs(x - y);
  return d >= 0 ? d : HUGE_VAL;
}

/* The distances of a run; exact for integers of one type. */
static void distances(const Type *t, const void *p, const Type *u,
                      const void *q, size_t n, double *d) {
  double x[RUN], y[RUN];
  int64_t v[RUN], w[RUN];
  if (t == u && t->kind != 'f') {
    clsh_number_loadintegers(t, p, n, v);
    clsh_number_loadintegers(t, q, n, w);
    for (size_t i = 0; i < n; i++) {
      uint64_t a = (uint64_t)v[i], b = (uint64_t)w[i];
      bool above = t->kind == 'u' ? a > b : v[i] > w[i];
      d[i] = (double)(above ? a - b : b - a);
    }
    return;
  }
  clsh_number_loadreals(t, p, n, x);
  clsh_number_loadreals(u, q, n, y);
  for (size_t i = 0; i < n; i++)
    d[i] = distance(x[i], y[i]);
}

/** Array:max_diff(other) -> difference, index
 * The greatest absolute difference of two arrays with as many elements, and
 * the first element that has it. A NaN on either side counts as infinite,
 * so a wrong result never passes for a small difference.
 * Example:
 * local a, b = cl.array("float", 3, 1), cl.array("float", 3, 1)
 * b[2] = 1.5
 * print(a:max_diff(b)) --> 0.5 2
 */
static int array_max_diff(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  double d[RUN], worst = -1;
  size_t at = 0;
  checkalike(L, a, b);
  const char *p = clsh_array_data(L, a);
  const char *q = clsh_array_data(L, b);
  Run r = {0}, s = {0};
  while (nextrun(L, a, &r) && nextrun(L, b, &s)) {
    distances(a->type, p + r.offset, b->type, q + s.offset, r.n, d);
    for (size_t i = 0; i < r.n; i++)
      if (d[i] > worst) {
        worst = d[i];
        at = (r.first + i) / a->type->width;
      }
  }
  lua_pushnumber(L, worst);
  lua_pushinteger(L, (lua_Integer)at + 1);
  return 2;
}

/** Array:swap() -> array
 * Reverses the byte order of every number in place.
 * Example:
 * local h = cl.array("ushort", 1, 1)
 * print(h:swap()[1]) --> 256
 */
static int array_swap(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  size_t unit = a->type->unit;
  size_t bytes = clsh_array_bytes(a);
  char *p = clsh_array_data(L, a);
  for (size_t i = 0; i < bytes; i += unit) {
    if (i % IOBYTES == 0)
      clsh_poll(L);
    for (size_t j = 0; j < unit / 2; j++) {
      char c = p[i + j];
      p[i + j] = p[i + unit - 1 - j];
      p[i + unit - 1 - j] = c;
    }
  }
  lua_settop(L, 1);
  return 1;
}

/** Array:tostring() -> string
 * The elements' bytes as they lie in memory.
 * Example: print(#cl.array("float", 3):tostring()) --> 12
 */
static int array_bytestring(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  lua_pushlstring(L, clsh_array_data(L, a), clsh_array_bytes(a));
  return 1;
}

typedef struct Summary {
  double lo, hi, sum;
  int64_t ilo, ihi, high; /* of integers, exact, as is the sum in two */
  uint64_t low;
  size_t n, nan, inf;
  bool whole;
} Summary;

static void addreals(Summary *s, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    s->nan += isnan(x[i]) != 0;
    s->inf += isinf(x[i]) != 0;
    if (!isfinite(x[i]))
      continue;
    s->lo = s->n == 0 || x[i] < s->lo ? x[i] : s->lo;
    s->hi = s->n == 0 || x[i] > s->hi ? x[i] : s->hi;
    s->sum += x[i];
    s->n++;
    s->whole = s->whole && x[i] == rint(x[i]);
  }
}

static void addintegers(Summary *s, const int64_t *x, size_t n, bool sign) {
  for (size_t i = 0; i < n; i++) {
    bool less = sign ? x[i] < s->ilo : (uint64_t)x[i] < (uint64_t)s->ilo;
    bool more = sign ? x[i] > s->ihi : (uint64_t)x[i] > (uint64_t)s->ihi;
    s->ilo = s->n == 0 || less ? x[i] : s->ilo;
    s->ihi = s->n == 0 || more ? x[i] : s->ihi;
    s->high += sign ? x[i] >> 32 : (int64_t)((uint64_t)x[i] >> 32);
    s->low += (uint64_t)x[i] & UINT32_MAX;
    s->n++;
  }
}

static void setbound(lua_State *L, const Type *t, double x, int64_t i,
                     const char *name) {
  if (t->kind == 'f')
    lua_pushnumber(L, x);
  else
    lua_pushinteger(L, i);
  lua_setfield(L, -2, name);
}

static void setcount(lua_State *L, size_t n, const char *name) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, name);
}

/** Array:summary() -> {count, min, max, mean, nan, inf, whole}
 * min, max and mean of the finite components, nil where there are none; how
 * many are nan and inf; whether all finite ones are whole numbers. min and
 * max of a ulong are integers with its 64 bits, as its elements are.
 * Example:
 * local s = cl.array("float", 3, {1, 2, 6}):summary()
 * print(s.min, s.mean, s.max, s.nan) --> 1.0 3.0 6.0 0
 */
static int array_summary(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Type *t = a->type;
  const char *p = clsh_array_data(L, a);
  Summary s = {.whole = true};
  for (Run r = {0}; nextrun(L, a, &r);) {
    double x[RUN];
    int64_t i[RUN];
    if (t->kind == 'f') {
      clsh_number_loadreals(t, p + r.offset, r.n, x);
      addreals(&s, x, r.n);
    } else {
      clsh_number_loadintegers(t, p + r.offset, r.n, i);
      addintegers(&s, i, r.n, t->kind == 'i');
    }
  }
  lua_createtable(L, 0, 7);
  setcount(L, s.n + s.nan + s.inf, "count");
  setcount(L, s.nan, "nan");
  setcount(L, s.inf, "inf");
  lua_pushboolean(L, s.whole);
  lua_setfield(L, -2, "whole");
  if (s.n == 0)
    return 1;
  setbound(L, t, s.lo, s.ilo, "min");
  setbound(L, t, s.hi, s.ihi, "max");
  s.sum += (double)(s.high + (int64_t)(s.low >> 32)) * 0x1p32 +
           (double)(s.low & UINT32_MAX);
  lua_pushnumber(L, s.sum / (double)s.n);
  lua_setfield(L, -2, "mean");
  return 1;
}

static FILE *checkfile(lua_State *L, int arg) {
  luaL_Stream *s = luaL_testudata(L, arg, LUA_FILEHANDLE);
  if (s == NULL || lua_rawlen(L, arg) < sizeof *s)
    clsh_error_arg(L, arg, "must be a file; got %s", luaL_typename(L, arg));
  if (s->closef == NULL)
    clsh_error_arg(L, arg, "this file is closed");
  return s->f;
}

/* The bytes of the first n elements; all of them without `arg`. */
static size_t checkbytes(lua_State *L, const Array *a, int arg) {
  if (lua_isnoneornil(L, arg))
    return clsh_array_bytes(a);
  size_t n = clsh_shape_count(L, arg, "number of elements");
  if (n > a->shape.count)
    clsh_error_arg(L, arg, "%I elements of an Array %s", (lua_Integer)n,
                   clsh_array_name(L, a));
  return n * a->type->size;
}

/* Moves the bytes that the arguments name between the array and the file. */
static int transferfile(lua_State *L, bool write) {
  const Array *a = clsh_array_check(L, 1);
  FILE *f = checkfile(L, 2);
  size_t bytes = checkbytes(L, a, 3);
  char *p = clsh_array_data(L, a);
  for (size_t done = 0, n; done < bytes; done += n) {
    size_t part = bytes - done < IOBYTES ? bytes - done : IOBYTES;
    clsh_poll(L);
    errno = 0;
    n = write ? fwrite(p + done, 1, part, f) : fread(p + done, 1, part, f);
    if (n < part)
      return clsh_error(L, "%s after %I of %I bytes",
                        ferror(f) && errno != 0 ? strerror(errno)
                        : write                 ? "writing stopped"
                                                : "the file ends",
                        (lua_Integer)(done + n), (lua_Integer)bytes);
  }
  lua_settop(L, 1);
  return 1;
}

/** Array:readfile(file [, n]) -> array
 * Fills the array, or its first n elements, with raw bytes from where the
 * Lua file handle stands. Raises when the file ends before.
 * Example:
 * local f <close> = assert(io.tmpfile())
 * cl.array("int", 3, 4):writefile(f)
 * f:seek("set")
 * print(cl.array("int", 3):readfile(f)[3]) --> 4
 */
static int array_readfile(lua_State *L) {
  return transferfile(L, false);
}

/** Array:writefile(file [, n]) -> array
 * Writes the raw bytes of the array, or of its first n elements, to a Lua
 * file handle. Raises when the system does not take them.
 * Example:
 * local f <close> = assert(io.tmpfile())
 * cl.array("float", 10, 1):writefile(f)
 * print(f:seek()) --> 40
 */
static int array_writefile(lua_State *L) {
  return transferfile(L, true);
}

void clsh_arrayops_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"convert", array_convert},
                                     {"equal", array_equal},
                                     {"max_diff", array_max_diff},
                                     {"normal", array_normal},
                                     {"random", array_random},
                                     {"readfile", array_readfile},
                                     {"summary", array_summary},
                                     {"swap", array_swap},
                                     {"tostring", array_bytestring},
                                     {"writefile", array_writefile},
                                     {NULL, NULL}};
  clsh_class_add(L, "Array", methods, NULL);
}
