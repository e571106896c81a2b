/*
** gaussian.c - cl.host: a Gaussian process, a guess at a function on a few
** points that says how sure it is. The search for the best setting asks it
** which setting to measure next.
** Rasmussen and Williams, Gaussian Processes for Machine Learning (2006):
** chapter 2 has the regression, section 4.2 the Matern kernel (5/2), section
** 5.4 the likelihood that the length scales are fitted to.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define MAXFEATURES 64
#define MAXOBSERVED 1024
#define STEP 1.6      /* factor of a length scale in a step of the fit */
#define SHORTEST 0.05 /* length scales, of features between 0 and 1 */
#define LONGEST 20
#define SMOOTHEST 1e-5 /* noise, as a part of the variance */
#define NOISIEST 0.5

typedef struct Gaussian {
  Object head;
  size_t features, most; /* observations at most */
  size_t points, room;
  double *x;          /* points x features */
  double *v;          /* points x most: L v = covariances of the point */
  double *variance;   /* of a point, in units of the scale; after `done` */
  size_t *done;       /* the columns of v that are computed */
  bool *seen;         /* whether a point was observed */
  size_t n;           /* observations */
  size_t *observed;   /* their points */
  double *l;          /* most x most: Cholesky factor of the covariance */
  double *y, *z, *xs; /* targets; L z = y; scaled features */
  size_t factored;    /* rows of l that are computed */
  double lengths[MAXFEATURES], noise, scale;
} Gaussian;

static void release(Object *o) {
  Gaussian *g = (Gaussian *)(void *)o;
  free(g->x);
  free(g->v);
  free(g->variance);
  free(g->done);
  free(g->seen);
  free(g->observed);
  free(g->l);
}

static const Class class;

static Gaussian *check(lua_State *L) {
  return clsh_class_check(L, 1, &class);
}

static size_t whole(lua_State *L, int arg, size_t least, size_t most) {
  lua_Integer n = luaL_checkinteger(L, arg);
  if (n < (lua_Integer)least || n > (lua_Integer)most)
    clsh_error_arg(L, arg, "must be from %d to %d; got %I", (int)least,
                   (int)most, (LUAI_UACINT)n);
  return (size_t)n;
}

/** cl.host.gaussian(features, observations) -> Gaussian
 * A Gaussian process on points of 1 to 64 features, for at most `observations`
 * observations, up to 1024. g:point{x, ...} adds a candidate by its features,
 * from 0 to 1, and returns its number; g:observe(number) says that it is
 * measured. g:fit(targets [, learn]) takes the targets of all observations, in
 * their order and with mean 0; with `learn` it fits the length scales.
 * g:predict(number) returns mean and deviation, and g:lowest(kappa [, feature,
 * value ...]) the number of the candidate with the least mean - kappa *
 * deviation, among the candidates with these values.
 * Example:
 * local g = host.gaussian(1, 10)        -- points of one feature
 * for i = 0, 20 do g:point{i / 20} end
 * for _, i in ipairs{1, 11, 21} do g:observe(i) end
 * g:fit({-1, 2, -1}, true)
 * print(g:predict(6))                   -- a guess, and how sure it is
 * print(g:lowest(1))                    -- the point to measure next
 */
static int host_gaussian(lua_State *L) {
  size_t features = whole(L, 1, 1, MAXFEATURES);
  size_t most = whole(L, 2, 1, MAXOBSERVED);
  Gaussian *g = clsh_class_new(L, &class, 0);
  g->features = features;
  g->most = most;
  g->noise = 1e-2;
  g->scale = 1;
  for (size_t f = 0; f < features; f++)
    g->lengths[f] = 1;
  g->observed = malloc(most * sizeof *g->observed);
  g->l = malloc((most * most + 2 * most + most * features) * sizeof *g->l);
  if (g->observed == NULL || g->l == NULL)
    return clsh_error(L, "not enough memory");
  g->y = g->l + most * most;
  g->z = g->y + most;
  g->xs = g->z + most;
  clsh_class_pressure(L, most * most * sizeof *g->l);
  return 1;
}

static bool resized(void **p, size_t bytes) {
  void *q = realloc(*p, bytes);
  if (q != NULL)
    *p = q;
  return q != NULL;
}

/* Room for one more point. */
static void grow(lua_State *L, Gaussian *g) {
  if (g->points < g->room)
    return;
  size_t room = g->room == 0 ? 256 : 2 * g->room;
  if (!resized((void **)&g->x, room * g->features * sizeof *g->x) ||
      !resized((void **)&g->v, room * g->most * sizeof *g->v) ||
      !resized((void **)&g->variance, room * sizeof *g->variance) ||
      !resized((void **)&g->done, room * sizeof *g->done) ||
      !resized((void **)&g->seen, room * sizeof *g->seen))
    clsh_error(L, "not enough memory for %I points", (LUAI_UACINT)room);
  clsh_class_pressure(L, (room - g->room) * g->most * sizeof *g->v);
  g->room = room;
}

/* Gaussian:point(features) -> number
 * Adds a point, a list of its features, as a candidate. Returns its number,
 * from 1.
 */
static int gaussian_point(lua_State *L) {
  Gaussian *g = check(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  grow(L, g);
  double *x = g->x + g->points * g->features;
  for (size_t f = 0; f < g->features; f++) {
    lua_rawgeti(L, 2, (lua_Integer)f + 1);
    x[f] = lua_tonumber(L, -1);
    if (!lua_isnumber(L, -1) || !isfinite(x[f]))
      return clsh_error(L, "feature %d must be a finite number", (int)f + 1);
    lua_pop(L, 1);
  }
  g->done[g->points] = 0;
  g->seen[g->points] = false;
  lua_pushinteger(L, (lua_Integer)++g->points);
  return 1;
}

/* Gaussian:observe(point)
 * The point is measured: no candidate any longer. Its target comes with fit.
 */
static int gaussian_observe(lua_State *L) {
  Gaussian *g = check(L);
  size_t i = whole(L, 2, 1, g->points) - 1;
  if (g->seen[i])
    return clsh_error(L, "point %d was observed before", (int)i + 1);
  if (g->n == g->most)
    return clsh_error(L, "holds %d observations at most", (int)g->most);
  g->seen[i] = true;
  g->observed[g->n++] = i;
  return 0;
}

/* A sum of products, as four sums that need not wait for one another. */
static double dot(const double *a, const double *b, size_t n) {
  double s[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s[0] += a[i] * b[i];
    s[1] += a[i + 1] * b[i + 1];
    s[2] += a[i + 2] * b[i + 2];
    s[3] += a[i + 3] * b[i + 3];
  }
  for (; i < n; i++)
    s[0] += a[i] * b[i];
  return s[0] + s[1] + (s[2] + s[3]);
}

/* The Matern covariance, 5/2, of two points with scaled features. */
static double covariance(const double *a, const double *b, size_t d) {
  double r2 = 0;
  for (size_t f = 0; f < d; f++)
    r2 += (a[f] - b[f]) * (a[f] - b[f]);
  double r = sqrt(5 * r2);
  return (1 + r + r * r / 3) * exp(-r);
}

/* Row `i` of the Cholesky factor, the rows before it being there. */
static void factor(Gaussian *g, size_t i) {
  double *row = g->l + i * g->most, *x = g->xs + i * g->features;
  const double *from = g->x + g->observed[i] * g->features;
  double rest = 1 + g->noise;
  for (size_t f = 0; f < g->features; f++)
    x[f] = from[f] / g->lengths[f];
  for (size_t j = 0; j < i; j++) {
    const double *other = g->l + j * g->most;
    double s = covariance(x, g->xs + j * g->features, g->features);
    row[j] = (s - dot(row, other, j)) / other[j];
    rest -= row[j] * row[j];
  }
  row[i] = sqrt(fmax(rest, 1e-10));
}

/* The log likelihood of the targets, at the variance that suits them best,
** and the log of the prior: length scales near 1, noise near 1e-2. */
static double likelihood(Gaussian *g) {
  double logdet = 0, square = 0, prior = 0;
  for (; g->factored < g->n; g->factored++)
    factor(g, g->factored);
  for (size_t i = 0; i < g->n; i++) {
    const double *row = g->l + i * g->most;
    g->z[i] = (g->y[i] - dot(row, g->z, i)) / row[i];
    square += g->z[i] * g->z[i];
    logdet += log(row[i]);
  }
  for (size_t f = 0; f < g->features; f++)
    prior -= log(g->lengths[f]) * log(g->lengths[f]) / 2;
  prior -= log(g->noise / 1e-2) * log(g->noise / 1e-2) / 8;
  g->scale = sqrt(fmax(square / (double)g->n, 1e-12));
  return prior - logdet - (double)g->n * log(g->scale);
}

static double likelihood_anew(Gaussian *g) {
  g->factored = 0;
  return likelihood(g);
}

/* Moves one parameter while that raises the likelihood. */
static double climb(Gaussian *g, double *at, double step, double lo, double hi,
                    double best) {
  for (;;) {
    double before = *at;
    *at = fmin(fmax(before * step, lo), hi);
    double now = *at != before ? likelihood_anew(g) : -HUGE_VAL;
    if (!(now > best + 1e-6)) {
      *at = before;
      return best;
    }
    best = now;
  }
}

/* One round over the length scales and the noise. Points keep their columns
** where it changes nothing. */
static void learn(Gaussian *g) {
  double best = likelihood_anew(g), lengths[MAXFEATURES], noise = g->noise;
  memcpy(lengths, g->lengths, g->features * sizeof *lengths);
  for (size_t f = 0; f <= g->features; f++) {
    bool last = f == g->features; /* the noise */
    double *at = last ? &g->noise : &g->lengths[f];
    double step = last ? STEP * STEP : STEP;
    double lo = last ? SMOOTHEST : SHORTEST, hi = last ? NOISIEST : LONGEST;
    double up = climb(g, at, step, lo, hi, best);
    best = up > best ? up : climb(g, at, 1 / step, lo, hi, best);
  }
  g->factored = 0;
  if (g->noise != noise ||
      memcmp(lengths, g->lengths, g->features * sizeof *lengths) != 0)
    for (size_t i = 0; i < g->points; i++)
      g->done[i] = 0;
}

/* Gaussian:fit(targets [, learn])
 * Takes the targets of all observations, a list in the order of observe, with
 * mean 0. With `learn` the length scales are fitted to them first.
 */
static int gaussian_fit(lua_State *L) {
  Gaussian *g = check(L);
  clsh_poll(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (g->n == 0 || lua_rawlen(L, 2) != g->n)
    return clsh_error(L, "needs a target for each of %d observations; got %d",
                      (int)g->n, (int)lua_rawlen(L, 2));
  for (size_t i = 0; i < g->n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    g->y[i] = lua_tonumber(L, -1);
    if (!lua_isnumber(L, -1) || !isfinite(g->y[i]))
      return clsh_error(L, "target %d must be a finite number", (int)i + 1);
    lua_pop(L, 1);
  }
  if (lua_toboolean(L, 3))
    learn(g);
  likelihood(g);
  return 0;
}

/* The mean of a point; its variance is kept. */
static double predict(Gaussian *g, size_t i) {
  double *v = g->v + i * g->most, x[MAXFEATURES];
  if (g->done[i] == 0)
    g->variance[i] = 1;
  for (size_t f = 0; f < g->features && g->done[i] < g->factored; f++)
    x[f] = g->x[i * g->features + f] / g->lengths[f];
  for (; g->done[i] < g->factored; g->done[i]++) {
    size_t q = g->done[i];
    const double *row = g->l + q * g->most;
    double s = covariance(x, g->xs + q * g->features, g->features);
    v[q] = (s - dot(row, v, q)) / row[q];
    g->variance[i] -= v[q] * v[q];
  }
  return dot(v, g->z, g->factored);
}

static double deviation(const Gaussian *g, size_t i) {
  return g->scale * sqrt(fmax(g->variance[i], 1e-9));
}

/* Gaussian:predict(point) -> mean, deviation
 * The guess at a point's target and its standard deviation, after fit.
 */
static int gaussian_predict(lua_State *L) {
  Gaussian *g = check(L);
  size_t i = whole(L, 2, 1, g->points) - 1;
  lua_pushnumber(L, predict(g, i));
  lua_pushnumber(L, deviation(g, i));
  return 2;
}

/* Whether a point has the values of features that the arguments from 3 on
** ask for, as pairs. */
static bool fits(lua_State *L, const Gaussian *g, size_t i) {
  for (int arg = 3; arg < lua_gettop(L); arg += 2) {
    size_t f = (size_t)lua_tointeger(L, arg) - 1;
    if (fabs(g->x[i * g->features + f] - lua_tonumber(L, arg + 1)) > 1e-9)
      return false;
  }
  return true;
}

/* Gaussian:lowest(kappa [, feature, value ...]) -> number or nil
 * The candidate with the least mean - kappa * deviation, the lower confidence
 * bound (Cox and John 1992): kappa 0 takes the best guess, 3 looks where
 * little is known. With features (from 1) and values, only candidates with
 * these values. nil: there is no candidate.
 */
static int gaussian_lowest(lua_State *L) {
  Gaussian *g = check(L);
  double kappa = luaL_checknumber(L, 2), least = HUGE_VAL;
  size_t best = 0;
  for (int arg = 3; arg <= lua_gettop(L); arg += 2) {
    whole(L, arg, 1, g->features);
    luaL_checknumber(L, arg + 1);
  }
  for (size_t i = 0; i < g->points; i++) {
    if (i % 1024 == 0)
      clsh_poll(L);
    if (g->seen[i] || !fits(L, g, i))
      continue;
    double mean = predict(g, i);
    double bound = mean - kappa * deviation(g, i);
    if (best == 0 || bound < least) {
      least = bound;
      best = i + 1;
    }
  }
  if (best == 0)
    return 0;
  lua_pushinteger(L, (lua_Integer)best);
  return 1;
}

static const luaL_Reg methods[] = {
    {"point", gaussian_point},   {"observe", gaussian_observe},
    {"fit", gaussian_fit},       {"predict", gaussian_predict},
    {"lowest", gaussian_lowest}, {NULL, NULL}};
static const Class class = {"Gaussian", sizeof(Gaussian), methods, NULL, NULL,
                            NULL,       release};

void clsh_gaussian_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"gaussian", host_gaussian},
                                       {NULL, NULL}};
  clsh_class_define(L, &class);
  luaL_setfuncs(L, functions, 0);
}
