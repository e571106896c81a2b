/*
** hosttotals.c - cl.host: the elements of an Array become one, all of them or
** those along a dimension; or each becomes the sum of those up to it.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

/* What elements seen so far come to. */
typedef struct State {
  double x, lost; /* of reals; what additions to x lost */
  int64_t v;      /* of integers, or a truth */
  int64_t at;     /* the place of the element that is the result, from 0 */
} State;

/* Takes element number k, from 0: x of a type of reals, v of another one. */
typedef void Take(const Type *t, State *s, double x, int64_t v, int64_t k);

typedef struct Total {
  const char *name;
  char result; /* 'e': an element, 'k': its place from 1, 'v': a truth */
  Take *take;
} Total;

/* {out, many, inner}: element k of result r, of `inner` that lie side by side,
** is number (r / inner * many + k) * inner + r % inner. */
typedef struct Walk {
  const Array *x, *out;
  size_t outer, many, inner;
  const Total *total;
  bool each; /* a result for each element, of those up to it */
} Walk;

/* Reals carry what each addition lost (Neumaier). */
static void sum(const Type *t, State *s, double x, int64_t v, int64_t k) {
  (void)k;
  if (t->kind == 'f') {
    double y = s->x + x;
    if (isfinite(y))
      s->lost += fabs(s->x) >= fabs(x) ? s->x - y + x : x - y + s->x;
    else
      s->lost = 0;
    s->x = y;
  } else {
    s->v = (int64_t)((uint64_t)s->v + (uint64_t)v);
  }
}

/* The first NaN comes before all others. */
static void extreme(const Type *t, State *s, double x, int64_t v, int64_t k,
                    bool greatest) {
  bool better = t->kind == 'f'   ? greatest ? x > s->x : x < s->x
                : t->kind == 'i' ? greatest ? v > s->v : v < s->v
                : greatest       ? (uint64_t)v > (uint64_t)s->v
                                 : (uint64_t)v < (uint64_t)s->v;
  if (k == 0 || (!isnan(s->x) && (better || isnan(x))))
    *s = (State){.x = x, .v = v, .at = k};
}

static void least(const Type *t, State *s, double x, int64_t v, int64_t k) {
  extreme(t, s, x, v, k, false);
}

static void most(const Type *t, State *s, double x, int64_t v, int64_t k) {
  extreme(t, s, x, v, k, true);
}

static bool truth(const Type *t, double x, int64_t v) {
  return t->kind == 'f' ? x != 0 : v != 0; /* of a NaN too */
}

static void any(const Type *t, State *s, double x, int64_t v, int64_t k) {
  (void)k;
  s->v = s->v || truth(t, x, v);
}

static void all(const Type *t, State *s, double x, int64_t v, int64_t k) {
  s->v = (k == 0 || s->v) && truth(t, x, v);
}

static const Total totals[] = {
    {"all", 'v', all},      {"any", 'v', any},  {"argmax", 'k', most},
    {"argmin", 'k', least}, {"max", 'e', most}, {"min", 'e', least},
    {"sum", 'e', sum},
};

/* n elements from number `first` on: x of reals, v of integers. */
static void load(lua_State *L, const Array *a, size_t first, size_t n,
                 double *x, int64_t *v) {
  const Type *t = a->type;
  const char *p = (const char *)clsh_array_data(L, a) + first * t->unit;
  if (t->kind == 'f')
    clsh_number_loadreals(t, p, n, x);
  else
    clsh_number_loadintegers(t, p, n, v);
}

static void store(lua_State *L, const Walk *w, const State *s, size_t first,
                  size_t n) {
  const Type *t = w->out->type;
  char *p = (char *)clsh_array_data(L, w->out) + first * t->unit;
  double x[RUN];
  int64_t v[RUN];
  for (size_t i = 0; i < n; i++)
    if (t->kind == 'f')
      x[i] = s[i].x + s[i].lost;
    else
      v[i] = w->total->result == 'k' ? s[i].at + 1 : s[i].v;
  if (t->kind == 'f')
    clsh_number_storereals(t, x, n, p);
  else
    clsh_number_storeintegers(t, v, n, p);
}

/* Takes n elements from number `first` on, which are those from number k on
** of one result, or number k of n results. */
static void run(lua_State *L, const Walk *w, State *s, size_t first, size_t n,
                size_t k, bool one) {
  double x[RUN] = {0};
  int64_t v[RUN] = {0};
  State each[RUN];
  const Type *t = w->x->type;
  clsh_poll(L);
  load(L, w->x, first, n, x, v);
  for (size_t i = 0; i < n; i++) {
    State *of = &s[one ? 0 : i];
    w->total->take(t, of, x[i], v[i], (int64_t)(k + (one ? i : 0)));
    if (w->each)
      each[i] = *of;
  }
  if (w->each)
    store(L, w, each, first, n);
}

static void walk(lua_State *L, const Walk *w) {
  State s[RUN];
  for (size_t o = 0; o < w->outer; o++)
    for (size_t j = 0, n; j < w->inner; j += n) {
      n = w->inner - j < RUN ? w->inner - j : RUN;
      memset(s, 0, n * sizeof s[0]);
      if (w->inner == 1)
        for (size_t k = 0, m; k < w->many; k += m) {
          m = w->many - k < RUN ? w->many - k : RUN;
          run(L, w, s, o * w->many + k, m, k, true);
        }
      else
        for (size_t k = 0; k < w->many; k++)
          run(L, w, s, (o * w->many + k) * w->inner + j, n, k, false);
      if (!w->each)
        store(L, w, s, o * w->inner + j, n);
    }
}

static const Total *checktotal(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
  for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++)
    if (strcmp(totals[i].name, name) == 0)
      return &totals[i];
  clsh_error_arg(L, arg, "no total '%s'", name);
  return NULL;
}

/* The Arrays x and out at `arg` and behind it, then many and inner. */
static Walk checkwalk(lua_State *L, int arg, const Total *total, bool each) {
  Walk w = {.total = total, .each = each};
  w.x = clsh_array_check(L, arg);
  w.out = clsh_array_check(L, arg + 1);
  w.many = clsh_shape_count(L, arg + 2, "many");
  w.inner = clsh_shape_count(L, arg + 3, "inner");
  size_t n = w.x->shape.count;
  if (w.x->type->width != 1 || w.out->type->width != 1)
    clsh_error(L, "a total takes Arrays of scalars");
  if (w.many < 1 || w.inner < 1 || w.many > n || n / w.many % w.inner != 0 ||
      n % w.many != 0)
    clsh_error_arg(L, arg + 2, "%I times %I elements are not those of %s",
                   (lua_Integer)w.many, (lua_Integer)w.inner,
                   clsh_array_name(L, w.x));
  w.outer = n / w.many / w.inner;
  bool reals = w.out->type->kind == 'f';
  if (w.out->shape.count != (each ? n : n / w.many) ||
      reals != (total->result == 'e' && w.x->type->kind == 'f'))
    clsh_error_arg(L, arg + 1, "an Array %s cannot hold the results",
                   clsh_array_name(L, w.out));
  return w;
}

/*
** total(name, x, out, many, inner) sets the elements of `out` to totals of
** `many` elements of x each, which lie `inner` elements apart. Sums of reals
** are made in double and compensated.
*/
static int host_total(lua_State *L) {
  Walk w = checkwalk(L, 2, checktotal(L, 1), false);
  walk(L, &w);
  return 0;
}

/*
** cumsum(x, out, many, inner) sets each element of `out` to the sum of those
** of x up to it, see total.
*/
static int host_cumsum(lua_State *L) {
  static const Total running = {"sum", 'e', sum};
  Walk w = checkwalk(L, 1, &running, true);
  walk(L, &w);
  return 0;
}

void clsh_hosttotals_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"cumsum", host_cumsum}, {"total", host_total}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
