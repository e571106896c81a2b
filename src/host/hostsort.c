/*
** hostsort.c - cl.host: elements in order, by digits, and their places.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "host.h"

#define DIGITS 256 /* values of a digit */
#define STEP 65536 /* elements between two questions for Ctrl-C */

/* An element: a number that has its rank, and its place. */
typedef struct Item {
  uint64_t rank;
  uint32_t at;
} Item;

/* The bits of an element as an unsigned number of the same order. Reals below
** zero have their bits inverted. NaN with a sign, then below -infinity, moves
** to the other end, where NaN without a sign is. */
static uint64_t ranked(uint64_t bits, const Type *t, bool descending) {
  uint64_t sign = (uint64_t)1 << (8 * t->unit - 1), all = sign | (sign - 1);
  int fraction = t->fraction == E4M3 ? 1 : t->fraction; /* of its one NaN */
  if (t->kind == 'f') {
    bits ^= descending ? sign : 0;
    bits ^= bits & sign ? all : sign;
    return (bits - (((uint64_t)1 << fraction) - 1)) & all;
  }
  bits ^= t->kind == 'i' ? sign : 0;
  return descending ? ~bits & all : bits;
}

/* Sorts items by one digit; equal items keep their order. */
static void bydigit(lua_State *L, const Item *from, Item *to, size_t n,
                    int shift) {
  size_t first[DIGITS] = {0}, before = 0;
  for (size_t i = 0; i < n; i++)
    first[from[i].rank >> shift & (DIGITS - 1)]++;
  for (int d = 0; d < DIGITS; d++) {
    size_t count = first[d];
    first[d] = before;
    before += count;
  }
  for (size_t i = 0; i < n; i++) {
    if (i % STEP == 0)
      clsh_poll(L);
    to[first[from[i].rank >> shift & (DIGITS - 1)]++] = from[i];
  }
}

/** cl.host.sort(x [, descending]) -> y, index
 * The elements of an Array in order, in a vector, and the places where they
 * were, from 1, as uint. Equal elements stay in their order. -0.0 comes before
 * 0.0 (if descending, behind it), and NaN at the end, either way.
 * Example:
 * local y, index = host.sort(cl.array("int", 3, {30, 10, 20}))
 * print(y[1], index[1]) --> 10 2
 */
static int host_sort(lua_State *L) {
  const Array *x = clsh_array_check(L, 1);
  const Type *t = x->type;
  bool descending = lua_toboolean(L, 2);
  size_t n = x->shape.count;
  if (t->width != 1)
    return clsh_error_arg(L, 1, "must have scalar elements; got %s", t->name);
  if (n > UINT32_MAX)
    return clsh_error_arg(L, 1, "must have less than 2^32 elements");
  Array *y = clsh_hostcheck_newvector(L, t->name, n);
  Array *index = clsh_hostcheck_newvector(L, "uint", n);
  Item *from = lua_newuserdatauv(L, n * sizeof(Item), 0);
  Item *to = lua_newuserdatauv(L, n * sizeof(Item), 0);
  const char *p = clsh_array_data(L, x);
  char *q = clsh_array_data(L, y);
  uint32_t *places = clsh_array_data(L, index);
  for (size_t i = 0; i < n; i++)
    from[i] = (Item){
        ranked(clsh_hostcheck_bits(p + i * t->size, t->size), t, descending),
        (uint32_t)i};
  for (int shift = 0; shift < 8 * t->unit; shift += 8) {
    Item *last = from;
    bydigit(L, from, to, n, shift);
    from = to;
    to = last;
  }
  p = clsh_array_data(L, x); /* which may be closed by now */
  for (size_t i = 0; i < n; i++) {
    memcpy(q + i * t->size, p + (size_t)from[i].at * t->size, t->size);
    places[i] = from[i].at + 1;
  }
  lua_pop(L, 2);
  return 2;
}

void clsh_hostsort_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"sort", host_sort}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
