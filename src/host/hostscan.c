/*
** hostscan.c - cl.host: sums of all elements up to each one, compared with
** sums in double, of elements of double in twice its digits.
** SPDX-License-Identifier: MIT
*/
#include <math.h>

#include "host.h"

#define STEP 4096 /* elements between two questions for Ctrl-C */

/* A sum in two doubles, and the sum of absolute values. */
typedef struct Sum {
  double high, low, size;
} Sum;

/* Adds x: `low` collects the part of x that `high` rounds away, if `twice`. */
static inline void addreal(Sum *s, double x, bool twice) {
  double high = s->high + x, part = high - s->high;
  if (twice && isfinite(high)) /* else the part is NaN */
    s->low += (s->high - (high - part)) + (x - part);
  s->high = high;
  s->size += fabs(x);
}

/* Whether `got` is off by more than `most` of the size. */
static inline bool isworse(double got, double right, double size,
                           double most) {
  return !(fabs(got - right) <= most * size) && got != right &&
         !(isnan(got) && isnan(right));
}

/* Compares n reals of y, from number `i` on, with the sums of x. */
static inline void comparereals(Sum *sum, const double *x, const double *y,
                                size_t i, size_t n, bool exclusive, bool twice,
                                Worst *w) {
  Sum s = *sum;
  double most = w->err;
  for (size_t j = 0; j < n; j++) {
    double before = s.high + s.low;
    addreal(&s, x[j], twice);
    double right = exclusive ? before : s.high + s.low;
    if (isworse(y[j], right, s.size, most)) {
      most = clsh_hostcheck_scaled(y[j], right, s.size);
      w->row = i + j;
    }
  }
  w->err = most;
  *sum = s;
}

/* The same for elements of int, whose sums wrap. */
static void compareints(uint32_t *sum, const int32_t *x, const int32_t *y,
                        size_t i, size_t n, bool exclusive, Worst *w) {
  for (size_t j = 0; j < n; j++) {
    uint32_t before = *sum;
    *sum += (uint32_t)x[j];
    int32_t right = (int32_t)(exclusive ? before : *sum);
    if (y[j] != right)
      clsh_hostcheck_worse(w, fabs((double)y[j] - right), i + j, 0);
  }
}

/** cl.host.scan_errors(y, x [, exclusive]) -> errors, places
 * How far the elements of y are from the sums of all elements of x up to each
 * one, or before each one if `exclusive`: two lists. Number k is of the
 * elements from 2^(k-1) to 2^k - 1, their greatest error and its place. An
 * error is a fraction of the sum of absolute values up to the element; of int,
 * whose sums wrap, it is the difference. x and y are Arrays of one type, real
 * or int, with as many elements.
 * Example:
 * local x = cl.array("float", 4, {1, 2, 3, 4})
 * local errors = host.scan_errors(cl.array("float", 4, {1, 3, 6, 15}), x)
 * print(errors[2], errors[3]) --> 0.0 0.5
 */
static int host_scan_errors(lua_State *L) {
  lua_settop(L, 3);
  const Array *y = clsh_array_check(L, 1), *x = clsh_array_check(L, 2);
  bool exclusive = lua_toboolean(L, 3), real = x->type->kind == 'f';
  clsh_hostcheck_same(L, y, x);
  if (x->type != clsh_type_find("int", 3))
    clsh_hostcheck_reals(L, 2, false);
  if (x->shape.count != y->shape.count)
    return clsh_error(L, "x and y must have as many elements; got %I and %I",
                      (LUAI_UACINT)x->shape.count,
                      (LUAI_UACINT)y->shape.count);
  double *a = lua_newuserdatauv(L, 2 * STEP * sizeof *a, 0), *b = a + STEP;
  Sum sum = {0, 0, 0};
  uint32_t wrapped = 0;
  lua_newtable(L);
  lua_newtable(L);
  for (size_t k = 1, i = 0; i < x->shape.count; k++) {
    Worst worst = {0, i, 0};
    size_t end = x->shape.count < 2 * i + 1 ? x->shape.count : 2 * i + 1;
    for (size_t n; i < end; i += n) {
      n = end - i < STEP ? end - i : STEP;
      clsh_poll(L);
      const char *p = clsh_array_data(L, x), *q = clsh_array_data(L, y);
      if (real) {
        clsh_number_loadreals(x->type, p + i * x->type->size, n, a);
        clsh_number_loadreals(y->type, q + i * y->type->size, n, b);
        if (x->type->unit == sizeof(double))
          comparereals(&sum, a, b, i, n, exclusive, true, &worst);
        else
          comparereals(&sum, a, b, i, n, exclusive, false, &worst);
      } else {
        compareints(&wrapped, (const int32_t *)p + i, (const int32_t *)q + i,
                    i, n, exclusive, &worst);
      }
    }
    lua_pushnumber(L, worst.err);
    lua_rawseti(L, -3, (lua_Integer)k);
    lua_pushinteger(L, (lua_Integer)worst.row + 1);
    lua_rawseti(L, -2, (lua_Integer)k);
  }
  return 2;
}

void clsh_hostscan_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"scan_errors", host_scan_errors},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
