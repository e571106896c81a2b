/*
** hostplaces.c - cl.host: elements of Arrays that move to or from places which
** other elements tell, runs of equal elements, and histograms.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

#define STEP 65536 /* elements between two questions for Ctrl-C */

/* The Array of scalars at `arg`; of the type and the count of others. */
static Array *checkvector(lua_State *L, int arg, const Type *t, size_t count) {
  Array *a = clsh_array_check(L, arg);
  if (a->type->width != 1 || (t != NULL && a->type != t) ||
      (count > 0 && a->shape.count != count))
    clsh_error_arg(L, arg, "an Array %s does not fit here",
                   clsh_array_name(L, a));
  clsh_array_data(L, a); /* it is open */
  return a;
}

static const Type *longs(void) {
  return clsh_type_find("long", 4);
}

/* The data of an Array from element i on; raises where it is closed. */
static char *at(lua_State *L, const Array *a, size_t i) {
  return (char *)clsh_array_data(L, a) + i * a->type->size;
}

/* How many elements come next. Ctrl-C may end the call here, and a hook may
** close an Array. */
static size_t part(lua_State *L, size_t first, size_t n) {
  clsh_poll(L);
  return n - first < STEP ? n - first : STEP;
}

/*
** outside(index, n) -> the number of the first element of an Array of long
** that is not one of 1..n, or nil
*/
static int host_outside(lua_State *L) {
  const Array *index = checkvector(L, 1, longs(), 0);
  uint64_t n = (uint64_t)luaL_checkinteger(L, 2);
  for (size_t i = 0, m; i < index->shape.count; i += m) {
    m = part(L, i, index->shape.count);
    const int64_t *k = (const int64_t *)(void *)at(L, index, i);
    for (size_t j = 0; j < m; j++)
      if ((uint64_t)k[j] - 1 >= n) {
        lua_pushinteger(L, (lua_Integer)(i + j) + 1);
        return 1;
      }
  }
  return 0;
}

/* Moves elements of `all`, which an index names, to `list` or from there, in
** which an element stands for each index, or one for all. */
static void move(lua_State *L, const Array *all, const Array *index,
                 const Array *list, bool store) {
  size_t size = all->type->size, count = all->shape.count;
  bool one = list->shape.count == 1;
  for (size_t i = 0, m; i < index->shape.count; i += m) {
    m = part(L, i, index->shape.count);
    const int64_t *k = (const int64_t *)(void *)at(L, index, i);
    char *q = at(L, list, one ? 0 : i), *p = at(L, all, 0);
    for (size_t j = 0; j < m; j++, q += one ? 0 : size) {
      uint64_t place = (uint64_t)k[j] - 1;
      if (place >= count) {
        if (!store)
          memset(q, 0, size);
      } else if (store) {
        memcpy(p + place * size, q, size);
      } else {
        memcpy(q, p + place * size, size);
      }
    }
  }
}

/*
** gather(x, index, out) sets each element of `out` to that of x whose number,
** from 1, an Array of long tells; to 0 where x has none.
*/
static int host_gather(lua_State *L) {
  const Array *x = checkvector(L, 1, NULL, 0);
  const Array *index = checkvector(L, 2, longs(), 0);
  move(L, x, index, checkvector(L, 3, x->type, index->shape.count), false);
  return 0;
}

/*
** scatter(x, index, values) sets the elements of x with these numbers, in
** turn; those that x does not have are left out.
*/
static int host_scatter(lua_State *L) {
  const Array *x = checkvector(L, 1, NULL, 0);
  const Array *index = checkvector(L, 2, longs(), 0);
  const Array *values = checkvector(L, 3, x->type, 0);
  if (values->shape.count != 1 && values->shape.count != index->shape.count)
    return clsh_error_arg(L, 3, "%I values for %I places",
                          (lua_Integer)values->shape.count,
                          (lua_Integer)index->shape.count);
  move(L, x, index, values, true);
  return 0;
}

/*
** compact(x, mask, out) sets the elements of `out` to those of x where the
** mask, an Array of int, is not 0: as many as `out` has.
*/
static int host_compact(lua_State *L) {
  const Array *x = checkvector(L, 1, NULL, 0);
  const Array *mask =
      checkvector(L, 2, clsh_type_find("int", 3), x->shape.count);
  const Array *out = checkvector(L, 3, x->type, 0);
  size_t size = x->type->size, n = 0;
  for (size_t i = 0, m; i < x->shape.count; i += m) {
    m = part(L, i, x->shape.count);
    const int32_t *taken = (const int32_t *)(void *)at(L, mask, i);
    const char *p = at(L, x, i);
    for (size_t j = 0; j < m && n < out->shape.count; j++)
      if (taken[j] != 0)
        memcpy(at(L, out, n++), p + j * size, size);
  }
  return 0;
}

/* Whether elements are one: all NaN are, and so are -0.0 and 0.0. */
static bool equal(const Type *t, const char *p, const char *q) {
  double x[2];
  if (t->kind != 'f')
    return memcmp(p, q, t->size) == 0;
  clsh_number_loadreals(t, p, 1, &x[0]);
  clsh_number_loadreals(t, q, 1, &x[1]);
  return x[0] == x[1] || (isnan(x[0]) && isnan(x[1]));
}

/* Counts the runs of equal elements; the first one of each, and its length, go
** to Arrays if there are. */
static size_t runs(lua_State *L, const Array *y, const Array *values,
                   const Array *counts) {
  size_t size = y->type->size, n = 0;
  for (size_t i = 0, m; i < y->shape.count; i += m) {
    m = part(L, i, y->shape.count);
    const char *p = at(L, y, i);
    uint32_t *length =
        counts == NULL ? NULL : (uint32_t *)(void *)at(L, counts, 0);
    for (size_t j = 0; j < m; j++, p += size) {
      bool head = i + j == 0 || !equal(y->type, p - size, p);
      n += head;
      if (head && values != NULL)
        memcpy(at(L, values, n - 1), p, size);
      if (length != NULL)
        length[n - 1] = head ? 1 : length[n - 1] + 1;
    }
  }
  return n;
}

/*
** runs(y) -> values, counts: the different elements of an Array in order, and
** how often there is each, as uint.
*/
static int host_runs(lua_State *L) {
  const Array *y = checkvector(L, 1, NULL, 0);
  size_t n = runs(L, y, NULL, NULL);
  Shape s = {1, {n}, n};
  Array *values = clsh_array_new(L, y->type, &s);
  Array *counts = clsh_array_new(L, clsh_type_find("uint", 4), &s);
  runs(L, y, values, counts);
  return 2;
}

/* The bin, from 0, of a real between the ends: as a device calculates it. */
static uint32_t binofreal(const Type *t, double x, double from, double scale,
                          uint32_t last) {
  double b = t->unit == 4 ? (double)(((float)x - (float)from) * (float)scale)
                          : (x - from) * scale;
  return b < last ? (uint32_t)b : last;
}

static void countreals(const Type *t, const char *p, size_t n,
                       const double *ends, double scale, uint32_t *count,
                       uint32_t last) {
  double x[RUN];
  for (size_t i = 0, m; i < n; i += m) {
    m = n - i < RUN ? n - i : RUN;
    clsh_number_loadreals(t, p + i * t->size, m, x);
    for (size_t j = 0; j < m; j++)
      if (ends[0] <= x[j] && x[j] <= ends[1])
        count[binofreal(t, x[j], ends[0], scale, last)]++;
  }
}

static void countintegers(const Type *t, const char *p, size_t n,
                          const int64_t *ends, uint64_t width,
                          uint32_t *count) {
  uint64_t most = (uint64_t)ends[1] - (uint64_t)ends[0];
  int64_t v[RUN];
  for (size_t i = 0, m; i < n; i += m) {
    m = n - i < RUN ? n - i : RUN;
    clsh_number_loadintegers(t, p + i * t->size, m, v);
    for (size_t j = 0; j < m; j++) {
      uint64_t far = (uint64_t)v[j] - (uint64_t)ends[0];
      if (far <= most)
        count[far / width]++;
    }
  }
}

/*
** histogram(x, from, to, by, counts) adds to an Array of uint how many
** elements lie in each of its bins, see kernels/sort/histogram.cl.
*/
static int host_histogram(lua_State *L) {
  const Array *x = checkvector(L, 1, NULL, 0);
  const Array *counts = checkvector(L, 5, clsh_type_find("uint", 4), 0);
  const Type *t = x->type;
  uint32_t last = (uint32_t)counts->shape.count - 1;
  double reals[2], scale = 1;
  int64_t ends[2];
  uint64_t width = 1;
  if (t->kind == 'f') {
    for (int k = 0; k < 2; k++)
      reals[k] = clsh_number_round(t, luaL_checknumber(L, 2 + k));
    scale = luaL_checknumber(L, 4);
  } else {
    for (int k = 0; k < 2; k++)
      ends[k] = luaL_checkinteger(L, 2 + k);
    width = (uint64_t)luaL_checkinteger(L, 4);
    if (width < 1 || ((uint64_t)ends[1] - (uint64_t)ends[0]) / width > last)
      return clsh_error_arg(L, 4, "more bins than counts");
  }
  for (size_t i = 0, m; i < x->shape.count; i += m) {
    m = part(L, i, x->shape.count);
    uint32_t *count = (uint32_t *)(void *)at(L, counts, 0);
    if (t->kind == 'f')
      countreals(t, at(L, x, i), m, reals, scale, count, last);
    else
      countintegers(t, at(L, x, i), m, ends, width, count);
  }
  return 0;
}

void clsh_hostplaces_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"compact", host_compact},
                                       {"gather", host_gather},
                                       {"histogram", host_histogram},
                                       {"outside", host_outside},
                                       {"runs", host_runs},
                                       {"scatter", host_scatter},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
