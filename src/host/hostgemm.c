/*
** hostgemm.c - cl.host: the error of a matrix product against float64, in
** full and by Freivalds' check; and the product by plain C loops, the floor
** that a device is measured from.
** SPDX-License-Identifier: MIT
*/
#include <math.h>

#include "cl/process.h"
#include "host.h"

#define ROWS 4   /* rows of C computed together: B is converted once */
#define COLS 256 /* columns computed together: they stay in the cache */
#define LANES 8  /* constant trip counts are what compilers vectorise */

/*
** Rounds alpha and beta to type `t`, as kernels have them. A factor of 0 says
** what BLAS has it say: with alpha 0 A and B are not read, with beta 0 C0 is
** not, and a NaN there is none of the result.
*/
static void setfactors(Gemm *g, const Type *t) {
  g->alpha = clsh_number_round(t, g->alpha);
  g->beta = clsh_number_round(t, g->beta);
  if (g->alpha == 0)
    g->k = 0;
  if (g->beta == 0)
    g->c0 = NULL;
}

/* Row `i` of a matrix, `n` elements from column `j` on, as doubles. */
static void loadrow(const Array *a, size_t i, size_t j, size_t n, double *x) {
  const char *p = a->block->data;
  size_t at = i * a->shape.dim[1] + j;
  clsh_number_loadreals(a->type, p + at * a->type->unit, n, x);
}

/* sum += |a||b| and ref += a b, `n` rounded up to whole groups of lanes. */
static void axpy(size_t n, double a, const double *restrict b,
                 const double *restrict babs, double *restrict ref,
                 double *restrict sum) {
  double aabs = fabs(a);
  for (size_t j = 0; j < n; j += LANES)
    for (size_t u = 0; u < LANES; u++) {
      ref[j + u] += a * b[j + u];
      sum[j + u] += aabs * babs[j + u];
    }
}

/* Compares `nrows` rows of C, given by number, from column `j` on. */
static void comparetile(const Gemm *g, const Array *c, const size_t *rows,
                        size_t nrows, size_t j, Worst *w) {
  double ref[ROWS][COLS] = {{0}}, sum[ROWS][COLS] = {{0}};
  double b[COLS] = {0}, babs[COLS] = {0}, a;
  size_t n = g->n - j < COLS ? g->n - j : COLS;
  for (size_t k = 0; k < g->k; k++) {
    loadrow(g->b, k, j, n, b);
    for (size_t i = 0; i < n; i++)
      babs[i] = fabs(b[i]);
    for (size_t r = 0; r < nrows; r++) {
      loadrow(g->a, rows[r], k, 1, &a);
      axpy(n, a, b, babs, ref[r], sum[r]);
    }
  }
  for (size_t r = 0; r < nrows; r++) {
    loadrow(c, rows[r], j, n, b);
    if (g->c0 != NULL)
      loadrow(g->c0, rows[r], j, n, babs);
    for (size_t i = 0; i < n; i++) {
      double c0 = g->c0 != NULL ? g->beta * babs[i] : 0;
      double e = clsh_hostcheck_scaled(b[i], g->alpha * ref[r][i] + c0,
                                       fabs(g->alpha) * sum[r][i] + fabs(c0));
      clsh_hostcheck_worse(w, e, rows[r], j + i);
    }
  }
}

/* Pushes the row numbers in option `rows`, from 0; NULL: all `m` of them. */
static const size_t *checkrows(lua_State *L, int arg, size_t m, size_t *n) {
  *n = m;
  if (clsh_option_push(L, arg, "rows") == LUA_TNIL)
    return NULL;
  if (lua_type(L, -1) != LUA_TTABLE)
    clsh_error(L, "option rows must be a table; got %s", luaL_typename(L, -1));
  *n = lua_rawlen(L, -1);
  size_t *rows = lua_newuserdatauv(L, (*n + 1) * sizeof *rows, 0);
  for (size_t i = 0; i < *n; i++) {
    size_t row;
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    if (!clsh_option_whole(L, -1, 1, &row) || row > m)
      clsh_error(L, "option rows: row %s of %I", luaL_tolstring(L, -1, NULL),
                 (lua_Integer)m);
    rows[i] = row - 1;
    lua_pop(L, 1);
  }
  return rows;
}

/* Raises if an operand is closed. To be called after the last allocation. */
static void checkopen(lua_State *L, const Gemm *g, const Array *c) {
  clsh_array_data(L, g->a);
  clsh_array_data(L, g->b);
  clsh_array_data(L, c);
  if (g->c0 != NULL)
    clsh_array_data(L, g->c0);
}

/* Matrix C at 1, A and B after it. */
static const Array *checkresult(lua_State *L, const char *const names[],
                                const char *what, Gemm *g) {
  lua_settop(L, 4);
  const Array *c = clsh_hostcheck_reals(L, 1, true);
  clsh_hostcheck_gemm(L, 2, names, what, g);
  clsh_hostcheck_extent(L, c, "C", g);
  setfactors(g, c->type);
  return c;
}

/** cl.host.gemm_error(C, A, B [, opts]) -> err, row, col
 * How far matrix C is from alpha*A*B + beta*C0 computed in float64: the
 * greatest |C - ref| / (|alpha| |A||B| + |beta||C0|), and where it is.
 * Rounding gives a small multiple of the type's epsilon; a NaN or infinity
 * in C gives math.huge.
 * Options:
 *   alpha  1    factor of the product
 *   beta   0    factor of C0
 *   C0     -    what C held before: an Array of its shape
 *   rows   all  a list of the rows to look at
 */
static int host_gemm_error(lua_State *L) {
  static const char *const names[] = {"alpha", "beta", "C0", "rows", NULL};
  Gemm g;
  size_t n, block[ROWS];
  Worst w = {-1, 0, 0};
  const Array *c = checkresult(L, names, "gemm_error", &g);
  const size_t *rows = checkrows(L, 4, g.m, &n);
  if (n == 0)
    return clsh_error(L, "option rows must name at least one row");
  checkopen(L, &g, c);
  for (size_t i = 0; i < n; i += ROWS) {
    size_t nrows = n - i < ROWS ? n - i : ROWS;
    for (size_t r = 0; r < nrows; r++)
      block[r] = rows != NULL ? rows[i + r] : i + r;
    for (size_t j = 0; j < g.n; j += COLS) {
      clsh_poll(L);
      comparetile(&g, c, block, nrows, j, &w);
    }
  }
  lua_pushnumber(L, w.err);
  lua_pushinteger(L, (lua_Integer)w.row + 1);
  lua_pushinteger(L, (lua_Integer)w.col + 1);
  return 3;
}

/* x.y, and |x|.z in `*absolute`. */
static double dot(size_t n, const double *restrict x, const double *restrict y,
                  const double *restrict z, double *absolute) {
  double s[LANES] = {0}, a[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t u = 0; u < LANES; u++) {
      s[u] += x[i + u] * y[i + u];
      a[u] += fabs(x[i + u]) * z[i + u];
    }
  for (; i < n; i++) {
    s[0] += x[i] * y[i];
    a[0] += fabs(x[i]) * z[i];
  }
  for (size_t u = 1; u < LANES; u++) {
    s[0] += s[u];
    a[0] += a[u];
  }
  *absolute = a[0];
  return s[0];
}

/* Vectors of one round: v signs, y = B v, yabs = |B| |v|. */
typedef struct Round {
  double *v, *ones, *y, *yabs, *row;
} Round;

/* One round of Freivalds' check, all rows. */
static void freivalds(lua_State *L, const Gemm *g, const Array *c,
                      const Round *f, Worst *w) {
  double scale, cscale, c0scale = 0, c0v = 0;
  for (size_t k = 0; k < g->k; k++) {
    if (k % 64 == 0)
      clsh_poll(L);
    loadrow(g->b, k, 0, g->n, f->row);
    f->y[k] = dot(g->n, f->row, f->v, f->ones, &f->yabs[k]);
  }
  for (size_t i = 0; i < g->m; i++) {
    if (i % 64 == 0)
      clsh_poll(L);
    loadrow(g->a, i, 0, g->k, f->row);
    double ref = g->alpha * dot(g->k, f->row, f->y, f->yabs, &scale);
    if (g->c0 != NULL) {
      loadrow(g->c0, i, 0, g->n, f->row);
      c0v = g->beta * dot(g->n, f->row, f->v, f->ones, &c0scale);
    }
    loadrow(c, i, 0, g->n, f->row);
    double got = dot(g->n, f->row, f->v, f->ones, &cscale);
    scale = fabs(g->alpha) * scale + fabs(g->beta) * c0scale;
    clsh_hostcheck_worse(w, clsh_hostcheck_scaled(got, ref + c0v, scale), i,
                         0);
  }
}

/** cl.host.gemm_freivalds(C, A, B [, opts]) -> err, row
 * Freivalds' check in float64: the greatest
 * |C v - (alpha A (B v) + beta C0 v)| / ((|alpha| |A||B| + |beta||C0|) |v|)
 * over all rows and a few random vectors v of +1 and -1. It costs a few
 * passes over the matrices where gemm_error costs a multiplication; each
 * round misses a wrong row with a chance of at most one half.
 * Options:
 *   alpha   1  factor of the product
 *   beta    0  factor of C0
 *   C0      -  what C held before: an Array of its shape
 *   seed    1  of the random vectors
 *   rounds  3  how many of them
 */
static int host_gemm_freivalds(lua_State *L) {
  static const char *const names[] = {"alpha", "beta",   "C0",
                                      "seed",  "rounds", NULL};
  Gemm g;
  Worst w = {-1, 0, 0};
  const Array *c = checkresult(L, names, "gemm_freivalds", &g);
  double seed = clsh_hostcheck_number(L, 4, "seed", 1);
  double rounds = clsh_hostcheck_number(L, 4, "rounds", 3);
  if (!(fabs(seed) < 0x1p53) || !(rounds >= 1 && rounds <= 1000))
    return clsh_error(L, "option seed must be below 2^53, option rounds in "
                         "1..1000");
  size_t row = g.n > g.k ? g.n : g.k;
  double *x = lua_newuserdatauv(L, (2 * g.n + 2 * g.k + row) * sizeof *x, 0);
  Round f = {x, x + g.n, x + 2 * g.n, x + 2 * g.n + g.k,
             x + 2 * g.n + 2 * g.k};
  checkopen(L, &g, c);
  for (uint64_t r = 0; r < (uint64_t)rounds; r++) {
    for (size_t j = 0; j < g.n; j++) {
      uint64_t u =
          clsh_arrayops_splitmix64((uint64_t)(int64_t)seed, r * g.n + j);
      f.v[j] = u >> 63 != 0 ? 1 : -1;
      f.ones[j] = 1;
    }
    freivalds(L, &g, c, &f, &w);
  }
  lua_pushnumber(L, w.err);
  lua_pushinteger(L, (lua_Integer)w.row + 1);
  return 2;
}

/* Replaces a half array at `arg` by a float copy. */
static void widen(lua_State *L, int arg) {
  Array *a = clsh_array_test(L, arg);
  if (a == NULL || a->type->unit != 2 || a->type->kind != 'f')
    return;
  const Type *t = clsh_type_find("float", 5);
  clsh_arrayops_convert(L, clsh_array_new(L, t, &a->shape), a);
  lua_replace(L, arg);
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
  Array *c = clsh_array_check(L, lua_gettop(L));
  if (c->type != t)
    clsh_arrayops_convert(L, clsh_array_new(L, t, &c->shape), c);
}

/** cl.host.gemm_loop(A, B [, opts]) -> C, seconds
 * alpha*A*B + beta*C0 by three plain loops in C (row, inner, column), one
 * thread, in the element type; half is computed in float. The time is the
 * loops' alone.
 * Options:
 *   alpha  1  factor of the product
 *   beta   0  factor of C0
 *   C0     -  the added matrix: an Array of C's shape
 */
static int host_gemm_loop(lua_State *L) {
  static const char *const names[] = {"alpha", "beta", "C0", NULL};
  Gemm g;
  lua_settop(L, 3);
  clsh_hostcheck_gemm(L, 1, names, "gemm_loop", &g); /* C0 at 4 */
  const Type *t = g.a->type;
  clsh_hostcheck_same(L, g.a, g.b);
  if (g.c0 != NULL)
    clsh_hostcheck_same(L, g.a, g.c0);
  for (int i = 1; i <= 4; i++)
    widen(L, i);
  g.a = clsh_array_check(L, 1);
  g.b = clsh_array_check(L, 2);
  g.c0 = g.c0 != NULL ? clsh_array_check(L, 4) : NULL;
  setfactors(&g, g.a->type);
  Array *c = clsh_hostcheck_newproduct(L, &g);
  double start = clsh_poll_now();
  if (g.a->type->unit == 4)
    gemmfloat(L, &g, c->block->data);
  else
    gemmdouble(L, &g, c->block->data);
  double seconds = clsh_poll_now() - start;
  narrow(L, t);
  lua_pushnumber(L, seconds);
  return 2;
}

void clsh_hostgemm_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"gemm_error", host_gemm_error},
                                       {"gemm_freivalds", host_gemm_freivalds},
                                       {"gemm_loop", host_gemm_loop},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
