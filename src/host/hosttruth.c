/*
** hosttruth.c - cl.host: the true values of a matrix product in float64: whole
** rows, and Freivalds' check. A Truth computes them once, for any number of
** results. Sums of double are added up in twice the digits, since the results
** are double themselves. Products of char have a C of int, which wraps around:
** doubles hold their sums exactly, and their errors are differences, of scale
** 1.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

#define ROWS 4   /* rows of C computed together: B is converted once */
#define COLS 256 /* columns computed together: they stay in the cache */
#define LANES 8  /* compilers vectorise loops of constant counts */
#define MAXROUNDS 1000
#define SHORT 8        /* sums of fewer products are not worth keeping */
#define MOST (1 << 23) /* doubles of the rows that a Truth keeps: 64 MiB */

/* Part of a few of the rows to compare: their true values, and the scale. */
typedef struct Tile {
  size_t first, nrows, j, n; /* places in the list of rows; columns */
  size_t row[ROWS];          /* numbers in the product, from 0 */
  double ref[ROWS][COLS], scale[ROWS][COLS];
  double low[ROWS][COLS]; /* of double: what `ref` has lost */
} Tile;

/* A round of Freivalds' check: v signs, ref = C v for the true C. */
typedef struct Round {
  double *v, *ref, *scale;
} Round;

typedef struct Truth {
  Object head;
  Gemm g;
  const Type *type;   /* of results */
  const size_t *rows; /* to compare, from 0; NULL: all */
  size_t nrows;
  size_t kept;    /* number of first rows in `elements` */
  size_t nrounds; /* in `rounds` */
  double *elements, *rounds;
  Block *block; /* of elements and rounds */
} Truth;

static void release(Object *o) {
  Truth *t = (Truth *)(void *)o;
  if (t->block != NULL)
    clsh_array_unref(t->block);
}

static const Class class;

/* Row `i` of a matrix, `n` elements from column `j` on, as doubles. */
static void loadrow(const Array *a, size_t i, size_t j, size_t n, double *x) {
  clsh_hostcheck_load(a, i * a->shape.dim[1] + j, n, x);
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

/* The upper 26 bits of a double. */
static double upper(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  u &= ~(uint64_t)0x7ffffff;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* axpy with the rounding errors of products and sums in `low`; bh: the upper
** bits of b. */
static void axpy_exact(size_t n, double a, const double *restrict b,
                       const double *restrict bh, double *restrict ref,
                       double *restrict low, double *restrict sum) {
  double ah = upper(a), al = a - ah;
  for (size_t j = 0; j < n; j += LANES)
    for (size_t u = 0; u < LANES; u++) {
      double p = a * b[j + u], bl = b[j + u] - bh[j + u];
      double rest = ah * bh[j + u] - p + (ah * bl + al * bh[j + u]) + al * bl;
      double s = ref[j + u] + p, part = s - ref[j + u];
      low[j + u] += (ref[j + u] - (s - part)) + (p - part) + rest;
      ref[j + u] = s;
      sum[j + u] += fabs(p);
    }
}

/* A whole number modulo 2^32. */
static uint32_t bits(double x) {
  return (uint32_t)(int64_t)x;
}

/* alpha sum + beta c0 in int. */
static double wrapped(const Gemm *g, double sum, double c0) {
  return (int32_t)(bits(g->alpha) * bits(sum) + bits(g->beta) * bits(c0));
}

/* ref = alpha (ref + low) + beta c0, and its scale; there is no `low` of an
** infinite ref. */
static void add(size_t n, double alpha, double beta, const double *restrict c0,
                const double *restrict low, double *restrict ref,
                double *restrict scale) {
  for (size_t i = 0; i < n; i++) {
    double d = beta * c0[i];
    ref[i] = alpha * ref[i] + (isfinite(low[i]) ? alpha * low[i] + d : d);
    scale[i] = fabs(alpha) * scale[i] + fabs(d);
  }
}

static void multiply(const Gemm *g, Tile *t) {
  double b[COLS] = {0}, babs[COLS] = {0}, bh[COLS] = {0}, c0[COLS] = {0}, a;
  const bool exact = g->a->type->size == sizeof(double);
  memset(t->ref, 0, sizeof t->ref);
  memset(t->low, 0, sizeof t->low);
  memset(t->scale, 0, sizeof t->scale);
  for (size_t k = 0; k < g->k; k++) {
    loadrow(g->b, k, t->j, t->n, b);
    for (size_t i = 0; i < t->n; i++)
      if (exact)
        bh[i] = upper(b[i]);
      else
        babs[i] = fabs(b[i]);
    for (size_t r = 0; r < t->nrows; r++) {
      loadrow(g->a, t->row[r], k, 1, &a);
      if (exact)
        axpy_exact(t->n, a, b, bh, t->ref[r], t->low[r], t->scale[r]);
      else
        axpy(t->n, a, b, babs, t->ref[r], t->scale[r]);
    }
  }
  for (size_t r = 0; r < t->nrows; r++) {
    if (g->c0 != NULL)
      loadrow(g->c0, t->row[r], t->j, t->n, c0);
    if (!g->whole)
      add(t->n, g->alpha, g->beta, c0, t->low[r], t->ref[r], t->scale[r]);
    for (size_t i = 0; g->whole && i < t->n; i++) {
      t->ref[r][i] = wrapped(g, t->ref[r][i], c0[i]);
      t->scale[r][i] = 1;
    }
  }
}

/* A tile row's kept elements of ref; n doubles further on is its scale. */
static double *elements(const Truth *t, const Tile *tile, size_t r) {
  return t->elements + (tile->first + r) * 2 * t->g.n + tile->j;
}

static void keep(const Truth *t, const Tile *tile) {
  for (size_t r = 0; r < tile->nrows; r++) {
    double *p = elements(t, tile, r);
    memcpy(p, tile->ref[r], tile->n * sizeof *p);
    memcpy(p + t->g.n, tile->scale[r], tile->n * sizeof *p);
  }
}

static void recall(const Truth *t, Tile *tile) {
  for (size_t r = 0; r < tile->nrows; r++) {
    const double *p = elements(t, tile, r);
    memcpy(tile->ref[r], p, tile->n * sizeof *p);
    memcpy(tile->scale[r], p + t->g.n, tile->n * sizeof *p);
  }
}

/* The greatest error of rounding to a subnormal number of the type; for float
** and double too small to count. */
static double underflow(const Type *type) {
  return strcmp(type->name, "half") == 0 ? 0x1p-25 : 0;
}

static void compare(const Tile *t, const Array *c, Worst *w) {
  const double least = underflow(c->type);
  double got[COLS];
  for (size_t r = 0; r < t->nrows; r++) {
    loadrow(c, t->row[r], t->j, t->n, got);
    for (size_t i = 0; i < t->n; i++) {
      double ref = t->ref[r][i], x = got[i];
      if (fabs(x - ref) <= least)
        x = ref;
      clsh_hostcheck_worse(w, clsh_hostcheck_scaled(x, ref, t->scale[r][i]),
                           t->row[r], t->j + i);
    }
  }
}

/* Keeps the tiles of the first `nrows` rows, or compares `c` with them. */
static void eachtile(lua_State *L, const Truth *t, size_t nrows,
                     const Array *c, Worst *w) {
  Tile tile;
  for (size_t i = 0; i < nrows; i += ROWS) {
    tile.first = i;
    tile.nrows = nrows - i < ROWS ? nrows - i : ROWS;
    for (size_t r = 0; r < tile.nrows; r++)
      tile.row[r] = t->rows != NULL ? t->rows[i + r] : i + r;
    for (size_t j = 0; j < t->g.n; j += COLS) {
      clsh_poll(L);
      tile.j = j;
      tile.n = t->g.n - j < COLS ? t->g.n - j : COLS;
      if (c != NULL && i < t->kept)
        recall(t, &tile);
      else
        multiply(&t->g, &tile);
      if (c != NULL)
        compare(&tile, c, w);
      else
        keep(t, &tile);
    }
  }
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

/* The doubles of a round, and the further doubles that multiplyround needs. */
static size_t roundsize(const Gemm *g) {
  return g->n + 2 * g->m;
}

static size_t scratchsize(const Gemm *g) {
  return g->n + 2 * g->k + (g->n > g->k ? g->n : g->k);
}

static Round makeround(const Gemm *g, double *p) {
  Round f = {p, p + g->n, p + g->n + g->m};
  return f;
}

/* Fills round number `r`: y = B v, yabs = |B| |v|; ref = A y. */
static void multiplyround(lua_State *L, const Gemm *g, double seed, uint64_t r,
                          const Round *f, double *scratch) {
  double *ones = scratch, *y = ones + g->n, *yabs = y + g->k;
  double *row = yabs + g->k, c0scale = 0, c0v = 0;
  for (size_t j = 0; j < g->n; j++) {
    uint64_t u = clsh_array_splitmix64((uint64_t)(int64_t)seed, r * g->n + j);
    f->v[j] = u >> 63 != 0 ? 1 : -1;
    ones[j] = 1;
  }
  for (size_t k = 0; k < g->k; k++) {
    if (k % 64 == 0)
      clsh_poll(L);
    loadrow(g->b, k, 0, g->n, row);
    y[k] = dot(g->n, row, f->v, ones, &yabs[k]);
  }
  for (size_t i = 0; i < g->m; i++) {
    if (i % 64 == 0)
      clsh_poll(L);
    loadrow(g->a, i, 0, g->k, row);
    double ref = dot(g->k, row, y, yabs, &f->scale[i]);
    if (g->c0 != NULL) {
      loadrow(g->c0, i, 0, g->n, row);
      c0v = dot(g->n, row, f->v, ones, &c0scale);
    }
    f->ref[i] =
        g->whole ? wrapped(g, ref, c0v) : g->alpha * ref + g->beta * c0v;
    f->scale[i] =
        g->whole ? 1 : fabs(g->alpha) * f->scale[i] + fabs(g->beta) * c0scale;
  }
}

/* Compares all rows of C with a round; `row` has room for one. */
static void compareround(lua_State *L, const Gemm *g, const Array *c,
                         const Round *f, double *row, Worst *w) {
  double unused;
  for (size_t i = 0; i < g->m; i++) {
    if (i % 64 == 0)
      clsh_poll(L);
    loadrow(c, i, 0, g->n, row);
    double got = dot(g->n, row, f->v, f->v, &unused);
    if (g->whole)
      got = (int32_t)bits(got);
    clsh_hostcheck_worse(w, clsh_hostcheck_scaled(got, f->ref[i], f->scale[i]),
                         i, 0);
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
  if (*n == 0)
    clsh_error(L, "option rows must name at least one row");
  return rows;
}

static size_t checkrounds(lua_State *L, int arg, int least, int def,
                          double *seed) {
  *seed = clsh_hostcheck_number(L, arg, "seed", 1);
  double rounds = clsh_hostcheck_number(L, arg, "rounds", def);
  if (!(fabs(*seed) < 0x1p53) || !(rounds >= least && rounds <= MAXROUNDS))
    clsh_error(L,
               "option seed must be below 2^53, option rounds in "
               "%d..%d",
               least, MAXROUNDS);
  return (size_t)rounds;
}

/* Raises if an operand is closed. To be called after the last allocation. */
static void checkopen(lua_State *L, const Gemm *g) {
  clsh_array_data(L, g->a);
  clsh_array_data(L, g->b);
  if (g->c0 != NULL)
    clsh_array_data(L, g->c0);
}

/* Raises unless all of A, B and C0 suit the type of C. */
static void checkwhole(lua_State *L, const char *what, const Gemm *g) {
  const char kind = g->whole ? 'i' : 'f';
  if (g->a->type->kind != kind || g->b->type->kind != kind ||
      (g->c0 != NULL && g->c0->type->kind != kind))
    clsh_error(L, "%s: char A and B go with int C and C0, reals with reals",
               what);
}

/* Matrix C at 1, A and B after it. */
static const Array *checkresult(lua_State *L, const char *names,
                                const char *what, Gemm *g) {
  lua_settop(L, 4);
  const Array *c = clsh_hostcheck_numbers(L, 1, 4);
  clsh_hostcheck_gemm(L, 2, names, what, g);
  clsh_hostcheck_extent(L, c, "C", g);
  clsh_hostcheck_factors(g, c->type);
  checkwhole(L, what, g);
  return c;
}

/** cl.host.gemm_error(C, A, B [, opts]) -> err, row, col
 * How far matrix C is from alpha*A*B + beta*C0 computed in float64, for double
 * in twice the digits: the
 * greatest |C - ref| / (|alpha| |A||B| + |beta||C0|), and where it is.
 * Rounding gives a small multiple of the type's epsilon; a NaN or infinity
 * in C gives math.huge. For A and B of char, C is of int, which wraps around,
 * and err the greatest |C - ref|.
 * Options:
 *   alpha  1    factor of the product
 *   beta   0    factor of C0
 *   C0     -    what C held before: an Array of its shape
 *   rows   all  a list of the rows to look at
 * Example:
 * local A, B = matrix.random(32), matrix.random(32)
 * local C = gemm(A, B)
 * local err = host.gemm_error(C:read(), A:read(), (B:read()))
 * print(err < 1e-5) --> true
 */
static int host_gemm_error(lua_State *L) {
  Truth t = {0};
  Worst w = {-1, 0, 0};
  const Array *c = checkresult(L, "alpha beta C0 rows", "gemm_error", &t.g);
  t.rows = checkrows(L, 4, t.g.m, &t.nrows);
  clsh_array_data(L, c);
  checkopen(L, &t.g);
  eachtile(L, &t, t.nrows, c, &w);
  return clsh_hostcheck_pushworst(L, &w, 3);
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
 * Example:
 * local A, B = matrix.random(64), matrix.random(64)
 * local C = gemm(A, B)
 * local err = host.gemm_freivalds(C:read(), A:read(), (B:read()))
 * print(err < 1e-5) --> true
 */
static int host_gemm_freivalds(lua_State *L) {
  Gemm g;
  double seed;
  Worst w = {-1, 0, 0};
  const Array *c =
      checkresult(L, "alpha beta C0 seed rounds", "gemm_freivalds", &g);
  size_t rounds = checkrounds(L, 4, 1, 3, &seed);
  size_t size = roundsize(&g);
  double *x = lua_newuserdatauv(L, (size + scratchsize(&g)) * sizeof *x, 0);
  Round f = makeround(&g, x);
  clsh_array_data(L, c);
  checkopen(L, &g);
  for (size_t r = 0; r < rounds; r++) {
    multiplyround(L, &g, seed, r, &f, x + size);
    compareround(L, &g, c, &f, x + size, &w);
  }
  return clsh_hostcheck_pushworst(L, &w, 2);
}

/* The element type that option `type` names. */
static const Type *checktype(lua_State *L, int arg, const Type *def) {
  static const char *const names[] = {"half",   "bfloat16", "float",
                                      "double", "int",      NULL};
  if (def->kind == 'i')
    def = clsh_type_find("int", 3);
  if (clsh_option_push(L, arg, "type") != LUA_TNIL) {
    const char *name = names[clsh_option_word(L, -1, names, "option type")];
    def = clsh_type_find(name, strlen(name));
  }
  lua_pop(L, 1);
  return def;
}

/* Makes the Block of the rows and rounds that are kept. */
static void allocate(lua_State *L, Truth *t) {
  size_t row = 2 * t->g.n, size = t->nrounds * roundsize(&t->g);
  t->kept = MOST / row < t->nrows ? MOST / row / ROWS * ROWS : t->nrows;
  t->kept = t->g.k < SHORT ? 0 : t->kept;
  size += t->kept * row;
  if (size == 0)
    return;
  Array *a = clsh_hostcheck_newvector(L, "double", size);
  t->block = a->block;
  t->block->refs++;
  clsh_class_close(&a->head);
  lua_pop(L, 1);
  t->elements = t->block->data;
  t->rounds = t->elements + t->kept * row;
}

/** cl.host.gemm_truth(A, B [, opts]) -> Truth
 * The figures of gemm_error and gemm_freivalds for many results of one
 * product, which is computed once: t:error(C) -> err, row, col and
 * t:freivalds(C) -> err, row return the same numbers in a fraction of the
 * time. Up to 64 MiB of rows are kept; the rest of a larger product, and sums
 * of fewer than 8 products, are computed anew each time, from A, B and C0,
 * which have to stay as they are. t:close() gives the memory back.
 * Options:
 *   alpha   1     factor of the product
 *   beta    0     factor of C0
 *   C0      -     what C held before: an Array of its shape
 *   rows    all   a list of the rows that error looks at
 *   seed    1     of the random vectors of freivalds
 *   rounds  0     how many of them, up to 1000
 *   type    A's   of C: "half", "bfloat16", "float", "double"; "int" for char
 * Example:
 * local A, B = matrix.random(64), matrix.random(64)
 * local truth = host.gemm_truth(A:read(), (B:read()))
 * for _, name in ipairs{"naive", "tiled"} do
 *   print(truth:error((gemm(A, B, {kernel = name}):read())) < 1e-5) --> true
 * end
 */
static int host_gemm_truth(lua_State *L) {
  Gemm g;
  double seed;
  size_t nrows;
  lua_settop(L, 3);
  clsh_hostcheck_gemm(L, 1, "alpha beta C0 rows seed rounds type",
                      "gemm_truth", &g); /* C0 at 4 */
  const Type *type = checktype(L, 3, g.a->type);
  clsh_hostcheck_factors(&g, type);
  checkwhole(L, "gemm_truth", &g);
  size_t rounds = checkrounds(L, 3, 0, 0, &seed);
  const size_t *rows = checkrows(L, 3, g.m, &nrows);
  int list = lua_gettop(L);
  double *scratch = lua_newuserdatauv(L, scratchsize(&g) * sizeof *scratch, 0);
  Truth *t = clsh_class_new(L, &class, 4);
  t->g = g;
  t->type = type;
  t->rows = rows;
  t->nrows = nrows;
  t->nrounds = rounds;
  lua_pushvalue(L, list);
  lua_setiuservalue(L, -2, 1);
  allocate(L, t);
  checkopen(L, &g);
  eachtile(L, t, t->kept, NULL, NULL);
  for (size_t r = 0; r < rounds; r++) {
    Round f = makeround(&g, t->rounds + r * roundsize(&g));
    multiplyround(L, &g, seed, r, &f, scratch);
  }
  static const int operands[] = {1, 2, 4};
  for (int i = 0; i < 3 && t->kept < t->nrows; i++) { /* still needed */
    lua_pushvalue(L, operands[i]);
    lua_setiuservalue(L, -2, i + 2);
  }
  return 1;
}

/* The Truth at 1, for the result at 2. */
static const Truth *checkboth(lua_State *L, const Array **c) {
  const Truth *t = clsh_class_check(L, 1, &class);
  *c = clsh_hostcheck_numbers(L, 2, 4);
  clsh_hostcheck_extent(L, *c, "C", &t->g);
  if ((*c)->type != t->type)
    clsh_error_arg(L, 2, "C must be of %s, the option type; got %s",
                   t->type->name, (*c)->type->name);
  return t;
}

/* Truth:error(C) -> err, row, col: as gemm_error. */
static int truth_error(lua_State *L) {
  const Array *c;
  Worst w = {-1, 0, 0};
  const Truth *t = checkboth(L, &c);
  clsh_array_data(L, c);
  if (t->kept < t->nrows)
    checkopen(L, &t->g);
  eachtile(L, t, t->nrows, c, &w);
  return clsh_hostcheck_pushworst(L, &w, 3);
}

/* Truth:freivalds(C) -> err, row: as gemm_freivalds. */
static int truth_freivalds(lua_State *L) {
  const Array *c;
  Worst w = {-1, 0, 0};
  const Truth *t = checkboth(L, &c);
  if (t->nrounds == 0)
    return clsh_error(L, "freivalds: this Truth has no rounds; give "
                         "gemm_truth the option rounds");
  double *row = lua_newuserdatauv(L, t->g.n * sizeof *row, 0);
  clsh_class_check(L, 1, &class); /* a finalizer may have closed it */
  clsh_array_data(L, c);
  for (size_t r = 0; r < t->nrounds; r++) {
    Round f = makeround(&t->g, t->rounds + r * roundsize(&t->g));
    compareround(L, &t->g, c, &f, row, &w);
  }
  return clsh_hostcheck_pushworst(L, &w, 2);
}

static const luaL_Reg methods[] = {
    {"error", truth_error}, {"freivalds", truth_freivalds}, {NULL, NULL}};
static const Class class = {"Truth", sizeof(Truth), methods, NULL,
                            NULL,    NULL,          release};

void clsh_hosttruth_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"gemm_error", host_gemm_error},
                                       {"gemm_freivalds", host_gemm_freivalds},
                                       {"gemm_truth", host_gemm_truth},
                                       {NULL, NULL}};
  clsh_class_define(L, &class);
  luaL_setfuncs(L, functions, 0);
}
