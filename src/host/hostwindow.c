/*
** hostwindow.c - cl.host: a matrix of weighted windows of another matrix, as
** convolutions and stencils make it, compared with float64.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <string.h>

#include "host.h"

/* B, of windows of A with the weights F, and scratch for a row. */
typedef struct Window {
  const Array *b, *a, *f;
  size_t rows, cols, frows, fcols;
  size_t up, left;           /* elements of a window before its own element */
  bool keep;                 /* windows that leave A are A's own element */
  const double *weights;     /* F, copied */
  double *sum, *size, *line; /* of a row: B in float64, |F| |A|, input */
} Window;

static void load(const Array *a, size_t row, size_t n, double *x) {
  clsh_hostcheck_load(a, row * n, n, x);
}

/* Adds the products of a row of weights and the input in w->line. */
static void addrow(const Window *w, const double *weights) {
  for (size_t v = 0; v < w->fcols; v++) {
    size_t lo = v < w->left ? w->left - v : 0;
    size_t hi = v > w->left ? v - w->left : 0;
    double f = weights[v], *restrict sum = w->sum, *restrict size = w->size;
    hi = hi < w->cols ? w->cols - hi : 0;
    if (f == 0)
      continue;
    for (size_t j = lo; j < hi; j++) {
      double p = f * w->line[j + v - w->left];
      sum[j] += p;
      size[j] += fabs(p);
    }
  }
}

/* Copies elements lo .. hi - 1 of A, in w->line, to the result. */
static void keep(const Window *w, size_t lo, size_t hi) {
  for (size_t j = lo; j < hi && j < w->cols; j++) {
    w->sum[j] = w->line[j];
    w->size[j] = fabs(w->line[j]);
  }
}

/* Row i of the result in float64. */
static void computerow(const Window *w, size_t i) {
  size_t down = w->frows - 1 - w->up, right = w->fcols - 1 - w->left;
  memset(w->sum, 0, 2 * w->cols * sizeof *w->sum); /* size as well */
  for (size_t u = 0; u < w->frows; u++)
    if (i + u >= w->up && i + u - w->up < w->rows) {
      load(w->a, i + u - w->up, w->cols, w->line);
      addrow(w, w->weights + u * w->fcols);
    }
  if (!w->keep)
    return;
  load(w->a, i, w->cols, w->line);
  if (i < w->up || i + down >= w->rows || w->left + right >= w->cols) {
    keep(w, 0, w->cols);
  } else {
    keep(w, 0, w->left);
    keep(w, w->cols - right, w->cols);
  }
}

static void comparerow(const Window *w, size_t i, Worst *worst) {
  computerow(w, i);
  load(w->b, i, w->cols, w->line);
  for (size_t j = 0; j < w->cols; j++)
    clsh_hostcheck_worse(
        worst, clsh_hostcheck_scaled(w->line[j], w->sum[j], w->size[j]), i, j);
}

/** cl.host.window_error(B, A, F [, opts]) -> err, row, col
 * How far matrix B is, in float64, from the sums of the elements of A around
 * each one times the weights F: the greatest |B - ref| / (|F| |A|), and its
 * place. B has the shape of A; element (1 + (rows - 1) // 2,
 * 1 + (cols - 1) // 2) of F, of rows x cols, belongs to the element itself.
 * Elements outside A are 0; weights of 0 are left out.
 * Options:
 *   step  1      only each such row is compared, and the last one
 *   keep  false  true: where weights lie outside A, B must be A
 * Example:
 * local A = cl.array("float", {3, 3}, 1)
 * local F = cl.array("float", {1, 3}, {{1, 2, 4}})
 * local B = cl.array("float", {3, 3}, {{6, 7, 3}, {6, 7, 3}, {6, 7, 3}})
 * print(host.window_error(B, A, F)) --> 0.0 1 1
 */
static int host_window_error(lua_State *L) {
  Window w = {0};
  Worst worst = {-1, 0, 0};
  lua_settop(L, 4);
  w.b = clsh_hostcheck_reals(L, 1, true);
  w.a = clsh_hostcheck_reals(L, 2, true);
  w.f = clsh_hostcheck_reals(L, 3, true);
  clsh_option_check(L, 4, "step keep", "window_error");
  size_t step = clsh_option_size(L, 4, "step", 1);
  w.keep = clsh_option_flag(L, 4, "keep", false);
  w.rows = w.a->shape.dim[0], w.cols = w.a->shape.dim[1];
  w.frows = w.f->shape.dim[0], w.fcols = w.f->shape.dim[1];
  w.up = (w.frows - 1) / 2, w.left = (w.fcols - 1) / 2;
  if (w.b->shape.dim[0] != w.rows || w.b->shape.dim[1] != w.cols)
    return clsh_error(L, "B must have the shape of %s; got %s",
                      clsh_array_name(L, w.a), clsh_array_name(L, w.b));
  double *scratch = lua_newuserdatauv(
      L, (3 * w.cols + w.f->shape.count) * sizeof *scratch, 0);
  w.sum = scratch, w.size = w.sum + w.cols, w.line = w.size + w.cols;
  w.weights = w.line + w.cols;
  clsh_number_loadreals(w.f->type, clsh_array_data(L, w.f), w.f->shape.count,
                        w.line + w.cols);
  clsh_array_data(L, w.a);
  clsh_array_data(L, w.b);
  for (size_t i = 0; i < w.rows - 1; i += step) {
    clsh_poll(L);
    comparerow(&w, i, &worst);
  }
  comparerow(&w, w.rows - 1, &worst);
  return clsh_hostcheck_pushworst(L, &worst, 3);
}

void clsh_hostwindow_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"window_error", host_window_error},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
