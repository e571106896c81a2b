/*
** shape.c - extents of arrays and buffers: one to four dimensions.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>

#include "object.h"
#include "type.h"

/* Whether the value at `idx` is a whole number >= 1; it goes to `*n`. */
static bool topositive(lua_State *L, int idx, size_t *n) {
  int whole = 0;
  if (lua_type(L, idx) != LUA_TNUMBER)
    return false;
  lua_Integer i = lua_tointegerx(L, idx, &whole);
  if (!whole || i < 1 || (lua_Unsigned)i > SIZE_MAX)
    return false;
  *n = (size_t)i;
  return true;
}

/* The value on the top as text for a message. */
static const char *describe(lua_State *L) {
  if (lua_type(L, -1) == LUA_TNUMBER)
    return lua_tostring(L, -1);
  return luaL_typename(L, -1);
}

/*
** Checks that `arg` is a shape, a positive integer or a table of one to
** four, whose elements of type `t` (NULL: bytes) can be addressed.
*/
void clsh_shape_check(lua_State *L, int arg, const Type *t, Shape *s) {
  s->ndims = 1;
  s->count = 1;
  bool table = lua_type(L, arg) == LUA_TTABLE;
  if (table) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, arg);
    if (n < 1 || n > MAXDIMS)
      clsh_error_arg(L, arg, "must be a shape of 1 to %d dimensions; got %I",
                     MAXDIMS, n);
    s->ndims = (int)n;
  } else if (lua_type(L, arg) != LUA_TNUMBER) {
    clsh_error_arg(L, arg, "must be a shape, a number or a table; got %s",
                   luaL_typename(L, arg));
  }
  size_t limit = PTRDIFF_MAX / (t != NULL ? t->size : 1);
  for (int i = 0; i < s->ndims; i++) {
    if (table)
      lua_rawgeti(L, arg, i + 1);
    else
      lua_pushvalue(L, arg);
    if (!topositive(L, -1, &s->dim[i])) {
      const char *got = describe(L);
      clsh_error_arg(L, arg,
                     "dimension %d must be a whole number >= 1; got %s", i + 1,
                     got);
    }
    if (s->dim[i] > limit / s->count)
      clsh_error_arg(L, arg, "shape too large: its %s would overflow",
                     t != NULL ? "bytes" : "elements");
    s->count *= s->dim[i];
    lua_pop(L, 1);
  }
}

/* A fresh table {rows, cols}. */
void clsh_shape_push(lua_State *L, const Shape *s) {
  lua_createtable(L, s->ndims, 0);
  for (int i = 0; i < s->ndims; i++) {
    lua_pushinteger(L, (lua_Integer)s->dim[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Pushes the rows (0) or columns (1): nil but in two dimensions. Returns 1. */
int clsh_shape_pushextent(lua_State *L, const Shape *s, int d) {
  if (s->ndims == 2)
    lua_pushinteger(L, (lua_Integer)s->dim[d]);
  else
    lua_pushnil(L);
  return 1;
}

/* Pushes the shape as text: "[4][5]". */
const char *clsh_shape_string(lua_State *L, const Shape *s) {
  lua_pushliteral(L, "");
  for (int i = 0; i < s->ndims; i++) {
    lua_pushfstring(L, "[%I]", (lua_Integer)s->dim[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

/* Checks that `arg` is a positive integer; `name` says what it counts. */
size_t clsh_shape_count(lua_State *L, int arg, const char *name) {
  size_t n = 0;
  lua_pushvalue(L, arg);
  if (!topositive(L, -1, &n)) {
    const char *got = describe(L);
    clsh_error_arg(L, arg, "%s must be a whole number >= 1; got %s", name,
                   got);
  }
  lua_pop(L, 1);
  return n;
}
