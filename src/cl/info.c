/*
** info.c - clGet*Info by tables: a row for each query, a case below for each
** kind of value.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "device.h"

#define MAXVALUE (1 << 20) /* bytes of one answer; more is a broken driver */

typedef struct Flag {
  cl_ulong mask;
  const char *name;
} Flag;

static const Flag fp_config[] = {{1 << 0, "denorm"},
                                 {1 << 1, "inf_nan"},
                                 {1 << 2, "round_to_nearest"},
                                 {1 << 3, "round_to_zero"},
                                 {1 << 4, "round_to_inf"},
                                 {1 << 5, "fma"},
                                 {1 << 6, "soft_float"},
                                 {1 << 7, "correctly_rounded_divide_sqrt"},
                                 {0, NULL}};
static const Flag queue_flags[] = {
    {1 << 0, "out_of_order"}, {1 << 1, "profiling"}, {0, NULL}};
static const Flag exec_flags[] = {
    {1 << 0, "kernel"}, {1 << 1, "native_kernel"}, {0, NULL}};
static const Flag svm_flags[] = {{1 << 0, "coarse_grain_buffer"},
                                 {1 << 1, "fine_grain_buffer"},
                                 {1 << 2, "fine_grain_system"},
                                 {1 << 3, "atomics"},
                                 {0, NULL}};
static const Flag affinity_flags[] = {{1 << 0, "numa"},
                                      {1 << 1, "l4_cache"},
                                      {1 << 2, "l3_cache"},
                                      {1 << 3, "l2_cache"},
                                      {1 << 4, "l1_cache"},
                                      {1 << 5, "next_partitionable"},
                                      {0, NULL}};

static const Flag device_types[] = {
    {CL_DEVICE_TYPE_GPU, "gpu"},
    {CL_DEVICE_TYPE_ACCELERATOR, "accelerator"},
    {CL_DEVICE_TYPE_CPU, "cpu"},
    {0, "other"}};
static const Flag cache_types[] = {
    {1, "read_only"}, {2, "read_write"}, {0, "none"}};
static const Flag local_types[] = {{1, "local"}, {2, "global"}, {0, "none"}};

static void pushflags(lua_State *L, cl_ulong bits, const Flag *list) {
  lua_newtable(L);
  for (int n = 1; list->name != NULL; list++)
    if (bits & list->mask) {
      lua_pushstring(L, list->name);
      lua_rawseti(L, -2, n++);
    }
}

static void pushname(lua_State *L, cl_ulong value, const Flag *list) {
  while (list->mask != 0 && list->mask != value)
    list++;
  lua_pushstring(L, list->name);
}

/* The first name with a bit that is set. */
static void pushtype(lua_State *L, cl_ulong bits, const Flag *list) {
  while (list->mask != 0 && (list->mask & bits) == 0)
    list++;
  lua_pushstring(L, list->name);
}

/* cl_version: 10 bits major, 10 minor, 12 patch. */
static void pushversion(lua_State *L, cl_uint v) {
  lua_pushfstring(L, "%d.%d.%d", (int)(v >> 22), (int)(v >> 12 & 0x3ff),
                  (int)(v & 0xfff));
}

/* A list of cl_name_version: 4 bytes of version, 64 of name. */
static void pushnameversions(lua_State *L, const char *p, size_t size) {
  lua_newtable(L);
  for (size_t i = 0; (i + 1) * 68 <= size; i++, p += 68) {
    cl_uint version;
    memcpy(&version, p, sizeof version);
    lua_pushlstring(L, p + 4, strnlen(p + 4, 64));
    pushversion(L, version);
    lua_rawset(L, -3);
  }
}

static void pushsizes(lua_State *L, const char *p, size_t size) {
  lua_newtable(L);
  for (size_t i = 0; (i + 1) * sizeof(size_t) <= size; i++) {
    size_t z;
    memcpy(&z, p + i * sizeof z, sizeof z);
    lua_pushinteger(L, (lua_Integer)z);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void pushhex(lua_State *L, const unsigned char *p, size_t size) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < size; i++) {
    luaL_addchar(&b, "0123456789abcdef"[p[i] >> 4]);
    luaL_addchar(&b, "0123456789abcdef"[p[i] & 15]);
  }
  luaL_pushresult(&b);
}

/* Drivers end strings with none, one or several zeros, or with spaces. */
static void pushtext(lua_State *L, const char *p, size_t size) {
  size_t n = strnlen(p, size);
  while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\n'))
    n--;
  lua_pushlstring(L, p, n);
}

/*
** Pushes the answer by its kind: s text, i cl_uint, l cl_ulong, z size_t,
** b boolean, Z list of size_t, x bytes as hex digits, v version, V names
** with versions, T device type, and sets of flags or single names.
*/
static void pushvalue(lua_State *L, char kind, const void *p, size_t size) {
  static const struct {
    char kind;
    void (*push)(lua_State *L, cl_ulong n, const Flag *list);
    const Flag *list;
  } flags[] = {{'T', pushtype, device_types}, {'F', pushflags, fp_config},
               {'Q', pushflags, queue_flags}, {'E', pushflags, exec_flags},
               {'S', pushflags, svm_flags},   {'A', pushflags, affinity_flags},
               {'C', pushname, cache_types},  {'M', pushname, local_types}};
  cl_uint word = 0;
  cl_ulong n = 0;
  if (size == sizeof word) {
    memcpy(&word, p, sizeof word);
    n = word;
  } else if (size == sizeof n) {
    memcpy(&n, p, sizeof n);
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (flags[i].kind == kind) {
      flags[i].push(L, n, flags[i].list);
      return;
    }
  if (kind == 's')
    pushtext(L, p, size);
  else if (kind == 'b')
    lua_pushboolean(L, n != 0);
  else if (kind == 'Z')
    pushsizes(L, p, size);
  else if (kind == 'x')
    pushhex(L, p, size);
  else if (kind == 'v')
    pushversion(L, (cl_uint)n);
  else if (kind == 'V')
    pushnameversions(L, p, size);
  else
    lua_pushinteger(L, (lua_Integer)n);
}

/* Pushes the answer to a query, or nil where the driver has none. */
bool clsh_info_push(lua_State *L, Getter get, void *handle, const Info *i) {
  size_t size = 0;
  if (get(handle, i->query, 0, NULL, &size) != CL_SUCCESS || size > MAXVALUE) {
    lua_pushnil(L);
    return false;
  }
  char *p = lua_newuserdatauv(L, size + 16, 0);
  memset(p, 0, size + 16);
  if (get(handle, i->query, size, p, NULL) != CL_SUCCESS)
    lua_pushnil(L);
  else
    pushvalue(L, i->kind, p, size);
  lua_remove(L, -2);
  return !lua_isnil(L, -1);
}

const Info *clsh_info_find(const Info *list, const char *name) {
  for (; list->name != NULL; list++)
    if (strcmp(list->name, name) == 0)
      return list;
  return NULL;
}

/* A command in a word or two, for people. */
const char *clsh_info_command(cl_command_type type) {
  static const char *const names[] = {"kernel",
                                      "task",
                                      "native kernel",
                                      "read",
                                      "write",
                                      "copy",
                                      "read image",
                                      "write image",
                                      "copy image",
                                      "image to buffer",
                                      "buffer to image",
                                      "map",
                                      "map image",
                                      "unmap",
                                      "marker",
                                      "acquire GL",
                                      "release GL",
                                      "read rect",
                                      "write rect",
                                      "copy rect",
                                      "user",
                                      "barrier",
                                      "migrate",
                                      "fill"};
  cl_uint i = type - CL_COMMAND_NDRANGE_KERNEL;
  return i < sizeof names / sizeof names[0] ? names[i] : "command";
}

/* A number of operations or bytes: an integer where it is one; nil for 0. */
int clsh_info_pushamount(lua_State *L, lua_Number x) {
  lua_Integer n;
  if (!(x > 0))
    lua_pushnil(L);
  else if (lua_numbertointeger(x, &n) && (lua_Number)n == x)
    lua_pushinteger(L, n);
  else
    lua_pushnumber(L, x);
  return 1;
}
