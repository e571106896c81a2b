/*
** hostpatterns.c - cl.host: two ways to store a sparse matrix by diagonals in
** fewer bytes: rows of few patterns, a byte each, and diagonals that mirror
** each other.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "host.h"

/* The pattern `old` of the diagonals before, and a value of the next
** diagonal. */
typedef struct Pair {
  unsigned old;
  uint64_t bits;
} Pair;

#define MOST 256   /* patterns: codes are bytes */
#define SLOTS 1024 /* of the table of pairs, a power of two */

/* The patterns of the diagonals seen so far, and one more diagonal. */
typedef struct Patterns {
  unsigned char *code, *next; /* of each row: its pattern, and its pair */
  size_t most, count;         /* patterns */
  uint64_t *values;           /* MOST x ndiags */
  size_t pairs;
  Pair pair[MOST];
  int slot[SLOTS]; /* number of a pair, or -1 */
  int first[MOST]; /* of a pattern: the number of its first pair, or -1 */
} Patterns;

/* The number of a pair, a new one perhaps; -1: there is no room for it. */
static int findpair(Patterns *p, unsigned old, uint64_t bits) {
  uint64_t hash = (bits ^ old * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  size_t at = hash >> 54;
  for (; p->slot[at] >= 0; at = (at + 1) % SLOTS) {
    const Pair *q = &p->pair[p->slot[at]];
    if (q->bits == bits && q->old == old)
      return p->slot[at];
  }
  if (p->pairs == p->most)
    return -1;
  p->pair[p->pairs] = (Pair){old, bits};
  if (p->first[old] < 0)
    p->first[old] = (int)p->pairs;
  return p->slot[at] = (int)p->pairs++;
}

/* Finds the pairs of rows first .. first + n - 1, inside diagonal d; false:
** there are too many. */
static bool pairrows(lua_State *L, const Sparse *m, size_t d, size_t first,
                     size_t n, Patterns *p) {
  size_t unit = m->values->type->unit;
  const char *v = (const char *)clsh_array_data(L, m->values) +
                  (d * m->pitch + first) * unit;
  uint64_t last = 0;
  int number = -1;
  for (size_t i = first; i < first + n; i++, v += unit) {
    uint64_t bits = clsh_hostcheck_bits(v, unit);
    if (number < 0 || bits != last || p->code[i] != p->pair[number].old)
      number = findpair(p, p->code[i], bits);
    if (number < 0)
      return false;
    last = bits;
    p->next[i] = (unsigned char)number;
  }
  return true;
}

/* Finds the pairs of rows outside the diagonal, whose value may be any. */
static bool pairothers(Patterns *p, size_t first, size_t last) {
  for (size_t i = first; i < last; i++) {
    int number = p->first[p->code[i]];
    if (number < 0)
      number = findpair(p, p->code[i], 0);
    if (number < 0)
      return false;
    p->next[i] = (unsigned char)number;
  }
  return true;
}

/* Finds the pairs of diagonal d with the patterns; false: too many. */
static bool pairup(lua_State *L, const Sparse *m, size_t d, Patterns *p) {
  size_t lo, hi;
  p->pairs = 0;
  memset(p->slot, -1, sizeof p->slot);
  memset(p->first, -1, sizeof p->first);
  clsh_hostsparse_extent(m, d, &lo, &hi);
  for (size_t i = lo; i < hi; i += RUN) {
    clsh_poll(L);
    if (!pairrows(L, m, d, i, hi - i < RUN ? hi - i : RUN, p))
      return false;
  }
  return pairothers(p, 0, lo) && pairothers(p, hi > lo ? hi : lo, m->rows);
}

/* Makes the pairs of diagonal d the patterns. */
static void takepairs(const Sparse *m, size_t d, Patterns *p, uint64_t *old) {
  unsigned char *code = p->code;
  memcpy(old, p->values, p->count * m->ndiags * sizeof *old);
  for (size_t k = 0; k < p->pairs; k++) {
    uint64_t *to = p->values + k * m->ndiags;
    memcpy(to, old + p->pair[k].old * m->ndiags, m->ndiags * sizeof *to);
    to[d] = p->pair[k].bits;
  }
  p->count = p->pairs;
  p->code = p->next;
  p->next = code;
}

/* Lists the diagonals by the number of their values, fewest first, without
** diagonals of more than p->most values. Returns the length of the list. */
static size_t sortdiags(lua_State *L, const Sparse *m, Patterns *p,
                        size_t *list, size_t *counts) {
  size_t n = 0;
  for (size_t d = 0; d < m->ndiags; d++) {
    if (!pairup(L, m, d, p))
      continue;
    size_t k = n++;
    for (; k > 0 && counts[k - 1] > p->pairs; k--) {
      list[k] = list[k - 1];
      counts[k] = counts[k - 1];
    }
    list[k] = d;
    counts[k] = p->pairs;
  }
  return n;
}

/* Writes codes and patterns, numbered anew with the most frequent first. */
static void putpatterns(const Sparse *m, const Patterns *p,
                        unsigned char *codes, char *patterns) {
  size_t counts[MOST] = {0}, unit = m->values->type->unit;
  unsigned char order[MOST], number[MOST];
  for (size_t i = 0; i < m->rows; i++)
    counts[p->code[i]]++;
  for (size_t k = 0; k < p->count; k++) {
    size_t at = k;
    for (; at > 0 && counts[order[at - 1]] < counts[k]; at--)
      order[at] = order[at - 1];
    order[at] = (unsigned char)k;
  }
  for (size_t k = 0; k < p->count; k++) {
    number[order[k]] = (unsigned char)k;
    for (size_t d = 0; d < m->ndiags; d++) {
      uint64_t bits = p->values[order[k] * m->ndiags + d];
      uint16_t b2 = (uint16_t)bits;
      uint32_t b4 = (uint32_t)bits;
      memcpy(patterns + (k * m->ndiags + d) * unit,
             unit == 2   ? (void *)&b2
             : unit == 4 ? (void *)&b4
                         : (void *)&bits,
             unit);
    }
  }
  for (size_t i = 0; i < m->rows; i++)
    codes[i] = number[p->code[i]];
}

/** cl.host.dia_patterns(values, offsets, opts) -> codes, patterns, joined
 * The rows of a matrix by diagonals as few patterns. A pattern has a value for
 * each diagonal, compared by its bits; places outside the matrix fit any.
 * Diagonals join, the diagonal of the fewest different values first, as long
 * as there are at most `most` patterns; the other diagonals have 0 in the
 * patterns. codes: the pattern of each row, from 0, uchar; patterns: a row of
 * values for each, the most frequent first; joined: 1 for each diagonal that
 * joined, else 0.
 * Options:
 *   rows   pitch               rows of the matrix
 *   cols   needed              columns of the matrix
 *   pitch  #values / #offsets  elements from diagonal to diagonal
 *   most   256                 patterns, at most 256
 * Example:
 * local M = dia.poisson2d(4, 4).host
 * local codes, patterns, joined = host.dia_patterns(M.values, M.offsets,
 *   {rows = 16, cols = 16, pitch = 32})
 * print(#codes, patterns.shape[1], joined[1]) --> 16 3 1
 */
static int host_dia_patterns(lua_State *L) {
  Sparse m = {0};
  m.values = clsh_hostcheck_reals(L, 1, false);
  clsh_hostsparse_checkmatrix(L, "dia_patterns", "rows cols pitch most", &m);
  Patterns *p = lua_newuserdatauv(L, sizeof *p, 0);
  p->most = clsh_option_size(L, 3, "most", MOST);
  if (p->most > MOST)
    return clsh_error(L, "dia_patterns: most must be <= %d", MOST);
  size_t room = MOST * m.ndiags;
  p->values = lua_newuserdatauv(L, room * sizeof *p->values, 0);
  uint64_t *old = lua_newuserdatauv(L, room * sizeof *old, 0);
  size_t *list = lua_newuserdatauv(L, 2 * m.ndiags * sizeof *list, 0);
  p->code = lua_newuserdatauv(L, m.rows, 0);
  p->next = lua_newuserdatauv(L, m.rows, 0);
  Array *codes = clsh_hostcheck_newvector(L, "uchar", m.rows);
  Array *joined = clsh_hostcheck_newvector(L, "uchar", m.ndiags);
  unsigned char *flags = clsh_array_data(L, joined);
  memset(p->code, 0, m.rows);
  memset(p->values, 0, room * sizeof *p->values);
  memset(flags, 0, m.ndiags);
  p->count = 1;
  size_t n = sortdiags(L, &m, p, list, list + m.ndiags);
  for (size_t k = 0; k < n; k++)
    if (pairup(L, &m, list[k], p)) {
      takepairs(&m, list[k], p, old);
      flags[list[k]] = 1;
    }
  Shape s = {2, {p->count, m.ndiags}, p->count * m.ndiags};
  Array *patterns = clsh_array_new(L, m.values->type, &s);
  putpatterns(&m, p, clsh_array_data(L, codes), clsh_array_data(L, patterns));
  lua_insert(L, -2);
  return 3;
}

/* Whether diagonals d, of offset k > 0, and e, of -k, mirror each other. */
static bool ismirror(const Sparse *m, const char *values, size_t d, size_t e) {
  size_t unit = m->values->type->unit, k = (size_t)m->offsets[d];
  size_t shorter = m->rows < m->cols ? m->rows : m->cols;
  const char *above = values + d * m->pitch * unit;
  const char *below = values + (e * m->pitch + k) * unit;
  return k >= shorter || memcmp(above, below, (shorter - k) * unit) == 0;
}

/** cl.host.dia_mirrors(values, offsets, opts) -> mirrors
 * Diagonals k and -k of a matrix that mirror each other, as all of a symmetric
 * matrix do: the value at (i, i + k) has the bits of the value at (i + k, i),
 * wherever both places lie in the matrix. mirrors, int: for each diagonal the
 * number of its mirror, from 1, or 0 without a mirror.
 * Options:
 *   rows   pitch               rows of the matrix
 *   cols   needed              columns of the matrix
 *   pitch  #values / #offsets  elements from diagonal to diagonal
 * Example:
 * local M = dia.poisson2d(4, 4).host
 * local mirrors = host.dia_mirrors(M.values, M.offsets,
 *   {rows = 16, cols = 16, pitch = 32})
 * print(table.concat(mirrors:table(), " ")) --> 5 4 0 2 1
 */
static int host_dia_mirrors(lua_State *L) {
  Sparse m = {0};
  m.values = clsh_hostcheck_reals(L, 1, false);
  clsh_hostsparse_checkmatrix(L, "dia_mirrors", "rows cols pitch", &m);
  Array *mirrors = clsh_hostcheck_newvector(L, "int", m.ndiags);
  int *other = clsh_array_data(L, mirrors);
  const char *values = clsh_array_data(L, m.values);
  memset(other, 0, m.ndiags * sizeof *other);
  for (size_t d = 0; d < m.ndiags; d++)
    for (size_t e = 0; m.offsets[d] > 0 && e < m.ndiags; e++)
      if (m.offsets[e] == -m.offsets[d]) {
        clsh_poll(L);
        if (ismirror(&m, values, d, e)) {
          other[d] = (int)e + 1;
          other[e] = (int)d + 1;
        }
      }
  return 1;
}

void clsh_hostpatterns_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"dia_mirrors", host_dia_mirrors},
                                       {"dia_patterns", host_dia_patterns},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
