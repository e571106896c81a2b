/*
** hostcsr.c - cl.host: seeded patterns of sparse matrices by compressed rows,
** their indexes in 16 bits, and their transposition.
** SPDX-License-Identifier: MIT
*/
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { RMAT, ROAD, FEM, ZIPF };
static const char *const kinds[] = {"rmat", "road", "fem", "zipf", NULL};

/* A pattern of n rows and columns; the columns of one row in list. */
typedef struct Pattern {
  int kind;
  size_t n, block, nodes, side;
  double degree;
  uint64_t seed;
  int *list;
  size_t count;
} Pattern;

static double fraction(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

/* The number of a node in the grid, and back: neighbours in numbers are near
** in the grid, but in no order. */
static size_t shuffled(const Pattern *p, size_t node) {
  uint64_t mask = clsh_array_splitmix64(~p->seed, node / 64) & 63;
  return (node | 63) < p->nodes ? node ^ mask : node;
}

/* A row of a road network or of a mesh: links between neighbours of a grid in
** two or three dimensions, some left out; in a mesh, blocks of columns. */
static void lattice(Pattern *p, size_t row) {
  size_t node = shuffled(p, row / p->block), m = p->side;
  int column = (int)(node % m), line = (int)(node / m % m);
  bool mesh = p->kind == FEM;
  double share =
      mesh ? (p->degree / (double)p->block - 1) / 26 : p->degree / 4;
  for (int d = 0; d < 27; d++) {
    int x = d % 3 - 1, y = d / 3 % 3 - 1, z = d / 9 - 1;
    int64_t other = (int64_t)node + x + ((int64_t)z * (int)m + y) * (int)m;
    if (column + x < 0 || column + x >= (int)m || other < 0 ||
        other >= (int64_t)p->nodes)
      continue;
    if (mesh ? line + y < 0 || line + y >= (int)m
             : z != 0 || abs(x) + abs(y) != 1)
      continue;
    uint64_t low =
        d < 13 ? (uint64_t)other : node; /* the same for both ends */
    uint64_t link = clsh_array_splitmix64(
        p->seed, low * 32 + (uint64_t)(d < 13 ? 26 - d : d));
    if (d != 13 && fraction(link) >= share)
      continue;
    size_t first = shuffled(p, (size_t)other) * p->block;
    for (size_t j = first; j < first + p->block && j < p->n; j++)
      p->list[p->count++] = (int)j;
  }
}

/* A row of the recursive model R-MAT of Chakrabarti, Zhan and Faloutsos with
** quarters of 57, 19, 19 and 5 percent. */
static void rmat(Pattern *p, size_t row, uint64_t own, size_t entries) {
  for (uint64_t k = 0; k < entries; k++) {
    uint64_t bits = 0;
    size_t col = 0, level = 0;
    for (size_t half = p->side / 2; half > 0; half /= 2, level++) {
      if (level % 4 == 0)
        bits = clsh_array_splitmix64(own, k * 8 + level / 4);
      col += (bits & 65535) < (row & half ? 13653u : 16384u) ? half : 0;
      bits >>= 16;
    }
    if (col < p->n)
      p->list[p->count++] = (int)col;
  }
}

/* How many entries a row of R-MAT or of Zipf's lengths draws. */
static size_t draws(const Pattern *p, size_t row, uint64_t own) {
  double mean = p->degree * (double)p->side, u = fraction(own);
  for (size_t half = p->side / 2; half > 0; half /= 2)
    mean *= row & half ? 0.24 : 0.76;
  if (p->kind == ZIPF)
    mean = p->degree / 6 * pow(1 - u, -1 / 1.2);
  double most = p->kind == ZIPF ? (double)p->n / 8 + 1 : (double)p->n;
  mean += fraction(clsh_array_splitmix64(own, UINT64_MAX / 2));
  return (size_t)(mean < most ? mean : most);
}

static int ascending(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Lists the columns of a row, ascending, each once. */
static void makerow(Pattern *p, size_t row) {
  size_t n = 0;
  p->count = 0;
  if (p->kind == ROAD || p->kind == FEM) {
    lattice(p, row);
  } else {
    uint64_t own = clsh_array_splitmix64(p->seed, row);
    size_t entries = draws(p, row, own);
    if (p->kind == RMAT)
      rmat(p, row, own, entries);
    for (size_t k = 0; p->kind == ZIPF && k < entries; k++)
      p->list[p->count++] =
          (int)(fraction(clsh_array_splitmix64(own, k)) * (double)p->n);
  }
  qsort(p->list, p->count, sizeof *p->list, ascending);
  for (size_t k = 0; k < p->count; k++)
    if (k == 0 || p->list[k] != p->list[k - 1])
      p->list[n++] = p->list[k];
  p->count = n;
}

static void *newdata(lua_State *L, const char *type, size_t n) {
  return clsh_array_data(L, clsh_hostcheck_newvector(L, type, n));
}

/** cl.host.csr_pattern(kind, n, degree, seed, block) -> row_ptr, col_ind
 * The indexes of an n x n matrix by compressed rows, with about `degree`
 * entries in a row: "rmat", "road", "fem" (each node has `block` rows) or
 * "zipf", see csr.rmat and its neighbours. int Arrays, indexes from 0, columns
 * ascending in each row; the same for the same seed. Without an entry col_ind
 * has one unused element.
 * Example:
 * local row_ptr, col_ind = host.csr_pattern("road", 100, 3, 1, 1)
 * print(#row_ptr) --> 101
 */
static int host_csr_pattern(lua_State *L) {
  Pattern p = {.kind = luaL_checkoption(L, 1, NULL, kinds)};
  p.n = clsh_option_count(L, 2, "n");
  p.degree = luaL_checknumber(L, 3);
  p.seed = (uint64_t)luaL_checkinteger(L, 4);
  p.block = clsh_option_count(L, 5, "block");
  lua_settop(L, 5);
  if (p.n < 1 || p.n > INT_MAX || p.block < 1 || p.block > p.n ||
      !(p.degree >= 0 && p.degree <= 65536) ||
      p.degree * (double)p.n > INT_MAX)
    return clsh_error(L,
                      "csr_pattern: n must be 1 to %d, block 1 to n, degree "
                      "0 to 65536, n degree <= %d",
                      INT_MAX, INT_MAX);
  p.nodes = (p.n + p.block - 1) / p.block;
  double root = p.kind == FEM ? cbrt((double)p.nodes) : sqrt((double)p.nodes);
  p.side = (size_t)ceil(root - 1e-9);
  if (p.kind == RMAT)
    for (p.side = 1; p.side < p.n;)
      p.side *= 2;
  p.list = lua_newuserdatauv(L, (p.n + p.block * 27) * sizeof *p.list, 0);
  int *row_ptr = newdata(L, "int", p.n + 1);
  size_t nnz = 0;
  luaL_Buffer all;
  luaL_buffinit(L, &all);
  for (size_t i = 0; i < p.n; i++) {
    clsh_poll(L);
    makerow(&p, i);
    luaL_addlstring(&all, (char *)p.list, p.count * sizeof *p.list);
    nnz += p.count;
    if (nnz > INT_MAX)
      return clsh_error(L, "csr_pattern: more than %d entries", INT_MAX);
    row_ptr[i + 1] = (int)nnz;
  }
  luaL_pushresult(&all);
  int *col_ind = newdata(L, "int", nnz > 0 ? nnz : 1);
  memcpy(col_ind, lua_tostring(L, -2), nnz * sizeof *col_ind);
  lua_remove(L, -2);
  return 2;
}

#define CHUNK 1024 /* elements of a chunk, at most; its rows, too */
#define PAGE 256   /* columns of a page; pages of a chunk, at most */

/* A matrix cut into chunks, and its indexes in few bytes. The first pass only
** counts: its arrays are NULL. */
typedef struct Packing {
  const int *row_ptr, *col_ind;
  size_t rows, far_bytes;
  int *seen, *slot; /* by page: the last chunk that has it, and its place */
  int number;       /* of the chunk */
  size_t chunks, pages, fars, pieces, splits, longest;
  int *chunk, *page, *split;
  uint16_t *near;
  unsigned char *far;
} Packing;

/* Writes the indexes of a chunk: a page and a place there, or the lower 16
** bits with the upper bits apart. */
static void putindexes(const Packing *p, size_t first, size_t last,
                       bool wide) {
  for (size_t e = first; e < last; e++) {
    int col = p->col_ind[e], slot = p->slot[col / PAGE];
    p->near[e] = (uint16_t)(wide ? col : slot * PAGE + col % PAGE);
    if (!wide)
      p->page[p->pages + (size_t)slot] = col / PAGE * PAGE;
    for (size_t b = 0; wide && b < p->far_bytes; b++)
      p->far[(p->fars + e - first) * p->far_bytes + b] =
          (unsigned char)(col >> (16 + 8 * b));
  }
}

/* Adds the chunk of elements first .. last - 1, the first one of `row`. */
static void putchunk(Packing *p, size_t row, size_t first, size_t last,
                     bool piece) {
  size_t pages = 0, at = 4 * p->chunks++;
  p->number++;
  for (size_t e = first; e < last; e++) {
    int page = p->col_ind[e] / PAGE;
    if (p->seen[page] != p->number) {
      p->seen[page] = p->number;
      p->slot[page] = (int)pages++;
    }
  }
  bool wide = pages > PAGE || 4 * pages > (last - first) * p->far_bytes;
  if (p->chunk != NULL) {
    p->chunk[at] = (int)row;
    p->chunk[at + 1] = (int)first;
    p->chunk[at + 2] = wide ? ~(int)p->fars : (int)p->pages;
    p->chunk[at + 3] = piece ? (int)p->pieces : -1;
    putindexes(p, first, last, wide);
  }
  p->pages += wide ? 0 : pages;
  p->fars += wide && p->far_bytes > 0 ? last - first : 0;
  p->pieces += piece;
}

/* Adds the chunks of a long row. */
static void putpieces(Packing *p, size_t row, size_t first, size_t last) {
  if (p->split != NULL) {
    p->split[2 * p->splits] = (int)row;
    p->split[2 * p->splits + 1] = (int)p->pieces;
  }
  p->splits++;
  for (; first < last; first += CHUNK)
    putchunk(p, row, first, first + CHUNK < last ? first + CHUNK : last, true);
}

/* Cuts the matrix into chunks of whole rows, where no row is so much longer
** than the others that they wait for it, and into pieces of long rows. */
static void cut(lua_State *L, Packing *p) {
  size_t begin = 0, longest = 0; /* of the chunk that grows */
  p->chunks = p->pages = p->fars = p->pieces = p->splits = 0;
  for (size_t i = 0; i < p->rows; i++) {
    size_t first = (size_t)p->row_ptr[i], last = (size_t)p->row_ptr[i + 1];
    size_t start = (size_t)p->row_ptr[begin], n = last - first;
    size_t most = n > longest ? n : longest;
    p->longest = n > p->longest ? n : p->longest;
    clsh_poll(L);
    if (i > begin && (last - start > CHUNK || i - begin == CHUNK ||
                      (most > 32 && most * (i - begin + 1) > 4 * CHUNK))) {
      putchunk(p, begin, start, first, false);
      begin = i;
      most = n;
    }
    longest = most;
    if (n > CHUNK) {
      putpieces(p, i, first, last);
      begin = i + 1;
      longest = 0;
    }
  }
  if (begin < p->rows)
    putchunk(p, begin, (size_t)p->row_ptr[begin], (size_t)p->row_ptr[p->rows],
             false);
  if (p->chunk != NULL) {
    p->chunk[4 * p->chunks] = (int)p->rows;
    p->chunk[4 * p->chunks + 1] = p->row_ptr[p->rows];
    p->split[2 * p->splits] = (int)p->rows;
    p->split[2 * p->splits + 1] = (int)p->pieces;
  }
}

/* The indexes, with the options at `opts`, checked, as copies on the stack. */
static void checkindexes(lua_State *L, int opts, Sparse *m, int **row_ptr,
                         int **col_ind) {
  lua_settop(L, opts);
  luaL_checktype(L, opts, LUA_TTABLE);
  clsh_option_check(L, opts, "rows cols", "csr");
  m->row_ptr = clsh_array_check(L, 1);
  m->col_ind = clsh_array_check(L, 2);
  m->rows = clsh_option_size(L, opts, "rows", m->row_ptr->shape.count - 1);
  m->cols = clsh_option_size(L, opts, "cols", 0);
  m->nnz = m->col_ind->shape.count;
  if (m->cols < 1)
    clsh_error(L, "csr: option cols is needed: the columns of the matrix");
  if (m->rows >= m->row_ptr->shape.count || m->rows < 1 || m->cols > INT_MAX)
    clsh_error(L,
               "csr: row_ptr has %I elements, one more than rows is needed; "
               "cols must be <= %d",
               (lua_Integer)m->row_ptr->shape.count, INT_MAX);
  clsh_hostsparse_indexes(L, m, row_ptr, col_ind);
}

/** cl.host.csr_lengths(row_ptr) -> least, most
 * The entries of the shortest and of the longest row of a matrix by
 * compressed rows; row_ptr is an Array of int.
 * Example: print(host.csr_lengths(csr.road(10000).host.row_ptr)) --> 0 4
 */
static int host_csr_lengths(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  if (strcmp(a->type->name, "int") != 0 || a->shape.count < 2)
    clsh_error_arg(L, 1, "must be an Array of 2 or more int; got %I of %s",
                   (lua_Integer)a->shape.count, a->type->name);
  const int *ptr = clsh_array_data(L, a);
  int64_t least = INT_MAX, most = 0;
  for (size_t i = 1; i < a->shape.count; i++) {
    int64_t n = (int64_t)ptr[i] - ptr[i - 1];
    least = n < least ? n : least;
    most = n > most ? n : most;
  }
  lua_pushinteger(L, least);
  lua_pushinteger(L, most);
  return 2;
}

/** cl.host.csr_pack(row_ptr, col_ind, opts) -> chunks, near, pages, far, ...
 * The indexes of a matrix by compressed rows in few bytes, as Csr:pack has
 * them: 4 ints for each chunk and behind the last (row, element, place of its
 * pages or, inverted, in far, number of the piece of a long row or -1); a
 * ushort for each element; the first columns of pages; the upper bits of
 * columns, uchar or ushort; and for each row in pieces the row and its first
 * piece, then the rows and pieces of the matrix (split); the longest row.
 * pages and far end with room for a chunk.
 * Options:
 *   rows  #row_ptr - 1  rows of the matrix
 *   cols  needed        columns of the matrix
 * Example:
 * local h = dia.poisson2d(8, 8):to_csr().host
 * local chunks, near = host.csr_pack(h.row_ptr, h.col_ind, {cols = 64})
 * print(#chunks, #near) --> 8 288
 */
static int host_csr_pack(lua_State *L) {
  Sparse m = {0};
  int *row_ptr, *col_ind;
  checkindexes(L, 3, &m, &row_ptr, &col_ind);
  Packing p = {.row_ptr = row_ptr, .col_ind = col_ind, .rows = m.rows};
  size_t pages = m.cols / PAGE + 1;
  p.far_bytes = m.cols <= 1 << 16 ? 0 : m.cols <= 1 << 24 ? 1 : 2;
  p.seen = lua_newuserdatauv(L, 2 * pages * sizeof *p.seen, 0);
  p.slot = p.seen + pages;
  memset(p.seen, 0, pages * sizeof *p.seen);
  cut(L, &p);
  int *chunk = newdata(L, "int", 4 * (p.chunks + 1));
  p.near = newdata(L, "ushort", m.nnz > 0 ? m.nnz : 1);
  p.page = newdata(L, "int", p.pages + PAGE);
  p.far = newdata(L, p.far_bytes == 2 ? "ushort" : "uchar", p.fars + CHUNK);
  p.split = newdata(L, "int", 2 * (p.splits + 1));
  p.chunk = chunk;
  cut(L, &p);
  lua_pushinteger(L, (lua_Integer)p.longest);
  return 6;
}

/** cl.host.csr_transpose(row_ptr, col_ind, values, opts) -> ptr, col, v, at
 * The transposed matrix of a matrix by compressed rows: its rows, columns and
 * values, with indexes from 0, and for each of its elements the number, from
 * 0, of the element in the old order.
 * Options:
 *   rows  #row_ptr - 1  rows of the matrix
 *   cols  needed        columns of the matrix
 * Example:
 * local h = csr.from_coo(1, 2, {1}, {2}, {5}).host
 * local ptr, col, v = host.csr_transpose(h.row_ptr, h.col_ind, h.values,
 *   {cols = 2})
 * print(ptr[2], ptr[3], v[1]) --> 0 1 5.0
 */
static int host_csr_transpose(lua_State *L) {
  Sparse m = {0};
  int *row_ptr, *col_ind;
  m.values = clsh_array_check(L, 3);
  checkindexes(L, 4, &m, &row_ptr, &col_ind);
  size_t unit = m.values->type->unit, n = (size_t)row_ptr[m.rows];
  if (m.values->type->width != 1 || m.values->shape.count < n)
    return clsh_error_arg(L, 3, "must be an Array of %I scalars",
                          (lua_Integer)n);
  int *next = lua_newuserdatauv(L, (m.cols + 1) * sizeof *next, 0);
  int *ptr = newdata(L, "int", m.cols + 1);
  int *col = newdata(L, "int", n > 0 ? n : 1);
  char *to = newdata(L, m.values->type->name, n > 0 ? n : 1);
  int *place = newdata(L, "int", n > 0 ? n : 1);
  const char *from = clsh_array_data(L, m.values);
  for (size_t e = (size_t)row_ptr[0]; e < n; e++)
    ptr[col_ind[e] + 1]++;
  for (size_t j = 0; j < m.cols; j++)
    ptr[j + 1] += ptr[j];
  memcpy(next, ptr, (m.cols + 1) * sizeof *next);
  for (size_t i = 0; i < m.rows; i++) {
    for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
      int at = next[col_ind[e]]++;
      col[at] = (int)i;
      place[at] = e;
      memcpy(to + (size_t)at * unit, from + (size_t)e * unit, unit);
    }
  }
  return 4;
}

void clsh_hostcsr_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"csr_lengths", host_csr_lengths},
                                       {"csr_pack", host_csr_pack},
                                       {"csr_pattern", host_csr_pattern},
                                       {"csr_transpose", host_csr_transpose},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
