/*
** shape.c - extents of arrays and buffers: one to four dimensions.
** SPDX-License-Identifier: MIT
*/
#include "object.h"
#include "type.h"

/*
** Reads the sizes at `arg`, a number or a list of 1 to `most` numbers from
** `least` up, and returns their count. `name`: the argument's name.
*/
int clsh_shape_sizes(lua_State *L, int arg, const char *name, int most,
                     lua_Integer least, size_t *sizes) {
  bool list = lua_istable(L, arg);
  if (!list && lua_type(L, arg) != LUA_TNUMBER)
    clsh_error_arg(L, arg, "%s must be a number or a list of 1 to %d; got %s",
                   name, most, clsh_class_name(L, arg));
  lua_Integer n = list ? (lua_Integer)lua_rawlen(L, arg) : 1;
  if (n < 1 || n > most)
    clsh_error_arg(L, arg, "%s must have 1 to %d dimensions; got %I", name,
                   most, n);
  for (int i = 0; i < n; i++) {
    if (list)
      lua_rawgeti(L, arg, i + 1);
    else
      lua_pushvalue(L, arg);
    if (!clsh_option_whole(L, -1, least, &sizes[i]))
      clsh_error_arg(L, arg,
                     "%s: dimension %d must be a whole number >= %I; got %s",
                     name, i + 1, least, clsh_option_got(L, -1));
    lua_pop(L, 1);
  }
  return (int)n;
}

/*
** Checks that `arg` is a shape, a whole number or a table of one to four,
** whose elements of type `t` can be addressed.
*/
void clsh_shape_check(lua_State *L, int arg, const Type *t, Shape *s) {
  if (!lua_istable(L, arg) && lua_type(L, arg) != LUA_TNUMBER)
    clsh_error_arg(L, arg, "must be a shape, a number or a table; got %s",
                   luaL_typename(L, arg));
  s->ndims = clsh_shape_sizes(L, arg, "the shape", MAXDIMS, 0, s->dim);
  size_t most = PTRDIFF_MAX / t->size; /* sizes of 0 left out, as in strides */
  s->count = 1;
  for (int i = 0; i < s->ndims; i++) {
    if (s->dim[i] > most)
      clsh_error_arg(L, arg, "shape too large: its bytes would overflow");
    most /= s->dim[i] > 0 ? s->dim[i] : 1;
    s->count *= s->dim[i];
  }
}

/*
** Puts the size for which -1 stands in the list at 2 in its place, so that the
** shape has `count` elements; the list is copied.
*/
static void infer(lua_State *L, size_t count) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2), at = 0;
  size_t others = 1; /* their product, or SIZE_MAX */
  if (n > MAXDIMS)
    return;
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    lua_Integer size = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 1;
    lua_rawseti(L, 3, i);
    if (size == -1 && at > 0)
      clsh_error_arg(L, 2, "the shape: only one size may be -1");
    if (size == -1)
      at = i;
    else if (size >= 0)
      others = others != 0 && (size_t)size > SIZE_MAX / others
                   ? SIZE_MAX
                   : others * (size_t)size;
  }
  if (at > 0) {
    if (others == 0 || count % others != 0)
      clsh_error_arg(L, 2,
                     "the shape: the other sizes do not divide the %I "
                     "elements, so -1 stands for no size",
                     (LUAI_UACINT)count);
    lua_pushinteger(L, (lua_Integer)(count / others));
    lua_rawseti(L, 3, at);
    lua_copy(L, 3, 2);
  }
  lua_settop(L, 2);
}

/*
** The only shape, at 2, of a reshape of `count` elements; sizes one by one
** raise.
*/
void clsh_shape_other(lua_State *L, const Type *t, size_t count, Shape *s) {
  if (lua_type(L, 2) == LUA_TNUMBER && lua_type(L, 3) == LUA_TNUMBER)
    clsh_error_arg(L, 3, "the sizes must be in one table: {%I, %I}",
                   lua_tointeger(L, 2), lua_tointeger(L, 3));
  lua_settop(L, 2);
  if (lua_istable(L, 2))
    infer(L, count);
  else if (lua_isinteger(L, 2) && lua_tointeger(L, 2) == -1) {
    lua_pushinteger(L, (lua_Integer)count);
    lua_replace(L, 2);
  }
  clsh_shape_check(L, 2, t, s);
}

/*
** The shape of the same memory in elements of another type: the last dimension
** changes, and its bytes must be a whole number of elements.
*/
void clsh_shape_retype(lua_State *L, Shape *s, const Type *from,
                       const Type *to) {
  size_t *last = &s->dim[s->ndims - 1];
  if (*last * from->size % to->size != 0)
    clsh_error_arg(L, 2, "%I elements of %s are no whole number of %s",
                   (LUAI_UACINT)*last, from->name, to->name);
  *last = *last * from->size / to->size;
  s->count = 1;
  for (int i = 0; i < s->ndims; i++)
    s->count *= s->dim[i];
}

/* Pushes the sizes as a list. */
void clsh_shape_pushsizes(lua_State *L, const size_t *sizes, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)sizes[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* A fresh table {rows, cols}. */
void clsh_shape_push(lua_State *L, const Shape *s) {
  clsh_shape_pushsizes(L, s->dim, s->ndims);
}

/* Pushes the number of "rows" or "cols"; nil except for two dimensions. */
int clsh_shape_pushextent(lua_State *L, const Shape *s, const char *name) {
  if (s->ndims == 2)
    lua_pushinteger(L, (lua_Integer)s->dim[*name == 'c']);
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

/* Pushes sizes as text: "4x5". */
const char *clsh_shape_pushtext(lua_State *L, const size_t *sizes, int n) {
  lua_pushfstring(L, "%I", (LUAI_UACINT)sizes[0]);
  for (int i = 1; i < n; i++) {
    lua_pushfstring(L, "x%I", (LUAI_UACINT)sizes[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

/* Checks that `arg` is an integer >= `least`; `name` says what it counts. */
size_t clsh_shape_count(lua_State *L, int arg, const char *name,
                        lua_Integer least) {
  size_t n = 0;
  if (!clsh_option_whole(L, arg, least, &n))
    clsh_error_arg(L, arg, "%s must be a whole number >= %I; got %s", name,
                   least, clsh_option_got(L, arg));
  return n;
}
