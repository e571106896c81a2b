/*
** arrayinit.c - class Array: elements from Lua's values (a number, nested
** tables, a function, bytes), and nested tables from elements.
** SPDX-License-Identifier: MIT
*/
#include <limits.h>
#include <string.h>

#include "array.h"
#include "process.h"

/* A place in an array: an index for each dimension, from 0. */
typedef struct Place {
  int depth; /* indexes that are set */
  size_t at[MAXDIMS];
  size_t flat; /* number of the element that comes next */
} Place;

/* Pushes "[3][2]", counted from 1. */
static const char *placestring(lua_State *L, const Place *w) {
  Shape s = {w->depth, {0}, 0};
  for (int d = 0; d < w->depth; d++)
    s.dim[d] = w->at[d] + 1;
  return clsh_shape_string(L, &s);
}

/* Every `step`-th element, `n` of them, from `first` on, from 0. */
typedef struct Range {
  size_t first, n, step;
} Range;

static void fill(lua_State *L, Array *a, int arg, const Range *r) {
  char element[128];
  size_t size = a->type->size;
  const char *wrong = clsh_type_convert(L, arg, a->type, element);
  if (wrong != NULL)
    clsh_error_arg(L, arg, "%s", wrong);
  char *p = (char *)clsh_array_data(L, a) + r->first * size;
  size_t done = 0;
  for (; done < r->n && (done == 0 || r->step > 1); done++)
    memcpy(p + done * r->step * size, element, size);
  for (; done < r->n; done *= 2) /* what is there doubles */
    memcpy(p + done * size, p,
           (done < r->n - done ? done : r->n - done) * size);
}

/* Raises: the value on the top is no table of `expected` entries. */
static void badrow(lua_State *L, const Array *a, const Place *w,
                   lua_Integer expected) {
  int row = lua_gettop(L);
  const char *unit = w->depth < a->shape.ndims - 1 ? "rows" : "elements";
  if (w->depth == 0)
    lua_pushliteral(L, "the table");
  else if (w->depth == 1)
    lua_pushfstring(L, "row %I", (lua_Integer)w->at[0] + 1);
  else
    lua_pushfstring(L, "row %s", placestring(L, w));
  const char *which = lua_tostring(L, -1);
  if (lua_type(L, row) != LUA_TTABLE)
    clsh_error(L, "%s must be a table of %I %s; got %s", which, expected, unit,
               luaL_typename(L, row));
  lua_Integer got = (lua_Integer)lua_rawlen(L, row);
  const char *remedy = "";
  if (w->depth == 0 && a->shape.ndims > 1 &&
      got == (lua_Integer)a->shape.count)
    remedy = lua_pushfstring(
        L, "; for a list of all: the shape %I, then x:reshape(shape)", got);
  clsh_error(L, "%s must have %I %s; got %I%s", which, expected, unit, got,
             remedy);
}

static void storenext(lua_State *L, Array *a, Place *w) {
  char element[128];
  const char *wrong = clsh_type_convert(L, -1, a->type, element);
  if (wrong != NULL)
    clsh_error(L, "element %s: %s", placestring(L, w), wrong);
  char *p = clsh_array_data(L, a);
  memcpy(p + w->flat++ * a->type->size, element, a->type->size);
}

/*
** The elements of the nested table at the stack's top. It goes as deep as
** the array has dimensions and no deeper, so a cycle cannot hold it.
*/
static void fromtable(lua_State *L, Array *a, Place *w) {
  int d = w->depth;
  size_t n = a->shape.dim[d];
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) != n)
    badrow(L, a, w, (lua_Integer)n);
  clsh_poll(L);
  w->depth++;
  for (size_t i = 0; i < n; i++) {
    w->at[d] = i;
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    if (d == a->shape.ndims - 1)
      storenext(L, a, w);
    else
      fromtable(L, a, w);
    lua_pop(L, 1);
  }
  w->depth = d;
}

/* Steps to the next place in row-major order; false after the last. */
static bool step(const Shape *s, Place *w) {
  for (int d = s->ndims - 1; d >= 0; d--) {
    if (++w->at[d] < s->dim[d])
      return true;
    w->at[d] = 0;
  }
  return false;
}

static void fromfunction(lua_State *L, Array *a, int arg) {
  Place w = {a->shape.ndims, {0}, 0};
  do {
    lua_pushvalue(L, arg);
    for (int d = 0; d < w.depth; d++)
      lua_pushinteger(L, (lua_Integer)w.at[d] + 1);
    lua_call(L, w.depth, 1);
    storenext(L, a, &w);
    lua_pop(L, 1);
  } while (step(&a->shape, &w));
}

static void frombytes(lua_State *L, Array *a, int arg) {
  size_t len;
  const char *s = lua_tolstring(L, arg, &len);
  if (len != clsh_array_bytes(a))
    clsh_error_arg(L, arg, "must be a string of %I bytes for %s; got %I",
                   (lua_Integer)clsh_array_bytes(a), clsh_array_name(L, a),
                   (lua_Integer)len);
  memcpy(clsh_array_data(L, a), s, len);
}

/*
** Sets all elements from the value at `arg`: a number (or a vector's table
** for an array of them), an Array, a nested table, a function, or a string
** of raw bytes.
*/
void clsh_arrayinit_set(lua_State *L, Array *a, int arg) {
  Place w = {0};
  Array *from = clsh_array_test(L, arg);
  arg = lua_absindex(L, arg);
  luaL_checkstack(L, 2 * MAXDIMS + LUA_MINSTACK, NULL);
  clsh_array_data(L, a);
  if (from != NULL) {
    clsh_arrayops_convert(L, a, from);
    return;
  }
  switch (lua_type(L, arg)) {
  case LUA_TNUMBER:
    fill(L, a, arg, &(Range){0, a->shape.count, 1});
    break;
  case LUA_TSTRING:
    frombytes(L, a, arg);
    break;
  case LUA_TTABLE:
    lua_pushvalue(L, arg);
    fromtable(L, a, &w);
    lua_pop(L, 1);
    break;
  case LUA_TFUNCTION:
    fromfunction(L, a, arg);
    break;
  default:
    clsh_error_arg(
        L, arg,
        "must be a number, a table, a function, a string or an open Array; "
        "got %s",
        luaL_typename(L, arg));
  }
}

/* A whole number from `min` to `max` at `arg`, or `def`. */
static size_t optindex(lua_State *L, int arg, const char *name, size_t def,
                       size_t min, size_t max) {
  if (lua_isnil(L, arg))
    return def;
  if (!clsh_option_whole(L, arg, (lua_Integer)min, &def) || def > max)
    clsh_error_arg(L, arg, "%s must be a whole number in %I..%I; got %s", name,
                   (lua_Integer)min, (lua_Integer)max,
                   luaL_tolstring(L, arg, NULL));
  return def;
}

/** Array:fill(value [, first [, last [, step]]]) -> array
 * Sets all elements to one value, or those from flat index `first` (1) to
 * `last` (the count), each `step`-th (1); none if last < first. A vector
 * takes a table of its components or one number for all of them.
 * Example:
 * local h = cl.array("int", 6):fill(7)
 * h:fill(0, 1, 6, 2) -- elements 1, 3 and 5
 * print(h[1], h[2]) --> 0 7
 */
static int array_fill(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  size_t count = a->shape.count;
  lua_settop(L, 5);
  size_t first = optindex(L, 3, "first", 1, 1, count + 1);
  size_t last = optindex(L, 4, "last", count, 0, count);
  size_t step = optindex(L, 5, "step", 1, 1, PTRDIFF_MAX);
  size_t n = last < first ? 0 : (last - first) / step + 1;
  fill(L, a, 2, &(Range){first - 1, n, step});
  lua_settop(L, 1);
  return 1;
}

static void pushtable(lua_State *L, const Array *a, int d, size_t *flat) {
  size_t n = a->shape.dim[d];
  lua_createtable(L, n < INT_MAX ? (int)n : INT_MAX, 0);
  clsh_poll(L);
  for (size_t i = 0; i < n; i++) {
    if (d == a->shape.ndims - 1) {
      const char *p = clsh_array_data(L, a);
      clsh_type_push(L, a->type, p + (*flat)++ * a->type->size);
    } else {
      pushtable(L, a, d + 1, flat);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/** Array:table() -> table
 * The elements as a Lua table, nested once for each dimension.
 * Example:
 * local rows = cl.array("int", {2, 2}, {{1, 2}, {3, 4}}):table()
 * print(rows[2][1]) --> 3
 */
static int array_table(lua_State *L) {
  size_t flat = 0;
  const Array *a = clsh_array_check(L, 1);
  luaL_checkstack(L, 2 * MAXDIMS + LUA_MINSTACK, NULL);
  pushtable(L, a, 0, &flat);
  return 1;
}

/** cl.array(type, shape [, init]) -> Array
 * Typed host memory: `cl.array("float", {rows, cols})`, `cl.array("int", 9)`.
 * The elements begin at zero, or as `init` says: a number for all of them,
 * an Array of as many elements (converted), a nested table of rows, a
 * function(i, j) that returns each, or a string with the raw bytes.
 * h[i] reads and writes the i-th element, counted from 1 through all rows;
 * `ipairs` and `pairs` go through them in that order.
 * Of a ulong Lua has the 64 bits: 2^64 - 1 reads as -1, is written as -1 or
 * 0xffffffffffffffff, and math.ult compares. `show` prints it unsigned. A
 * float counts by its value: 2.0^63 is 2^63.
 * Example:
 * local h = cl.array("float", {2, 3}, function(i, j) return 10 * i + j end)
 * print(h:at(2, 3), h[1], #h) --> 23.0 11.0 6
 */
static int cl_array(lua_State *L) {
  const Type *t = clsh_type_check(L, 1);
  Shape s;
  clsh_shape_check(L, 2, t, &s);
  lua_settop(L, 3);
  Array *a = clsh_array_new(L, t, &s);
  if (!lua_isnil(L, 3))
    clsh_arrayinit_set(L, a, 3);
  return 1;
}

void clsh_arrayinit_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"array", cl_array}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"fill", array_fill}, {"table", array_table}, {NULL, NULL}};
  clsh_class_add(L, "Array", methods, NULL);
  luaL_setfuncs(L, functions, 0);
}
