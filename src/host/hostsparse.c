/*
** hostsparse.c - cl.host: y = M x for sparse matrices by diagonals (DIA) and
** by compressed rows (CSR), compared with float64 and by plain C loops; and
** diagonals as compressed rows.
** SPDX-License-Identifier: MIT
*/
#include <limits.h>
#include <math.h>
#include <string.h>

#include "host.h"

static const char names[] = "rows cols pitch";

static void checklength(lua_State *L, const Array *a, const char *name,
                        size_t n) {
  if (a->shape.count < n)
    clsh_error(L, "%s has %I elements, %I are needed", name,
               (lua_Integer)a->shape.count, (lua_Integer)n);
}

static const Array *checkintegers(lua_State *L, int arg) {
  const Array *a = clsh_array_check(L, arg);
  if (a->type->kind == 'f' || a->type->width != 1)
    clsh_error_arg(L, arg, "must be an Array of an integer type; got %s",
                   a->type->name);
  return a;
}

/*
** Checks the values and offsets from `arg` on, and the options at `opts`,
** whose names are `known`. `rows` is the default number of rows, 0: the pitch.
** A copy of the offsets is left on the stack.
*/
static void checkdia(lua_State *L, int arg, int opts, size_t rows,
                     const char *known, Sparse *m) {
  const Array *offsets = checkintegers(L, arg + 1);
  clsh_option_check(L, opts, known, "dia");
  m->ndiags = offsets->shape.count;
  if (m->ndiags == 0)
    clsh_error_arg(L, arg + 1, "a DIA matrix must have a diagonal");
  size_t pitch = m->values->shape.count / m->ndiags;
  m->pitch = clsh_option_size(L, opts, "pitch", pitch > 0 ? pitch : 1);
  m->rows = clsh_option_size(L, opts, "rows", rows != 0 ? rows : m->pitch);
  if (m->pitch < m->rows)
    clsh_error(L, "a pitch of %I is too small for %I rows",
               (lua_Integer)m->pitch, (lua_Integer)m->rows);
  if (m->pitch > pitch)
    clsh_error(L, "values has %I elements, %I diagonals of pitch %I need more",
               (lua_Integer)m->values->shape.count, (lua_Integer)m->ndiags,
               (lua_Integer)m->pitch);
  int64_t *copy = lua_newuserdatauv(L, m->ndiags * sizeof *copy, 0);
  clsh_number_loadintegers(offsets->type, clsh_array_data(L, offsets),
                           m->ndiags, copy);
  m->offsets = copy;
}

/* The values (set before), offsets and options of `what`, with rows and cols
** checked. */
void clsh_hostsparse_checkmatrix(lua_State *L, const char *what,
                                 const char *known, Sparse *m) {
  lua_settop(L, 3);
  luaL_checktype(L, 3, LUA_TTABLE);
  checkdia(L, 1, 3, 0, known, m);
  m->cols = clsh_option_size(L, 3, "cols", 0);
  if (m->cols < 1 || m->cols > INT_MAX || m->rows > INT_MAX)
    clsh_error(L, "%s: rows and cols must be <= %d; cols must be given", what,
               INT_MAX);
}

/* values, offsets, x and options of a product, from `arg` on. */
static void checkproduct(lua_State *L, int arg, size_t rows, Sparse *m) {
  m->values = clsh_hostcheck_reals(L, arg, false);
  m->x = clsh_hostcheck_reals(L, arg + 2, false);
  checkdia(L, arg, arg + 3, rows, names, m);
  m->cols = clsh_option_size(L, arg + 3, "cols", m->x->shape.count);
  checklength(L, m->x, "x", m->cols);
}

/* The rows of diagonal `d` that lie inside the matrix: from *lo below *hi. */
void clsh_hostsparse_extent(const Sparse *m, size_t d, size_t *lo,
                            size_t *hi) {
  int64_t off = m->offsets[d];
  *lo = *hi = 0;
  if (off >= (int64_t)m->cols || off <= -(int64_t)m->rows)
    return;
  *lo = off < 0 ? (size_t)-off : 0;
  *hi = (size_t)((int64_t)m->cols - off);
  if (*hi > m->rows)
    *hi = m->rows;
}

/* Compares rows first .. first + n - 1 of y with sums over all diagonals. */
static void comparedia(const Sparse *m, const Array *y, size_t first, size_t n,
                       Worst *w) {
  double ref[RUN] = {0}, sum[RUN] = {0}, a[RUN], x[RUN];
  for (size_t d = 0; d < m->ndiags; d++) {
    size_t lo, hi;
    clsh_hostsparse_extent(m, d, &lo, &hi);
    lo = lo > first ? lo : first;
    hi = hi < first + n ? hi : first + n;
    if (lo >= hi)
      continue;
    clsh_hostcheck_load(m->values, d * m->pitch + lo, hi - lo, a);
    clsh_hostcheck_load(m->x, (size_t)((int64_t)lo + m->offsets[d]), hi - lo,
                        x);
    for (size_t i = lo; i < hi; i++) {
      ref[i - first] += a[i - lo] * x[i - lo];
      sum[i - first] += fabs(a[i - lo] * x[i - lo]);
    }
  }
  clsh_hostcheck_load(y, first, n, a);
  for (size_t i = 0; i < n; i++)
    clsh_hostcheck_worse(w, clsh_hostcheck_scaled(a[i], ref[i], sum[i]),
                         first + i, 0);
}

/** cl.host.dia_error(y, values, offsets, x [, opts]) -> err, row
 * How far y is from M x in float64, M by diagonals: the greatest
 * |y - ref| / (|M| |x|), and its row. A row without entries must be
 * exactly 0.
 * Options:
 *   rows   #y                  rows of M
 *   cols   #x                  columns of M
 *   pitch  #values / #offsets  elements from diagonal to diagonal
 * Example:
 * local M = dia.poisson2d(8, 8)
 * local x = cl.array("float", M.cols, 1)
 * local y = spmv(M, x):read()
 * local err = host.dia_error(y, M.host.values, M.host.offsets, x)
 * print(err < 1e-6) --> true
 */
static int host_dia_error(lua_State *L) {
  Sparse m = {0};
  Worst w = {-1, 0, 0};
  lua_settop(L, 5);
  const Array *y = clsh_hostcheck_reals(L, 1, false);
  checkproduct(L, 2, y->shape.count, &m);
  checklength(L, y, "y", m.rows);
  clsh_array_data(L, y);
  clsh_array_data(L, m.values);
  clsh_array_data(L, m.x);
  for (size_t i = 0; i < m.rows; i += RUN) {
    clsh_poll(L);
    comparedia(&m, y, i, m.rows - i < RUN ? m.rows - i : RUN, &w);
  }
  return clsh_hostcheck_pushworst(L, &w, 2);
}

/*
** Loads n indexes from number i on; raises unless they lie in 0..most. A
** transfer may change the array meanwhile: the copies are used, not the array.
*/
static void loadindexes(lua_State *L, const Array *a, const char *name,
                        size_t i, size_t n, size_t most, int64_t *v) {
  const char *p = a->block->data;
  clsh_number_loadintegers(a->type, p + i * a->type->unit, n, v);
  for (size_t j = 0; j < n; j++)
    if (v[j] < 0 || v[j] > (int64_t)most)
      clsh_error(L, "%s[%I] is %I: outside 0..%I", name,
                 (lua_Integer)(i + j) + 1, (lua_Integer)v[j],
                 (lua_Integer)most);
}

static void falls(lua_State *L, size_t i, int64_t v) {
  clsh_error(L, "row_ptr[%I] is %I: it must not fall", (lua_Integer)i + 1,
             (lua_Integer)v);
}

/* The entries of row `i`: from v[0] below v[1]. */
static void loadrow(lua_State *L, const Sparse *m, size_t i, int64_t v[2]) {
  loadindexes(L, m->row_ptr, "row_ptr", i, 2, m->nnz, v);
  if (v[1] < v[0])
    falls(L, i + 1, v[1]);
}

/* row_ptr, col_ind, values, x and options from `arg` on. */
static void checkcsr(lua_State *L, int arg, size_t rows, Sparse *m) {
  m->row_ptr = checkintegers(L, arg);
  m->col_ind = checkintegers(L, arg + 1);
  m->values = clsh_hostcheck_reals(L, arg + 2, false);
  m->x = clsh_hostcheck_reals(L, arg + 3, false);
  clsh_option_check(L, arg + 4, names, "csr");
  m->rows = clsh_option_size(L, arg + 4, "rows",
                             rows != 0 ? rows : m->row_ptr->shape.count - 1);
  m->cols = clsh_option_size(L, arg + 4, "cols", m->x->shape.count);
  m->nnz = m->values->shape.count < m->col_ind->shape.count
               ? m->values->shape.count
               : m->col_ind->shape.count;
  if (m->rows >= m->row_ptr->shape.count)
    clsh_error(L, "row_ptr has %I elements, %I rows need one more than that",
               (lua_Integer)m->row_ptr->shape.count, (lua_Integer)m->rows);
  checklength(L, m->x, "x", m->cols);
}

/* Raises if an array is closed. To be called after the last allocation. */
static void checkopen(lua_State *L, const Sparse *m) {
  clsh_array_data(L, m->row_ptr);
  clsh_array_data(L, m->col_ind);
  clsh_array_data(L, m->values);
  clsh_array_data(L, m->x);
}

/* The error of row `i` of y; *longest: the most entries of a row so far. */
static double comparerow(lua_State *L, const Sparse *m, const Array *y,
                         size_t i, int64_t *longest) {
  double ref = 0, sum = 0, got, x, a[RUN];
  int64_t row[2], col[RUN];
  loadrow(L, m, i, row);
  if (row[1] - row[0] > *longest)
    *longest = row[1] - row[0];
  for (size_t e = (size_t)row[0], end = (size_t)row[1], n; e < end; e += n) {
    n = end - e < RUN ? end - e : RUN;
    clsh_hostcheck_load(m->values, e, n, a);
    loadindexes(L, m->col_ind, "col_ind", e, n, m->cols - 1, col);
    for (size_t j = 0; j < n; j++) {
      clsh_hostcheck_load(m->x, (size_t)col[j], 1, &x);
      ref += a[j] * x;
      sum += fabs(a[j] * x);
    }
  }
  clsh_hostcheck_load(y, i, 1, &got);
  return clsh_hostcheck_scaled(got, ref, sum);
}

/** cl.host.csr_error(y, row_ptr, col_ind, values, x [, opts]) -> err, row, n
 * How far y is from M x in float64, M by compressed rows (indexes from 0):
 * the greatest |y - ref| / (|M| |x|), its row, and the entries of the longest
 * row. A row without entries must be exactly 0.
 * Options:
 *   rows  #y  rows of M
 *   cols  #x  columns of M
 * Example:
 * local M = dia.poisson2d(8, 8):to_csr()
 * local x = cl.array("float", M.cols, 1)
 * local h = M.host
 * local err = host.csr_error(spmv(M, x):read(), h.row_ptr, h.col_ind,
 *   h.values, x)
 * print(err < 1e-6) --> true
 */
static int host_csr_error(lua_State *L) {
  Sparse m = {0};
  Worst w = {-1, 0, 0};
  int64_t longest = 0;
  lua_settop(L, 6);
  const Array *y = clsh_hostcheck_reals(L, 1, false);
  checkcsr(L, 2, y->shape.count, &m);
  checklength(L, y, "y", m.rows);
  clsh_array_data(L, y);
  checkopen(L, &m);
  for (size_t i = 0; i < m.rows; i++) {
    clsh_poll(L);
    clsh_hostcheck_worse(&w, comparerow(L, &m, y, i, &longest), i, 0);
  }
  clsh_hostcheck_pushworst(L, &w, 2);
  lua_pushinteger(L, longest);
  return 3;
}

/* Adds the products of diagonal `d` to y; and row `i` of compressed rows. */
#define LOOPS(T)                                                              \
  static void dia_##T(const Sparse *m, size_t d, T *restrict y) {             \
    size_t lo, hi;                                                            \
    const T *a = (const T *)m->values->block->data + d * m->pitch;            \
    const T *x = (const T *)m->x->block->data;                                \
    clsh_hostsparse_extent(m, d, &lo, &hi);                                   \
    for (size_t i = lo; i < hi; i++)                                          \
      y[i] += a[i] * x[(int64_t)i + m->offsets[d]];                           \
  }                                                                           \
  static void csr_##T(const Sparse *m, const int *row_ptr,                    \
                      const int *col_ind, size_t i, T *y) {                   \
    const T *a = m->values->block->data, *x = m->x->block->data;              \
    T sum = 0;                                                                \
    for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++)                         \
      sum += a[e] * x[col_ind[e]];                                            \
    y[i] = sum;                                                               \
  }
LOOPS(float)
LOOPS(double)

/* y of a product, on the stack, all zeros. */
static Array *newresult(lua_State *L, const Sparse *m) {
  if (m->values->type != m->x->type || m->x->type->unit == 2)
    clsh_error(L, "the loop takes float or double; got %s and %s",
               m->values->type->name, m->x->type->name);
  return clsh_hostcheck_newvector(L, m->x->type->name, m->rows);
}

/** cl.host.dia_loop(values, offsets, x [, opts]) -> y, seconds
 * M x for a matrix by diagonals, float or double, by two plain loops in C:
 * a diagonal at a time.
 * Options:
 *   rows   pitch               rows of M
 *   cols   #x                  columns of M
 *   pitch  #values / #offsets  elements from diagonal to diagonal
 * Example:
 * local M = dia.poisson2d(8, 8)
 * local x = cl.array("float", M.cols, 1)
 * local y = host.dia_loop(M.host.values, M.host.offsets, x, {rows = 64})
 * print(y[1]) --> 2.0
 */
static int host_dia_loop(lua_State *L) {
  Sparse m = {0};
  lua_settop(L, 4);
  checkproduct(L, 1, 0, &m);
  Array *y = newresult(L, &m);
  clsh_array_data(L, m.values);
  clsh_array_data(L, m.x);
  double start = clsh_poll_now();
  for (size_t d = 0; d < m.ndiags; d++) {
    clsh_poll(L);
    if (y->type->unit == 4)
      dia_float(&m, d, y->block->data);
    else
      dia_double(&m, d, y->block->data);
  }
  lua_pushnumber(L, clsh_poll_now() - start);
  return 2;
}

/* Copies n indexes that lie in 0..most, for loops that trust them. */
static void copyindexes(lua_State *L, const Array *a, const char *name,
                        size_t n, size_t most, int *to) {
  int64_t v[RUN];
  for (size_t i = 0; i < n; i += RUN) {
    size_t run = n - i < RUN ? n - i : RUN;
    clsh_poll(L);
    loadindexes(L, a, name, i, run, most, v);
    for (size_t j = 0; j < run; j++)
      to[i + j] = (int)v[j];
  }
}

/* All indexes of a matrix, the Arrays at 1 and 2, as copies on the stack. */
void clsh_hostsparse_indexes(lua_State *L, const Sparse *m, int **row_ptr,
                             int **col_ind) {
  for (int i = 1; i <= 2; i++)
    if (strcmp(clsh_array_check(L, i)->type->name, "int") != 0)
      clsh_error_arg(L, i, "must be an Array of int; got %s",
                     clsh_array_check(L, i)->type->name);
  int *ptr = lua_newuserdatauv(L, (m->rows + 1) * sizeof *ptr, 0);
  *row_ptr = ptr;
  *col_ind = lua_newuserdatauv(L, m->nnz * sizeof **col_ind, 0);
  clsh_array_data(L, m->row_ptr);
  clsh_array_data(L, m->col_ind);
  copyindexes(L, m->row_ptr, "row_ptr", m->rows + 1, m->nnz, ptr);
  for (size_t i = 1; i <= m->rows; i++)
    if (ptr[i] < ptr[i - 1])
      falls(L, i, ptr[i]);
  copyindexes(L, m->col_ind, "col_ind", (size_t)ptr[m->rows], m->cols - 1,
              *col_ind);
}

/** cl.host.csr_loop(row_ptr, col_ind, values, x [, opts]) -> y, seconds
 * M x for a matrix by compressed rows, float or double with int indexes
 * from 0, by two plain loops in C.
 * Options:
 *   rows  #row_ptr - 1  rows of M
 *   cols  #x            columns of M
 * Example:
 * local h = dia.poisson2d(8, 8):to_csr().host
 * local y = host.csr_loop(h.row_ptr, h.col_ind, h.values,
 *   cl.array("float", 64, 1))
 * print(y[1]) --> 2.0
 */
static int host_csr_loop(lua_State *L) {
  Sparse m = {0};
  lua_settop(L, 5);
  checkcsr(L, 1, 0, &m);
  int *row_ptr, *col_ind;
  Array *y = newresult(L, &m);
  clsh_hostsparse_indexes(L, &m, &row_ptr, &col_ind);
  checkopen(L, &m);
  double start = clsh_poll_now();
  for (size_t i = 0; i < m.rows; i++) {
    clsh_poll(L);
    if (y->type->unit == 4)
      csr_float(&m, row_ptr, col_ind, i, y->block->data);
    else
      csr_double(&m, row_ptr, col_ind, i, y->block->data);
  }
  lua_pushnumber(L, clsh_poll_now() - start);
  lua_replace(L, -3);
  lua_pop(L, 1);
  return 2;
}

/* A matrix in the making: row_ptr, and NULL or where the entries go. */
typedef struct Csr {
  int *row_ptr, *col_ind;
  int *next; /* of each row: the number of its next entry */
  char *values;
} Csr;

static void changed(lua_State *L) {
  clsh_error(L, "dia_to_csr: the values changed meanwhile");
}

/*
** Goes through n entries of diagonal d from row `first`, which lie inside
** the matrix. Counts the nonzero entries in row_ptr[i + 1], or puts them at
** next[i], which moves on. A finalizer or a transfer may have changed the
** values since they were counted.
*/
static void visit(lua_State *L, const Sparse *m, size_t d, size_t first,
                  size_t n, const Csr *c) {
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
    if (c->next[i] == c->row_ptr[i + 1])
      changed(L);
    size_t at = (size_t)c->next[i]++;
    c->col_ind[at] = (int)((int64_t)i + m->offsets[d]);
    memcpy(c->values + at * t->size, p + k * t->size, t->size);
  }
}

/* Diagonals in ascending order: so are the columns inside a row. */
static void visitall(lua_State *L, const Sparse *m, const Csr *c) {
  for (size_t d = 0; d < m->ndiags; d++) {
    size_t lo, hi;
    clsh_hostsparse_extent(m, d, &lo, &hi);
    for (size_t i = lo; i < hi; i += RUN) {
      clsh_poll(L);
      visit(L, m, d, i, hi - i < RUN ? hi - i : RUN, c);
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

/** cl.host.dia_to_csr(values, offsets, opts) -> row_ptr, col_ind, values
 * The entries of a matrix by diagonals that are not zero, as compressed
 * rows: int Arrays with indexes from 0, columns ascending in each row.
 * Without an entry col_ind and values have one unused element.
 * Options:
 *   rows   pitch               rows of the matrix
 *   cols   needed              columns of the matrix
 *   pitch  #values / #offsets  elements from diagonal to diagonal
 * Example:
 * local M = dia.poisson2d(4, 4).host
 * local row_ptr, col_ind, values = host.dia_to_csr(M.values, M.offsets,
 *   {rows = 16, cols = 16, pitch = 32})
 * print(#row_ptr, #values) --> 17 64
 */
static int host_dia_to_csr(lua_State *L) {
  Sparse m = {0};
  m.values = clsh_array_check(L, 1);
  if (m.values->type->width != 1)
    return clsh_error_arg(L, 1, "must be an Array of scalars; got %s",
                          m.values->type->name);
  clsh_hostsparse_checkmatrix(L, "dia_to_csr", names, &m);
  for (size_t d = 1; d < m.ndiags; d++)
    if (m.offsets[d] <= m.offsets[d - 1])
      return clsh_error(L, "dia_to_csr: the offsets must ascend");
  Array *row_ptr = clsh_hostcheck_newvector(L, "int", m.rows + 1);
  Csr c = {clsh_array_data(L, row_ptr), NULL, NULL, NULL};
  visitall(L, &m, &c);
  size_t nnz = accumulate(L, c.row_ptr, m.rows);
  Array *col_ind = clsh_hostcheck_newvector(L, "int", nnz > 0 ? nnz : 1);
  Array *values =
      clsh_hostcheck_newvector(L, m.values->type->name, nnz > 0 ? nnz : 1);
  c.next = lua_newuserdatauv(L, m.rows * sizeof *c.next, 0);
  c.col_ind = clsh_array_data(L, col_ind);
  c.values = clsh_array_data(L, values);
  memcpy(c.next, c.row_ptr, m.rows * sizeof *c.next);
  visitall(L, &m, &c);
  if (memcmp(c.next, c.row_ptr + 1, m.rows * sizeof *c.next) != 0)
    changed(L);
  lua_pop(L, 1);
  return 3;
}

void clsh_hostsparse_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"csr_error", host_csr_error},   {"csr_loop", host_csr_loop},
      {"dia_error", host_dia_error},   {"dia_loop", host_dia_loop},
      {"dia_to_csr", host_dia_to_csr}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
