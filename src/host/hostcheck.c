/*
** hostcheck.c - cl.host: operands and options checked, errors scaled.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

/* The error of `got` in units of `scale`: 0/0 is 0; NaN is infinite. */
double clsh_hostcheck_scaled(double got, double expected, double scale) {
  double d = fabs(got - expected);
  if (d == 0)
    return 0;
  return isfinite(d) && isfinite(scale) ? d / scale : HUGE_VAL;
}

void clsh_hostcheck_worse(Worst *w, double err, size_t row, size_t col) {
  if (err <= w->err)
    return;
  w->err = err;
  w->row = row;
  w->col = col;
}

/* Pushes the first `n` of: the greatest error, its row, its column. */
int clsh_hostcheck_pushworst(lua_State *L, const Worst *w, int n) {
  lua_pushnumber(L, w->err);
  lua_pushinteger(L, (lua_Integer)w->row + 1);
  lua_pushinteger(L, (lua_Integer)w->col + 1);
  lua_pop(L, 3 - n);
  return n;
}

/* `n` elements of an open array of reals, from number `i` on, as doubles. */
void clsh_hostcheck_load(const Array *a, size_t i, size_t n, double *x) {
  const char *p = a->block->data;
  clsh_number_loadreals(a->type, p + i * a->type->unit, n, x);
}

/* The bits of the element at p, of 1, 2, 4 or 8 bytes. */
uint64_t clsh_hostcheck_bits(const void *p, size_t size) {
  uint16_t b2;
  uint32_t b4;
  uint64_t b8;
  switch (size) {
  case 8:
    memcpy(&b8, p, sizeof b8);
    return b8;
  case 4:
    memcpy(&b4, p, sizeof b4);
    return b4;
  case 2:
    memcpy(&b2, p, sizeof b2);
    return b2;
  default:
    return *(const unsigned char *)p;
  }
}

/* A new array of n zeros, on the stack. */
Array *clsh_hostcheck_newvector(lua_State *L, const char *type, size_t n) {
  Shape s = {1, {n}, n};
  return clsh_array_new(L, clsh_type_find(type, strlen(type)), &s);
}

/* The array at `arg`, a matrix of any type. */
const Array *clsh_hostcheck_matrix(lua_State *L, int arg) {
  const Array *a = clsh_array_check(L, arg);
  if (a->shape.ndims != 2)
    clsh_error_arg(L, arg, "must be a matrix; got an Array %s",
                   clsh_array_name(L, a));
  if (a->shape.count == 0)
    clsh_error_arg(L, arg, "must have elements; got an Array %s",
                   clsh_array_name(L, a));
  return a;
}

/* The array at `arg`, of real numbers. */
const Array *clsh_hostcheck_reals(lua_State *L, int arg, bool matrix) {
  const Array *a = clsh_array_check(L, arg);
  if (a->type->kind != 'f' || a->type->width != 1)
    clsh_error_arg(L, arg, "must be an Array of half, float or double; got %s",
                   a->type->name);
  if (matrix)
    clsh_hostcheck_matrix(L, arg);
  return a;
}

/* The matrix at `arg`: of reals, or of signed integers of `unit` bytes. */
const Array *clsh_hostcheck_numbers(lua_State *L, int arg, size_t unit) {
  const Array *a = clsh_array_check(L, arg);
  if (a->type->kind == 'i' && a->type->unit == unit && a->type->width == 1)
    return clsh_hostcheck_matrix(L, arg);
  return clsh_hostcheck_reals(L, arg, true);
}

void clsh_hostcheck_same(lua_State *L, const Array *a, const Array *b) {
  if (a->type != b->type)
    clsh_error(L, "the arrays must be of one type; got %s and %s",
               a->type->name, b->type->name);
}

double clsh_hostcheck_number(lua_State *L, int arg, const char *name,
                             double def) {
  if (clsh_option_push(L, arg, name) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER)
      clsh_error(L, "option %s must be a number; got %s", name,
                 luaL_typename(L, -1));
    def = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return def;
}

/* Raises unless `c`, named `name`, is of m x n. */
void clsh_hostcheck_extent(lua_State *L, const Array *c, const char *name,
                           const Gemm *g) {
  if (c->shape.dim[0] != g->m || c->shape.dim[1] != g->n)
    clsh_error(L, "%s is %I x %I, the product is %I x %I", name,
               (lua_Integer)c->shape.dim[0], (lua_Integer)c->shape.dim[1],
               (lua_Integer)g->m, (lua_Integer)g->n);
}

/*
** The operands A and B at `a` and `a` + 1 and the options after them. C0
** (or nil) is left on the stack, so that it lives as long as it is used.
*/
void clsh_hostcheck_gemm(lua_State *L, int a, const char *names,
                         const char *what, Gemm *g) {
  int opts = a + 2;
  g->a = clsh_hostcheck_numbers(L, a, 1);
  g->b = clsh_hostcheck_numbers(L, a + 1, 1);
  clsh_option_check(L, opts, names, what);
  g->trans_a = clsh_option_flag(L, opts, "trans_a", false);
  g->trans_b = clsh_option_flag(L, opts, "trans_b", false);
  g->m = g->a->shape.dim[g->trans_a ? 1 : 0];
  g->k = g->a->shape.dim[g->trans_a ? 0 : 1];
  g->n = g->b->shape.dim[g->trans_b ? 0 : 1];
  if (g->b->shape.dim[g->trans_b ? 1 : 0] != g->k)
    clsh_error(L, "%s: A is %I x %I, B is %I x %I: they do not multiply", what,
               (lua_Integer)g->m, (lua_Integer)g->k,
               (lua_Integer)g->b->shape.dim[0], (lua_Integer)g->n);
  g->alpha = clsh_hostcheck_number(L, opts, "alpha", 1);
  g->beta = clsh_hostcheck_number(L, opts, "beta", 0);
  g->c0 = NULL;
  if (clsh_option_push(L, opts, "C0") != LUA_TNIL && g->beta != 0) {
    if (clsh_array_test(L, -1) == NULL)
      clsh_error(L, "option C0 must be an open Array; got %s",
                 luaL_typename(L, -1));
    g->c0 = clsh_hostcheck_numbers(L, lua_gettop(L), 4);
    clsh_hostcheck_extent(L, g->c0, "C0", g);
  }
  if (g->beta != 0 && g->c0 == NULL)
    clsh_error(L, "%s: beta is %f, so C0 is needed", what, g->beta);
}

/*
** Rounds alpha and beta to type `t` of C, as kernels have them. As in BLAS a
** factor of 0 reads no operand: with alpha 0 neither A nor B, with beta 0 not
** C0. A NaN there does not reach the result.
*/
void clsh_hostcheck_factors(Gemm *g, const Type *t) {
  g->whole = t->kind == 'i';
  if (clsh_type_isstored(t)) /* kernels have floats */
    t = clsh_type_find("float", 5);
  if (!g->whole) {
    g->alpha = clsh_number_round(t, g->alpha);
    g->beta = clsh_number_round(t, g->beta);
  }
  if (g->alpha == 0)
    g->k = 0;
  if (g->beta == 0)
    g->c0 = NULL;
}

/* C of a product, on the stack: beta C0, or zeros. */
Array *clsh_hostcheck_newproduct(lua_State *L, const Gemm *g) {
  Shape s = {2, {g->m, g->n}, g->m * g->n};
  if (g->m > PTRDIFF_MAX / g->n / g->a->type->size)
    clsh_error(L, "a product of %I x %I is too large", (lua_Integer)g->m,
               (lua_Integer)g->n);
  Array *c = clsh_array_new(L, g->a->type, &s);
  clsh_array_data(L, g->a);
  clsh_array_data(L, g->b);
  if (g->c0 != NULL)
    memcpy(c->block->data, clsh_array_data(L, g->c0), clsh_array_bytes(c));
  return c;
}
