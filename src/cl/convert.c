/*
** convert.c - components of arrays by the run: to and from double and
** int64_t, and from one element type to another.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "array.h"
#include "cl.h"
#include "object.h"
#include "process.h"
#include "type.h"

#define CODE(kind, unit) ((kind) << 4 | (unit))

/*
** Steps `r` (zeroed at first) to the next run of array `a`, false after the
** last. Vectors of 3 come one by one, as a gap follows each.
*/
bool clsh_convert_nextrun(lua_State *L, const Array *a, Run *r) {
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

#define EACH(T, value)                                                        \
  {                                                                           \
    const T *s = p;                                                           \
    for (size_t i = 0; i < n; i++)                                            \
      x[i] = value;                                                           \
    break;                                                                    \
  }

/* Integers are rounded where they have more than 53 bits. */
void clsh_convert_loadreals(const Type *t, const void *p, size_t n,
                            double *restrict x) {
  switch (CODE(t->kind, t->unit)) {
  case CODE('f', 2):
    EACH(unsigned short, (double)clsh_half_decode(s[i]))
  case CODE('f', 4):
    EACH(float, (double)s[i])
  case CODE('f', 8):
    memcpy(x, p, n * sizeof *x);
    break;
  case CODE('i', 1):
    EACH(int8_t, s[i])
  case CODE('i', 2):
    EACH(int16_t, s[i])
  case CODE('i', 4):
    EACH(int32_t, s[i])
  case CODE('i', 8):
    EACH(int64_t, (double)s[i])
  case CODE('u', 1):
    EACH(uint8_t, s[i])
  case CODE('u', 2):
    EACH(uint16_t, s[i])
  case CODE('u', 4):
    EACH(uint32_t, s[i])
  default:
    EACH(uint64_t, (double)s[i])
  }
}

/* Of an integer type only. A ulong comes as its bits. */
void clsh_convert_loadintegers(const Type *t, const void *p, size_t n,
                               int64_t *restrict x) {
  switch (CODE(t->kind, t->unit)) {
  case CODE('i', 1):
    EACH(int8_t, s[i])
  case CODE('i', 2):
    EACH(int16_t, s[i])
  case CODE('i', 4):
    EACH(int32_t, s[i])
  case CODE('u', 1):
    EACH(uint8_t, s[i])
  case CODE('u', 2):
    EACH(uint16_t, s[i])
  case CODE('u', 4):
    EACH(uint32_t, s[i])
  default:
    memcpy(x, p, n * sizeof *x);
  }
}

/* To a real type, rounding. */
void clsh_convert_storereals(const Type *t, const double *restrict x, size_t n,
                             void *p) {
  float *f = p;
  unsigned short *h = p;
  switch (t->unit) {
  case 2:
    for (size_t i = 0; i < n; i++)
      h[i] = clsh_half_encode(x[i]);
    break;
  case 4:
    for (size_t i = 0; i < n; i++)
      f[i] = (float)x[i];
    break;
  default:
    memcpy(p, x, n * sizeof *x);
  }
}

/* To an integer type, whose range has been checked. */
void clsh_convert_storeintegers(const Type *t, const int64_t *restrict x,
                                size_t n, void *p) {
  uint8_t *b = p;
  uint16_t *s = p;
  uint32_t *w = p;
  switch (t->unit) {
  case 1:
    for (size_t i = 0; i < n; i++)
      b[i] = (uint8_t)x[i];
    break;
  case 2:
    for (size_t i = 0; i < n; i++)
      s[i] = (uint16_t)x[i];
    break;
  case 4:
    for (size_t i = 0; i < n; i++)
      w[i] = (uint32_t)x[i];
    break;
  default:
    memcpy(p, x, n * sizeof *x);
  }
}

/* `big`: the bits stand for 2^63 or more. */
static bool fits(const Type *t, int64_t v, bool big) {
  int bits = 8 * t->unit;
  if (t->kind == 'u')
    return bits == 64 ? big || v >= 0 : !big && v >= 0 && v >> bits == 0;
  return !big && (v >> (bits - 1) == 0 || v >> (bits - 1) == -1);
}

/* How many of `n` numbers, from the first on, integer type `t` can hold. */
static size_t wholes(const Type *t, const double *x, size_t n, int64_t *v) {
  for (size_t i = 0; i < n; i++) {
    bool big = x[i] >= 0x1p63;
    if (!(x[i] >= -0x1p63 && x[i] < 0x1p64) || x[i] != floor(x[i]))
      return i;
    v[i] = big ? (int64_t)(uint64_t)x[i] : (int64_t)x[i];
    if (!fits(t, v[i], big))
      return i;
  }
  return n;
}

/* Converts a run; the number of components done, `n` if all went well. */
static size_t convertrun(const Type *t, void *to, const Type *f,
                         const void *from, size_t n) {
  double x[RUN];
  int64_t v[RUN];
  size_t done = n;
  if (t->kind == 'f') {
    clsh_convert_loadreals(f, from, n, x);
    clsh_convert_storereals(t, x, n, to);
    return n;
  }
  if (f->kind == 'f') {
    clsh_convert_loadreals(f, from, n, x);
    done = wholes(t, x, n, v);
  } else {
    bool unsigned64 = f->kind == 'u' && f->unit == 8;
    clsh_convert_loadintegers(f, from, n, v);
    for (size_t i = 0; i < n && done == n; i++)
      if (!fits(t, v[i], unsigned64 && v[i] < 0))
        done = i;
  }
  clsh_convert_storeintegers(t, v, done, to);
  return done;
}

/* Raises what clsh_type_convert says of element `i` of array `from`. */
static void refuse(lua_State *L, const Type *t, Array *from, size_t i) {
  char element[128];
  const char *p = clsh_array_data(L, from);
  clsh_type_push(L, from->type, p + i * from->type->size);
  const char *wrong = clsh_type_convert(L, -1, t, element);
  clsh_error(L, "element %I of an Array %s: %s", (lua_Integer)i + 1,
             clsh_array_name(L, from),
             wrong != NULL ? wrong : "no such value");
}

/*
** Fills array `to` with the converted elements of `from`, which must have
** as many.
*/
void clsh_convert_array(lua_State *L, Array *to, Array *from) {
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
  while (clsh_convert_nextrun(L, to, &r) &&
         clsh_convert_nextrun(L, from, &s)) {
    size_t done = convertrun(t, p + r.offset, f, q + s.offset, r.n);
    if (done < r.n)
      refuse(L, t, from, (r.first + done) / t->width);
  }
}

/** Array:convert(type) -> array
 * A new array of the same shape with another element type. Integer types
 * take whole numbers in their range only; anything else raises, with its
 * index.
 */
static int array_convert(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  clsh_convert_array(L, clsh_array_new(L, t, &a->shape), a);
  return 1;
}

void clsh_convert_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"convert", array_convert}, {NULL, NULL}};
  clsh_class_add(L, "Array", methods, NULL);
}
