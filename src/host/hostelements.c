/*
** hostelements.c - cl.host.calculate: an expression of arrays/expression.lua
** on Arrays, run by run of their elements.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

#define MOSTDIMS 8    /* of the elements of a calculation */
#define MOSTSTEPS 512 /* operations and operands of a calculation */

/* The elements of a run: of reals x, of integers v. */
typedef union Elements {
  double x[RUN];
  int64_t v[RUN];
} Elements;

/* Index i of a dimension is (first + i * step) modulo size, if size > 0. */
typedef struct Rotation {
  int64_t first, step, size;
} Rotation;

/* Where the elements of an Array lie, counted in elements. */
typedef struct Place {
  const Array *array;
  bool flat; /* one behind the other from the first one on */
  int64_t start, stride[MOSTDIMS];
  Rotation by[MOSTDIMS];
} Place;

/* An operand (`place` or a constant) or an operation on those before it. */
typedef struct Step {
  const Type *type, *work; /* of the result; that operands get */
  const Function *f;       /* NULL for "to" and "where", and for operands */
  bool where;
  int n, operand[3];
  Place place; /* its array is NULL but for Arrays */
  Elements *elements;
} Step;

typedef struct Calculation {
  int ndims;
  size_t dim[MOSTDIMS], count; /* the shape of the result */
  Place out;
  int n;
  Step *steps;
} Calculation;

/* Cuts integers to a type. */
static void cut(const Type *t, Elements *e, size_t n) {
  int spare = 64 - 8 * t->unit;
  if (t->kind == 'u')
    for (size_t i = 0; i < n; i++)
      e->v[i] = (int64_t)((uint64_t)e->v[i] << spare >> spare);
  else
    for (size_t i = 0; i < n; i++)
      e->v[i] = (int64_t)((uint64_t)e->v[i] << spare) >> spare;
}

/* Towards zero; the nearest end beyond the type, and 0 for NaN. */
static int64_t cutreal(const Type *t, double x) {
  int bits = 8 * t->unit - (t->kind == 'i');
  double hi = ldexp(1, bits), lo = t->kind == 'i' ? -hi : 0;
  if (isnan(x) || (t->kind == 'u' && x < 1))
    return 0;
  if (x >= hi)
    return t->kind == 'i' ? (int64_t)(((uint64_t)1 << bits) - 1)
                          : (int64_t)(UINT64_MAX >> (64 - bits));
  if (x <= lo)
    return bits == 63 ? INT64_MIN : -((int64_t)1 << bits);
  return x >= 0x1p63 ? (int64_t)(uint64_t)x : (int64_t)x;
}

static double toreal(const Type *t, bool big, int64_t v) {
  if (t->unit == 4)
    return big ? (double)(float)(uint64_t)v : (double)(float)v;
  return big ? (double)(uint64_t)v : (double)v;
}

/* Elements of type `from` as those of type `to`; `e` may be `r`. */
static void convert(const Type *from, const Elements *e, const Type *to,
                    Elements *r, size_t n) {
  bool big = from->kind == 'u' && from->unit == 8;
  if (from->kind == 'f' && to->kind == 'f') {
    for (size_t i = 0; i < n; i++)
      r->x[i] =
          to->unit < from->unit ? clsh_number_round(to, e->x[i]) : e->x[i];
  } else if (to->kind == 'f') {
    for (size_t i = 0; i < n; i++)
      r->x[i] = clsh_number_round(to, toreal(to, big, e->v[i]));
  } else if (from->kind == 'f') {
    for (size_t i = 0; i < n; i++)
      r->v[i] = cutreal(to, e->x[i]);
  } else {
    if (e != r)
      memcpy(r->v, e->v, n * sizeof r->v[0]);
    cut(to, r, n);
  }
}

/* The index in memory of the element at these indexes. */
static int64_t locate(const Calculation *c, const Place *p, const size_t *at) {
  int64_t k = p->start;
  for (int d = 0; d < c->ndims; d++) {
    int64_t i = (int64_t)at[d];
    const Rotation *by = &p->by[d];
    if (by->size > 0) {
      i = by->first + i * by->step;
      i += i < 0 ? by->size : i < by->size ? 0 : -by->size;
    }
    k += i * p->stride[d];
  }
  return k;
}

/* The indexes of element `i`, from 0, of the result. */
static void coordinates(const Calculation *c, size_t i, size_t *at) {
  for (int d = c->ndims - 1; d >= 0; d--) {
    at[d] = i % c->dim[d];
    i /= c->dim[d];
  }
}

static void advance(const Calculation *c, size_t *at) {
  for (int d = c->ndims - 1; d >= 0 && ++at[d] == c->dim[d]; d--)
    at[d] = 0;
}

/* Copies the n elements from number `first` on, between memory and a row. */
static void gather(lua_State *L, const Calculation *c, const Place *p,
                   size_t first, size_t n, char *row, bool store) {
  size_t at[MOSTDIMS], unit = p->array->type->unit;
  char *data = clsh_array_data(L, p->array);
  coordinates(c, first, at);
  for (size_t i = 0; i < n; i++, row += unit, advance(c, at)) {
    char *q = data + locate(c, p, at) * (int64_t)unit;
    memcpy(store ? q : row, store ? row : q, unit);
  }
}

static void load(lua_State *L, const Calculation *c, const Step *s,
                 size_t first, size_t n) {
  const Place *p = &s->place;
  const Type *t = p->array->type;
  Elements row;
  const char *q = (const char *)&row;
  if (p->flat)
    q = (const char *)clsh_array_data(L, p->array) + first * t->unit;
  else
    gather(L, c, p, first, n, (char *)&row, false);
  if (t->kind == 'f')
    clsh_number_loadreals(t, q, n, s->elements->x);
  else
    clsh_number_loadintegers(t, q, n, s->elements->v);
}

static void store(lua_State *L, const Calculation *c, const Elements *e,
                  size_t first, size_t n) {
  const Place *p = &c->out;
  const Type *t = p->array->type;
  Elements row;
  char *q = (char *)&row;
  if (p->flat)
    q = (char *)clsh_array_data(L, p->array) + first * t->unit;
  if (t->kind == 'f')
    clsh_number_storereals(t, e->x, n, q);
  else
    clsh_number_storeintegers(t, e->v, n, q);
  if (!p->flat)
    gather(L, c, p, first, n, q, true);
}

static void doreals(const Step *s, const Elements *const *o, size_t n) {
  Elements *r = s->elements;
  const double *a = o[0]->x, *b = o[1]->x, *c = o[2]->x;
  const Function *f = s->f;
  Elements x;
  if (f->real.all != NULL)
    f->real.all(n, a, b, x.x);
  else if (s->n == 1)
    for (size_t i = 0; i < n; i++)
      x.x[i] = f->real.one(a[i]);
  else if (s->n == 2)
    for (size_t i = 0; i < n; i++)
      x.x[i] = f->real.two(a[i], b[i]);
  else
    for (size_t i = 0; i < n; i++)
      x.x[i] = f->real.three(a[i], b[i], c[i]);
  if (s->type->kind != 'f')
    for (size_t i = 0; i < n; i++)
      r->v[i] = x.x[i] != 0;
  else if (s->type->unit == 4)
    for (size_t i = 0; i < n; i++)
      r->x[i] = (double)(float)x.x[i];
  else
    memcpy(r->x, x.x, n * sizeof x.x[0]);
}

static void dointegers(const Step *s, const Elements *const *o, size_t n) {
  const Type *t = s->work;
  const int64_t *a = o[0]->v, *b = o[1]->v, *c = o[2]->v;
  const Function *f = s->f;
  int64_t *r = s->elements->v;
  if (f->integer.all != NULL)
    f->integer.all(n, a, b, r);
  else if (s->n == 1)
    for (size_t i = 0; i < n; i++)
      r[i] = f->integer.one(t, a[i]);
  else if (s->n == 2)
    for (size_t i = 0; i < n; i++)
      r[i] = f->integer.two(t, a[i], b[i]);
  else
    for (size_t i = 0; i < n; i++)
      r[i] = f->integer.three(t, a[i], b[i], c[i]);
  cut(s->type, s->elements, n);
}

/* Elements of b where those of the condition are not 0, of c elsewhere. */
static void dowhere(const Step *s, const Step *condition,
                    const Elements *const *o, size_t n) {
  const Elements *e = condition->elements;
  for (size_t i = 0; i < n; i++) {
    bool other = condition->type->kind == 'f' ? e->x[i] == 0 : e->v[i] == 0;
    s->elements->v[i] = o[other ? 2 : 1]->v[i]; /* the bits */
  }
}

static void dostep(const Calculation *c, const Step *s, size_t n) {
  Elements converted[3];
  const Elements *o[3] = {s->elements, s->elements, s->elements};
  for (int k = s->where ? 1 : 0; k < s->n; k++) {
    const Step *a = &c->steps[s->operand[k]];
    o[k] = a->elements;
    if (a->type != s->work) {
      convert(a->type, a->elements, s->work, &converted[k], n);
      o[k] = &converted[k];
    }
  }
  if (s->where)
    dowhere(s, &c->steps[s->operand[0]], o, n);
  else if (s->f == NULL)
    memcpy(s->elements, o[0], sizeof *o[0]);
  else if (s->work->kind == 'f')
    doreals(s, o, n);
  else
    dointegers(s, o, n);
}

static void calculate(lua_State *L, const Calculation *c) {
  const Step *last = &c->steps[c->n - 1];
  const Type *t = c->out.array->type;
  for (size_t first = 0, n; first < c->count; first += n) {
    Elements result;
    n = c->count - first < RUN ? c->count - first : RUN;
    clsh_poll(L);
    for (int k = 0; k < c->n; k++) {
      const Step *s = &c->steps[k];
      if (s->place.array != NULL)
        load(L, c, s, first, n);
      else if (s->n > 0)
        dostep(c, s, n);
    }
    convert(last->type, last->elements, t, &result, n);
    store(L, c, &result, first, n);
  }
}

static int64_t checkfield(lua_State *L, int at, const char *name) {
  int whole;
  lua_getfield(L, at, name);
  int64_t x = lua_tointegerx(L, -1, &whole);
  if (!whole)
    clsh_error(L, "calculate: %s must be an integer", name);
  lua_pop(L, 1);
  return x;
}

/* All indexes in memory are those of the Array, rotations wrap once. */
static void checkreach(lua_State *L, const Calculation *c, const Place *p) {
  Wide least = p->start, most = p->start;
  for (int d = 0; d < c->ndims; d++) {
    int64_t n = p->by[d].size > 0 ? p->by[d].size : (int64_t)c->dim[d];
    Wide far = (Wide)(n - 1) * p->stride[d];
    Wide turn = p->by[d].first + (Wide)(c->dim[d] - 1) * p->by[d].step;
    if (p->by[d].size > 0 && (p->by[d].first < 0 || p->by[d].first >= n ||
                              turn <= -n || turn >= 2 * (Wide)n))
      least = -1;
    least += far < 0 ? far : 0;
    most += far > 0 ? far : 0;
  }
  if (least < 0 || most >= (Wide)p->array->shape.count)
    clsh_error(L, "calculate: elements outside the Array");
}

/* The place at index `at`: {array, start, strides, by, flat}. */
static void checkplace(lua_State *L, int at, const Calculation *c, Place *p) {
  int top = lua_gettop(L);
  lua_getfield(L, at, "array");
  p->array = clsh_array_check(L, lua_gettop(L));
  lua_getfield(L, at, "flat");
  p->flat = lua_toboolean(L, -1);
  p->start = checkfield(L, at, "start");
  lua_getfield(L, at, "strides");
  lua_getfield(L, at, "by");
  int strides = lua_gettop(L) - 1, by = lua_gettop(L);
  for (int d = 0; d < c->ndims; d++) {
    lua_geti(L, strides, d + 1);
    p->stride[d] = luaL_checkinteger(L, -1);
    if (lua_geti(L, by, d + 1) == LUA_TTABLE) {
      int r = lua_gettop(L);
      p->by[d] =
          (Rotation){checkfield(L, r, "first"), checkfield(L, r, "step"),
                     checkfield(L, r, "size")};
    }
    lua_pop(L, 2);
  }
  if (p->array->type->width != 1 ||
      (p->flat && c->count > p->array->shape.count))
    clsh_error(L, "calculate: an Array %s is no operand",
               clsh_array_name(L, p->array));
  checkreach(L, c, p);
  lua_settop(L, top);
}

static const Type *checktype(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  const Type *t = clsh_type_check(L, lua_gettop(L));
  lua_pop(L, 1);
  return t;
}

static void checkconstant(lua_State *L, int at, const Calculation *c,
                          Step *s) {
  lua_getfield(L, at, "value");
  for (size_t i = 0; i < RUN && i < c->count; i++)
    if (s->type->kind == 'f')
      s->elements->x[i] = clsh_number_round(s->type, lua_tonumber(L, -1));
    else
      s->elements->v[i] = lua_tointeger(L, -1);
  lua_pop(L, 1);
}

static void checkoperation(lua_State *L, int at, const Calculation *c,
                           Step *s) {
  s->work = checktype(L, at, "work");
  lua_getfield(L, at, "op");
  const char *op = luaL_checkstring(L, -1);
  for (s->n = 0; s->n < 3; s->n++) {
    if (lua_geti(L, at, s->n + 1) == LUA_TNIL)
      break;
    lua_Integer k = lua_tointeger(L, -1);
    if (k < 1 || k > s - c->steps)
      clsh_error(L, "calculate: no operand %I", k);
    s->operand[s->n] = (int)k - 1;
    lua_pop(L, 1);
  }
  s->where = strcmp(op, "where") == 0;
  s->f = clsh_hostfunction_find(op, s->work, s->n);
  if (s->f == NULL && !(s->where && s->n == 3) &&
      !(strcmp(op, "to") == 0 && s->n == 1))
    clsh_error(L, "calculate: no operation '%s' of %d operands of %s", op,
               s->n, s->work->name);
  lua_settop(L, at);
}

static void checkstep(lua_State *L, int at, const Calculation *c, Step *s) {
  s->type = checktype(L, at, "type");
  lua_getfield(L, at, "op");
  const char *op = luaL_checkstring(L, -1);
  if (strcmp(op, "leaf") == 0)
    checkplace(L, at, c, &s->place);
  else if (strcmp(op, "constant") == 0)
    checkconstant(L, at, c, s);
  else
    checkoperation(L, at, c, s);
  lua_settop(L, at);
}

/*
** calculate(shape, out, steps) sets the elements at the place `out`, in the
** dimensions of the shape, to the last one of `steps`. Each is {op, type} with
** a place, a value, or the numbers of steps before it as operands and the type
** `work` that they get.
*/
static int host_calculate(lua_State *L) {
  Calculation c = {.n = 0};
  for (int arg = 1; arg <= 3; arg++)
    luaL_checktype(L, arg, LUA_TTABLE);
  lua_settop(L, 3);
  c.ndims = clsh_shape_sizes(L, 1, "the shape", MOSTDIMS, 1, c.dim);
  c.count = 1;
  for (int d = 0; d < c.ndims; d++) {
    if (c.dim[d] > PTRDIFF_MAX / c.count)
      return clsh_error_arg(L, 1, "the shape is too large");
    c.count *= c.dim[d];
  }
  checkplace(L, 2, &c, &c.out);
  size_t n = lua_rawlen(L, 3), size = sizeof(Step) + sizeof(Elements);
  if (n < 1 || n > MOSTSTEPS)
    return clsh_error_arg(L, 3, "1 to %d steps; got %I", MOSTSTEPS,
                          (LUAI_UACINT)n);
  c.steps = memset(lua_newuserdatauv(L, n * size, 0), 0, n * sizeof(Step));
  for (; c.n < (int)n; c.n++) {
    Step *s = &c.steps[c.n];
    s->elements = (Elements *)(void *)(c.steps + n) + c.n;
    lua_geti(L, 3, c.n + 1);
    luaL_checktype(L, 5, LUA_TTABLE);
    checkstep(L, 5, &c, s);
    lua_settop(L, 4);
  }
  calculate(L, &c);
  return 0;
}

/* share(a, b): whether two Arrays have memory in common */
static int host_share(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  lua_pushboolean(L, a->block == b->block);
  return 1;
}

void clsh_hostelements_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"calculate", host_calculate}, {"share", host_share}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
