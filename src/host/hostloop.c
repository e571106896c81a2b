/*
** hostloop.c - cl.host: plain C loops, the floor a device is measured from,
** and the transpose.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "host.h"

#define LANES 8 /* constant trip counts are what compilers vectorise */
#define TILE 32 /* rows and columns compared together */

/* A half array at `arg` gives way to a float copy of it. */
void clsh_widen(lua_State *L, int arg) {
  Array *a = clsh_testarray(L, arg);
  if (a == NULL || a->type->unit != 2 || a->type->kind != 'f')
    return;
  const Type *t = clsh_findtype("float", 5);
  clsh_convert(L, clsh_newarray(L, t, &a->shape), a);
  lua_replace(L, arg);
}

/* C of a product, on the stack: beta C0, or zeros. */
Array *clsh_startgemm(lua_State *L, const Gemm *g) {
  Shape s = {2, {g->m, g->n}, g->m * g->n};
  if (g->m > PTRDIFF_MAX / g->n / g->a->type->size)
    clsh_error(L, "a product of %I x %I is too large", (lua_Integer)g->m,
               (lua_Integer)g->n);
  Array *c = clsh_newarray(L, g->a->type, &s);
  clsh_arraydata(L, g->a);
  clsh_arraydata(L, g->b);
  if (g->c0 != NULL)
    memcpy(c->block->data, clsh_arraydata(L, g->c0), clsh_arraybytes(c));
  return c;
}

static void axpyfloat(size_t n, float a, const float *restrict x,
                      float *restrict y) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t u = 0; u < LANES; u++)
      y[i + u] += a * x[i + u];
  for (; i < n; i++)
    y[i] += a * x[i];
}

static void axpydouble(size_t n, double a, const double *restrict x,
                       double *restrict y) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t u = 0; u < LANES; u++)
      y[i + u] += a * x[i + u];
  for (; i < n; i++)
    y[i] += a * x[i];
}

static void gemmfloat(lua_State *L, const Gemm *g, float *c) {
  const float *a = g->a->block->data;
  const float *b = g->b->block->data;
  float alpha = (float)g->alpha, beta = (float)g->beta;
  for (size_t i = 0; i < g->m; i++, c += g->n) {
    clsh_poll(L);
    for (size_t j = 0; g->c0 != NULL && j < g->n; j++)
      c[j] *= beta;
    for (size_t k = 0; k < g->k; k++)
      axpyfloat(g->n, alpha * a[i * g->k + k], b + k * g->n, c);
  }
}

static void gemmdouble(lua_State *L, const Gemm *g, double *c) {
  const double *a = g->a->block->data;
  const double *b = g->b->block->data;
  for (size_t i = 0; i < g->m; i++, c += g->n) {
    clsh_poll(L);
    for (size_t j = 0; g->c0 != NULL && j < g->n; j++)
      c[j] *= g->beta;
    for (size_t k = 0; k < g->k; k++)
      axpydouble(g->n, g->alpha * a[i * g->k + k], b + k * g->n, c);
  }
}

/* Narrows a float array at the stack's top to the type of the operands. */
static void narrow(lua_State *L, const Type *t) {
  Array *c = clsh_checkarray(L, lua_gettop(L));
  if (c->type != t)
    clsh_convert(L, clsh_newarray(L, t, &c->shape), c);
}

/** cl.host.gemm_loop(A, B [, opts]) -> C, seconds
 * alpha*A*B + beta*C0 by three plain loops in C (row, inner, column), one
 * thread, in the element type; half is computed in float. The time is the
 * loops' alone.
 * Options:
 *   alpha  1  factor of the product
 *   beta   0  factor of C0
 *   C0     -  what is added: an Array of C's shape
 */
int clsh_gemmloop(lua_State *L) {
  static const char *const names[] = {"alpha", "beta", "C0", NULL};
  Gemm g;
  lua_settop(L, 3);
  clsh_checkgemm(L, 1, names, "gemm_loop", &g); /* C0 at 4 */
  const Type *t = g.a->type;
  clsh_checksame(L, g.a, g.b);
  if (g.c0 != NULL)
    clsh_checksame(L, g.a, g.c0);
  for (int i = 1; i <= 4; i++)
    clsh_widen(L, i);
  g.a = clsh_checkarray(L, 1);
  g.b = clsh_checkarray(L, 2);
  g.c0 = g.c0 != NULL ? clsh_checkarray(L, 4) : NULL;
  Array *c = clsh_startgemm(L, &g);
  double start = clsh_seconds();
  if (g.a->type->unit == 4)
    gemmfloat(L, &g, c->block->data);
  else
    gemmdouble(L, &g, c->block->data);
  double seconds = clsh_seconds() - start;
  narrow(L, t);
  lua_pushnumber(L, seconds);
  return 2;
}

/* A matrix of any type. */
static const Array *checkmatrix(lua_State *L, int arg) {
  const Array *a = clsh_checkarray(L, arg);
  if (a->shape.ndims != 2)
    clsh_argerror(L, arg, "matrix expected, got an Array %s",
                  clsh_arrayname(L, a));
  return a;
}

static bool same(const char *p, const char *q, size_t n) {
  uint32_t a, b;
  uint64_t c, d;
  switch (n) {
  case 4:
    memcpy(&a, p, 4);
    memcpy(&b, q, 4);
    return a == b;
  case 8:
    memcpy(&c, p, 8);
    memcpy(&d, q, 8);
    return c == d;
  default:
    return memcmp(p, q, n) == 0;
  }
}

/* Counts what differs in a tile of B; `*first` is the least flat index. */
static size_t differing(const Array *a, const Array *b, size_t i0, size_t j0,
                        size_t *first) {
  const char *p = a->block->data, *q = b->block->data;
  size_t rows = b->shape.dim[0], cols = b->shape.dim[1];
  size_t size = a->type->size;
  size_t used = (size_t)a->type->unit * a->type->width;
  size_t wrong = 0;
  for (size_t i = i0; i < i0 + TILE && i < rows; i++)
    for (size_t j = j0; j < j0 + TILE && j < cols; j++) {
      size_t at = i * cols + j;
      if (same(p + (j * rows + i) * size, q + at * size, used))
        continue;
      wrong++;
      *first = at < *first ? at : *first;
    }
  return wrong;
}

/** cl.host.transpose_error(B, A) -> number, row, col
 * How many elements of matrix B are not, bit by bit, those of A transposed,
 * and the place in B of the first one; just 0 if all are right.
 */
int clsh_transposeerror(lua_State *L) {
  const Array *b = checkmatrix(L, 1);
  const Array *a = checkmatrix(L, 2);
  size_t wrong = 0, first = SIZE_MAX;
  const size_t *d = b->shape.dim;
  clsh_checksame(L, a, b);
  if (a->shape.dim[0] != d[1] || a->shape.dim[1] != d[0])
    return clsh_error(L, "transpose of %s expected, got %s",
                      clsh_arrayname(L, a), clsh_arrayname(L, b));
  clsh_arraydata(L, a);
  clsh_arraydata(L, b);
  for (size_t i = 0; i < d[0]; i += TILE) {
    clsh_poll(L);
    for (size_t j = 0; j < d[1]; j += TILE)
      wrong += differing(a, b, i, j, &first);
  }
  lua_pushinteger(L, (lua_Integer)wrong);
  if (wrong == 0)
    return 1;
  lua_pushinteger(L, (lua_Integer)(first / d[1]) + 1);
  lua_pushinteger(L, (lua_Integer)(first % d[1]) + 1);
  return 3;
}

/* Row `i` of A becomes a column of B. */
static void scatter(const Array *a, size_t i, char *to) {
  size_t rows = a->shape.dim[0], cols = a->shape.dim[1];
  size_t size = a->type->size;
  const char *from = (const char *)a->block->data + i * cols * size;
  const uint32_t *p4 = (const void *)from;
  const uint64_t *p8 = (const void *)from;
  uint32_t *q4 = (uint32_t *)(void *)to + i;
  uint64_t *q8 = (uint64_t *)(void *)to + i;
  switch (size) {
  case 4:
    for (size_t j = 0; j < cols; j++)
      q4[j * rows] = p4[j];
    break;
  case 8:
    for (size_t j = 0; j < cols; j++)
      q8[j * rows] = p8[j];
    break;
  default:
    for (size_t j = 0; j < cols; j++)
      memcpy(to + (j * rows + i) * size, from + j * size, size);
  }
}

/** cl.host.transpose_loop(A) -> B, seconds
 * The transpose of a matrix of any type by two plain loops in C.
 */
int clsh_transposeloop(lua_State *L) {
  const Array *a = checkmatrix(L, 1);
  Shape s = {2, {a->shape.dim[1], a->shape.dim[0]}, a->shape.count};
  Array *b = clsh_newarray(L, a->type, &s);
  clsh_arraydata(L, a);
  double start = clsh_seconds();
  for (size_t i = 0; i < s.dim[1]; i++) {
    if (i % TILE == 0)
      clsh_poll(L);
    scatter(a, i, b->block->data);
  }
  lua_pushnumber(L, clsh_seconds() - start);
  return 2;
}
