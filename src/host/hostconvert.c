/*
** hostconvert.c - cl.host: a sparse matrix by diagonals (DIA) as compressed
** rows (CSR).
** SPDX-License-Identifier: MIT
*/
#include <limits.h>
#include <string.h>

#include "cl/array.h"
#include "cl/cl.h"
#include "cl/object.h"
#include "cl/process.h"
#include "cl/type.h"
#include "hostcheck.h"

/* The source, and its copies of the offsets. Extents as in the options. */
typedef struct Dia {
  const Array *values;
  const int64_t *offsets;
  size_t rows, cols, pitch, ndiags;
} Dia;

/* What is being made: row_ptr, and NULL or where the entries go. */
typedef struct Csr {
  int *row_ptr, *col_ind;
  char *values;
} Csr;

static size_t checkextent(lua_State *L, const char *name) {
  int whole = 0;
  clsh_hostcheck_option(L, 3, name);
  lua_Integer n = lua_tointegerx(L, -1, &whole);
  if (!whole || n < 1 || n > INT_MAX)
    clsh_error(L, "dia_to_csr: option %s must be a whole number from 1 to %d",
               name, INT_MAX);
  lua_pop(L, 1);
  return (size_t)n;
}

static void checkdia(lua_State *L, Dia *m) {
  static const char *const names[] = {"rows", "cols", "pitch", NULL};
  const Array *offsets = clsh_array_check(L, 2);
  m->values = clsh_array_check(L, 1);
  if (m->values->type->width != 1)
    clsh_error_arg(L, 1, "Array of scalars expected, got %s",
                   m->values->type->name);
  if (offsets->type->kind == 'f' || offsets->type->width != 1)
    clsh_error_arg(L, 2, "Array of an integer type expected, got %s",
                   offsets->type->name);
  clsh_option_check(L, 3, names, "dia_to_csr");
  m->rows = checkextent(L, "rows");
  m->cols = checkextent(L, "cols");
  m->pitch = checkextent(L, "pitch");
  m->ndiags = offsets->shape.count;
  if (m->pitch < m->rows || m->values->shape.count / m->pitch < m->ndiags)
    clsh_error(L,
               "dia_to_csr: values has %I elements, %I diagonals of %I rows "
               "and pitch %I need more",
               (lua_Integer)m->values->shape.count, (lua_Integer)m->ndiags,
               (lua_Integer)m->rows, (lua_Integer)m->pitch);
  int64_t *copy = lua_newuserdatauv(L, m->ndiags * sizeof *copy, 0);
  clsh_number_loadintegers(offsets->type, clsh_array_data(L, offsets),
                           m->ndiags, copy);
  for (size_t d = 1; d < m->ndiags; d++)
    if (copy[d] <= copy[d - 1])
      clsh_error(L, "dia_to_csr: the offsets must ascend");
  m->offsets = copy;
}

/*
** Goes through n entries of diagonal d from row `first`, which lie inside
** the matrix. Counts those that are not zero in row_ptr[i + 1], or puts them
** at row_ptr[i], which moves on.
*/
static void visit(lua_State *L, const Dia *m, size_t d, size_t first, size_t n,
                  const Csr *c) {
  const Type *t = m->values->type;
  const char *p = (const char *)clsh_array_data(L, m->values) +
                  (d * m->pitch + first) * t->size;
  double x[RUN];
  clsh_number_loadreals(t, p, n, x);
  for (size_t k = 0; k < n; k++) {
    size_t i = first + k;
    if (x[k] == 0)
      continue;
    if (c->values == NULL) {
      c->row_ptr[i + 1]++;
      continue;
    }
    size_t at = (size_t)c->row_ptr[i]++;
    c->col_ind[at] = (int)((int64_t)i + m->offsets[d]);
    memcpy(c->values + at * t->size, p + k * t->size, t->size);
  }
}

/* Diagonals in ascending order: so are the columns inside a row. */
static void visitall(lua_State *L, const Dia *m, const Csr *c) {
  for (size_t d = 0; d < m->ndiags; d++) {
    int64_t offset = m->offsets[d];
    if (offset >= (int64_t)m->cols || offset <= -(int64_t)m->rows)
      continue;
    int64_t lo = offset < 0 ? -offset : 0;
    int64_t hi = (int64_t)m->cols - offset;
    if (hi > (int64_t)m->rows)
      hi = (int64_t)m->rows;
    for (int64_t i = lo; i < hi; i += RUN) {
      clsh_poll(L);
      visit(L, m, d, (size_t)i, (size_t)(hi - i < RUN ? hi - i : RUN), c);
    }
  }
}

/* Makes the counts in row_ptr[1..] starts; their sum is returned. */
static size_t accumulate(lua_State *L, int *row_ptr, size_t rows) {
  int64_t sum = 0;
  for (size_t i = 1; i <= rows; i++) {
    sum += row_ptr[i];
    if (sum > INT_MAX)
      clsh_error(L, "dia_to_csr: more than %d entries", INT_MAX);
    row_ptr[i] = (int)sum;
  }
  return (size_t)sum;
}

static Array *newvector(lua_State *L, const Type *t, size_t n) {
  Shape s = {1, {n}, n};
  return clsh_array_new(L, t, &s);
}

/** cl.host.dia_to_csr(values, offsets, opts) -> row_ptr, col_ind, values
 * The entries of a matrix by diagonals that are not zero, as compressed
 * rows: int Arrays with indexes from 0, columns ascending in each row.
 * Without an entry the last two have one unused element.
 * Options:
 *   rows   needed  rows of the matrix
 *   cols   needed  columns of the matrix
 *   pitch  needed  elements from diagonal to diagonal
 */
static int host_dia_to_csr(lua_State *L) {
  const Type *integer = clsh_type_find("int", 3);
  Dia m;
  lua_settop(L, 3);
  luaL_checktype(L, 3, LUA_TTABLE);
  checkdia(L, &m);
  Array *row_ptr = newvector(L, integer, m.rows + 1);
  Csr c = {clsh_array_data(L, row_ptr), NULL, NULL};
  visitall(L, &m, &c);
  size_t nnz = accumulate(L, c.row_ptr, m.rows);
  Array *col_ind = newvector(L, integer, nnz > 0 ? nnz : 1);
  Array *values = newvector(L, m.values->type, nnz > 0 ? nnz : 1);
  c = (Csr){clsh_array_data(L, row_ptr), clsh_array_data(L, col_ind),
            clsh_array_data(L, values)};
  visitall(L, &m, &c);
  memmove(c.row_ptr + 1, c.row_ptr, m.rows * sizeof *c.row_ptr);
  c.row_ptr[0] = 0; /* the visit left each row's end in its place */
  return 3;
}

void clsh_hostconvert_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"dia_to_csr", host_dia_to_csr},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
