/*
** hosttranspose.c - cl.host: the transpose, compared bit by bit and by plain
** C loops.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "host.h"

#define TILE 32 /* rows and columns compared together */

/* A comparison of a constant number of bytes takes no call. */
static bool same(const char *p, const char *q, size_t n) {
  int differ = n == 4   ? memcmp(p, q, 4)
               : n == 8 ? memcmp(p, q, 8)
                        : memcmp(p, q, n);
  return differ == 0;
}

/* Counts wrong elements in a tile of B; `*first` is the least flat index. */
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
 * The number of elements of matrix B that differ, bit by bit, from A
 * transposed, and the place in B of the first of them; just 0 if all are
 * right.
 * Example:
 * local A = matrix.random(20, 30)
 * print(host.transpose_error(transpose(A):read(), A:read())) --> 0
 */
static int host_transpose_error(lua_State *L) {
  const Array *b = clsh_hostcheck_matrix(L, 1);
  const Array *a = clsh_hostcheck_matrix(L, 2);
  size_t wrong = 0, first = SIZE_MAX;
  const size_t *d = b->shape.dim;
  clsh_hostcheck_same(L, a, b);
  if (a->shape.dim[0] != d[1] || a->shape.dim[1] != d[0])
    return clsh_error(L, "must be the transpose of %s; got %s",
                      clsh_array_name(L, a), clsh_array_name(L, b));
  clsh_array_data(L, a);
  clsh_array_data(L, b);
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
 * Example:
 * local B = host.transpose_loop(cl.array("int", {2, 3}, 1))
 * print(B.rows, B.cols) --> 3 2
 */
static int host_transpose_loop(lua_State *L) {
  const Array *a = clsh_hostcheck_matrix(L, 1);
  Shape s = {2, {a->shape.dim[1], a->shape.dim[0]}, a->shape.count};
  Array *b = clsh_array_new(L, a->type, &s);
  clsh_array_data(L, a);
  double start = clsh_poll_now();
  for (size_t i = 0; i < s.dim[1]; i++) {
    if (i % TILE == 0)
      clsh_poll(L);
    scatter(a, i, b->block->data);
  }
  lua_pushnumber(L, clsh_poll_now() - start);
  return 2;
}

void clsh_hosttranspose_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"transpose_error", host_transpose_error},
      {"transpose_loop", host_transpose_loop},
      {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
