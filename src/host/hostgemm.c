/*
** hostgemm.c - cl.host: the matrix product by plain C loops, the floor that a
** device is measured from.
** SPDX-License-Identifier: MIT
*/
#include "host.h"

#define LANES 8 /* compilers vectorise loops of constant counts */

/* Replaces an array of shorter reals at `arg` by a float copy. */
static void widen(lua_State *L, int arg) {
  Array *a = clsh_array_test(L, arg);
  if (a == NULL || a->type->unit >= 4 || a->type->kind != 'f')
    return;
  const Type *t = clsh_type_find("float", 5);
  clsh_array_convert(L, clsh_array_new(L, t, &a->shape), a);
  lua_replace(L, arg);
}

/* c = alpha A B + beta c, in type T; axpy adds a times a row. */
#define PRODUCT(T)                                                            \
  static void axpy_##T(size_t n, T a, const T *restrict x, T *restrict y) {   \
    size_t i = 0;                                                             \
    for (; i + LANES <= n; i += LANES)                                        \
      for (size_t u = 0; u < LANES; u++)                                      \
        y[i + u] += a * x[i + u];                                             \
    for (; i < n; i++)                                                        \
      y[i] += a * x[i];                                                       \
  }                                                                           \
  static void product_##T(lua_State *L, const Gemm *g, T *c) {                \
    const T *a = g->a->block->data, *b = g->b->block->data;                   \
    T alpha = (T)g->alpha, beta = (T)g->beta;                                 \
    for (size_t i = 0; i < g->m; i++, c += g->n) {                            \
      clsh_poll(L);                                                           \
      for (size_t j = 0; g->c0 != NULL && j < g->n; j++)                      \
        c[j] *= beta;                                                         \
      for (size_t k = 0; k < g->k; k++)                                       \
        axpy_##T(g->n, alpha *a[i * g->k + k], b + k * g->n, c);              \
    }                                                                         \
  }
PRODUCT(float)
PRODUCT(double)

/* Narrows a float array at the stack's top to the type of the operands. */
static void narrow(lua_State *L, const Type *t) {
  Array *c = clsh_array_check(L, lua_gettop(L));
  if (c->type != t)
    clsh_array_convert(L, clsh_array_new(L, t, &c->shape), c);
}

/** cl.host.gemm_loop(A, B [, opts]) -> C, seconds
 * alpha*A*B + beta*C0 by three plain loops in C (row, inner, column), one
 * thread, in the element type; half and bfloat16 are computed in float, and
 * of float8 C is of float. The time is the loops' alone.
 * Options:
 *   alpha  1  factor of the product
 *   beta   0  factor of C0
 *   C0     -  the added matrix: an Array of C's shape
 * Example:
 * local A = cl.array("double", {2, 2}, {{1, 2}, {3, 4}})
 * local C = host.gemm_loop(A, A)
 * print(C:at(2, 2)) --> 22.0
 */
static int host_gemm_loop(lua_State *L) {
  Gemm g;
  lua_settop(L, 3);
  clsh_hostcheck_reals(L, 1, true);
  clsh_hostcheck_gemm(L, 1, "alpha beta C0", "gemm_loop", &g); /* C0 at 4 */
  const Type *t = g.a->type;
  clsh_hostcheck_same(L, g.a, g.b);
  if (g.c0 != NULL)
    clsh_hostcheck_same(L, g.a, g.c0);
  for (int i = 1; i <= 4; i++)
    widen(L, i);
  g.a = clsh_array_check(L, 1);
  g.b = clsh_array_check(L, 2);
  g.c0 = g.c0 != NULL ? clsh_array_check(L, 4) : NULL;
  clsh_hostcheck_factors(&g, g.a->type);
  Array *c = clsh_hostcheck_newproduct(L, &g);
  double start = clsh_poll_now();
  if (g.a->type->unit == 4)
    product_float(L, &g, c->block->data);
  else
    product_double(L, &g, c->block->data);
  double seconds = clsh_poll_now() - start;
  if (t->unit > 1)
    narrow(L, t);
  lua_pushnumber(L, seconds);
  return 2;
}

void clsh_hostgemm_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"gemm_loop", host_gemm_loop},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
