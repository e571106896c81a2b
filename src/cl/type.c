/*
** type.c - element types by their OpenCL C names, and the checked conversion
** of a Lua value to an element.
** SPDX-License-Identifier: MIT
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "object.h"
#include "type.h"

#define NTYPES (sizeof clsh_type_all / sizeof *clsh_type_all - 1)

/* A vector of 3 takes the room of 4. */
const Type clsh_type_all[] = {
#define ROWS(name, kind, unit, fraction)                                      \
  {name, kind, unit, 1, unit, fraction},                                      \
      {name "2", kind, unit, 2, 2 * unit, fraction},                          \
      {name "3", kind, unit, 3, 4 * unit, fraction},                          \
      {name "4", kind, unit, 4, 4 * unit, fraction},                          \
      {name "8", kind, unit, 8, 8 * unit, fraction}, {                        \
    name "16", kind, unit, 16, 16 * unit, fraction                            \
  }
    ROWS("float", 'f', 4, 23),
    ROWS("double", 'f', 8, 52),
    ROWS("half", 'f', 2, 10),
    ROWS("char", 'i', 1, 0),
    ROWS("uchar", 'u', 1, 0),
    ROWS("short", 'i', 2, 0),
    ROWS("ushort", 'u', 2, 0),
    ROWS("int", 'i', 4, 0),
    ROWS("uint", 'u', 4, 0),
    ROWS("long", 'i', 8, 0),
    ROWS("ulong", 'u', 8, 0),
    {"bfloat16", 'f', 2, 1, 2, 7},
    {"float8_e4m3", 'f', 1, 1, 1, E4M3},
    {"float8_e5m2", 'f', 1, 1, 1, 2},
    {NULL, 0, 0, 0, 0, 0},
#undef ROWS
};

/* Whether memory alone has the type: to kernels its elements are bits. */
bool clsh_type_isstored(const Type *t) {
  return t->kind == 'f' && t->fraction < 10;
}

/* Whether components of two types are the same. */
bool clsh_type_alike(const Type *t, const Type *u) {
  return t->kind == u->kind && t->unit == u->unit &&
         t->fraction == u->fraction;
}

/* The Type of the name, or NULL. */
const Type *clsh_type_find(const char *name, size_t len) {
  for (size_t i = 0; i < NTYPES; i++)
    if (strlen(clsh_type_all[i].name) == len &&
        memcmp(clsh_type_all[i].name, name, len) == 0)
      return &clsh_type_all[i];
  return NULL;
}

/* The type of NumPy's name, or NULL: no element type is like it. */
static const char *ofnumpy(const char *name) {
  static const char *const names[][2] = {
      {"bool", "uchar"},     {"float32", "float"},
      {"float64", "double"}, {"int32", "int"},
      {"int64", "long"},     {"uint32", "uint"},
      {"uint64", "ulong"},   {"float16", "half"},
      {"bf16", "bfloat16"},  {"float8_e4m3fn", "float8_e4m3"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i][0], name) == 0)
      return names[i][1];
  return NULL;
}

const Type *clsh_type_check(lua_State *L, int arg) {
  size_t len;
  if (lua_type(L, arg) != LUA_TSTRING)
    clsh_error_arg(L, arg, "must be the name of an element type; got %s",
                   luaL_typename(L, arg));
  const char *name = lua_tolstring(L, arg, &len);
  const Type *t = clsh_type_find(name, len);
  if (t != NULL)
    return t;
  const char *names[NTYPES + 1];
  for (size_t i = 0; i < NTYPES; i++)
    names[i] = clsh_type_all[i].name;
  names[NTYPES] = NULL;
  const char *near = ofnumpy(name);
  near = near != NULL ? near : clsh_nearest(name, names);
  if (near != NULL)
    clsh_error_arg(L, arg, "no element type '%s'; did you mean '%s'?", name,
                   near);
  clsh_error_arg(L, arg,
                 "no element type '%s'; there are char uchar short ushort int "
                 "uint long ulong half float double, vectors such as "
                 "float4, and bfloat16 float8_e4m3 float8_e5m2",
                 name);
  return NULL;
}

/* Room for a component, aligned. */
typedef union Component {
  int64_t integer;
  double real;
  char bytes[8];
} Component;

static void pushcomponent(lua_State *L, const Type *t, const void *p) {
  Component c;
  double x;
  int64_t v;
  memcpy(c.bytes, p, t->unit);
  if (t->kind == 'f') {
    clsh_number_loadreals(t, &c, 1, &x);
    lua_pushnumber(L, x);
    return;
  }
  clsh_number_loadintegers(t, &c, 1, &v);
  lua_pushinteger(L, v);
}

/* Pushes a component as text: a ulong by its value, from 0 to 2^64 - 1. */
void clsh_type_pushtext(lua_State *L, const Type *t, const void *p) {
  char text[24];
  uint64_t v;
  if (t->kind == 'u' && t->unit == 8) {
    memcpy(&v, p, sizeof v);
    snprintf(text, sizeof text, "%" PRIu64, v);
    lua_pushstring(L, text);
  } else {
    pushcomponent(L, t, p);
    lua_tostring(L, -1);
  }
}

/*
** Pushes the element at `p`, which need not be aligned: an integer or a float,
** for a vector a table of its components. A ulong comes as the Lua integer
** with its 64 bits, so from 2^63 up as a negative integer: no digit is lost.
*/
void clsh_type_push(lua_State *L, const Type *t, const void *p) {
  if (t->width == 1) {
    pushcomponent(L, t, p);
    return;
  }
  char copy[128]; /* making the table may run a finalizer that frees p */
  memcpy(copy, p, t->size);
  lua_createtable(L, t->width, 0);
  for (int i = 0; i < t->width; i++) {
    pushcomponent(L, t, copy + i * t->unit);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Pushes the range of an integer type. */
static const char *range(lua_State *L, const Type *t) {
  if (t->unit == 8)
    return t->kind == 'u' ? "(0..2^64-1)" : "(-2^63..2^63-1)";
  lua_Integer values = (lua_Integer)1 << 8 * t->unit;
  lua_Integer least = t->kind == 'u' ? 0 : -values / 2;
  return lua_pushfstring(L, "(%I..%I)", least, least + values - 1);
}

static const char *scalarname(const Type *t) {
  while (t->width != 1)
    t--; /* the scalar heads its row of vectors */
  return t->name;
}

/* Pushes the message that number `x` at `idx` is no integer of the type. */
const char *clsh_type_misfit(lua_State *L, int idx, const Type *t, double x) {
  lua_pushvalue(L, idx);
  const char *number = lua_tostring(L, -1);
  if (!isfinite(x) || x != floor(x))
    return lua_pushfstring(L, "must be a whole number; got %s", number);
  return lua_pushfstring(L, "%s does not fit %s %s", number, scalarname(t),
                         range(L, t));
}

static const char *tocomponent(lua_State *L, int idx, const Type *t, void *p) {
  Component c;
  int64_t v;
  if (lua_type(L, idx) != LUA_TNUMBER)
    return lua_pushfstring(L, "must be a number; got %s",
                           clsh_class_name(L, idx));
  double x = lua_tonumber(L, idx);
  if (t->kind == 'f') {
    clsh_number_storereals(t, &x, 1, &c);
  } else {
    v = lua_tointeger(L, idx);
    if (lua_isinteger(L, idx) ? t->unit < 8 && !clsh_number_fits(t, v, false)
                              : clsh_number_whole(t, &x, 1, &v) == 0)
      return clsh_type_misfit(L, idx, t, x);
    clsh_number_storeintegers(t, &v, 1, &c);
  }
  memcpy(p, c.bytes, t->unit);
  return NULL;
}

static const char *tovector(lua_State *L, int idx, const Type *t, char *p) {
  bool table = lua_type(L, idx) == LUA_TTABLE;
  lua_Integer n = table ? (lua_Integer)lua_rawlen(L, idx) : t->width;
  if (!table && lua_type(L, idx) != LUA_TNUMBER)
    return lua_pushfstring(L, "%s takes a number or a table of %d; got %s",
                           t->name, (int)t->width, luaL_typename(L, idx));
  if (n != t->width)
    return lua_pushfstring(L, "%s takes %d numbers; got %I", t->name,
                           (int)t->width, n);
  for (int i = 0; i < t->width; i++) {
    if (table)
      lua_rawgeti(L, idx, i + 1);
    else
      lua_pushvalue(L, idx);
    const char *wrong = tocomponent(L, lua_gettop(L), t, p + i * t->unit);
    if (wrong != NULL && table)
      return lua_pushfstring(L, "component %d: %s", i + 1, wrong);
    if (wrong != NULL)
      return wrong;
    lua_pop(L, 1);
  }
  return NULL;
}

/*
** Converts the value at `idx` to an element at `p` (t->size bytes, need not be
** aligned). Returns NULL, or a text, on the stack, that says why it cannot.
** Integer types take whole numbers in their range, reals any number, vectors a
** table of their width or one number for all components. long and ulong take
** every Lua integer by its 64 bits, as Lua's wrap.
*/
const char *clsh_type_convert(lua_State *L, int idx, const Type *t, void *p) {
  luaL_checkstack(L, 6, NULL);
  idx = lua_absindex(L, idx);
  if (t->width == 1)
    return tocomponent(L, idx, t, p);
  memset(p, 0, t->size);
  return tovector(L, idx, t, p);
}

/* The same for an argument; raises where the value cannot be an element. */
void clsh_type_element(lua_State *L, int arg, const Type *t, void *p) {
  const char *wrong = clsh_type_convert(L, arg, t, p);
  if (wrong != NULL)
    clsh_error_arg(L, arg, "%s", wrong);
}

/** cl.typesize(type) -> bytes
 * The bytes that one element takes: `cl.typesize "float4"` is 16. A vector
 * of 3 takes the room of 4.
 * Example: print(cl.typesize "float4", cl.typesize "double") --> 16 8
 */
static int cl_typesize(lua_State *L) {
  lua_pushinteger(L, clsh_type_check(L, 1)->size);
  return 1;
}

/** cl.types() -> list of strings
 * The names of all element types, scalars and vectors. At the end are
 * bfloat16, float8_e4m3 and float8_e5m2, of 8, 4 and 3 significant bits, which
 * memory holds and gemm multiplies: OpenCL C has no such types, so kernels get
 * ushort and uchar, and calculations take x:astype "float". Numbers are
 * rounded to the nearest element, ties to even. Too large ones become
 * infinity, but in float8_e4m3, which has none, +-448, as by NVIDIA's
 * cvt.rn.satfinite; NaN stays NaN.
 * Example:
 * print(#cl.types() > 40) --> true
 * print(cl.array("float8_e4m3", 3, {0.3, 1000, 17})[1]) --> 0.3125
 */
static int cl_types(lua_State *L) {
  lua_createtable(L, NTYPES, 0);
  for (size_t i = 0; i < NTYPES; i++) {
    lua_pushstring(L, clsh_type_all[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void clsh_type_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"types", cl_types}, {"typesize", cl_typesize}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
