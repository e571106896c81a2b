/*
** il.c - Programs from SPIR-V, and its specialisation constants.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "program.h"

typedef cl_program(CL_API_CALL *Creator)(cl_context, const void *, size_t,
                                         cl_int *);
typedef cl_int(CL_API_CALL *Setter)(cl_program, cl_uint, size_t, const void *);

static const char *const il_options[] = {"constants", "options", "name",
                                         "context", NULL};

/* Whether a string is a module of either byte order, not a path. */
static bool ismodule(const char *s, size_t len) {
  return len >= 4 && (memcmp(s, "\x03\x02\x23\x07", 4) == 0 ||
                      memcmp(s, "\x07\x23\x02\x03", 4) == 0);
}

/* Leaves the bytes of the value at the top; NULL: it cannot be a constant. */
static const void *tobytes(lua_State *L, size_t *len) {
  int type = lua_type(L, -1), whole;
  if (type == LUA_TUSERDATA && strcmp(clsh_class_name(L, -1), "Value") == 0) {
    lua_getfield(L, -1, "data");
  } else if (type == LUA_TBOOLEAN) {
    lua_pushlstring(L, lua_toboolean(L, -1) ? "\1" : "\0", 1);
  } else if (lua_isinteger(L, -1)) {
    int32_t i = (int32_t)lua_tointegerx(L, -1, &whole);
    if (i != lua_tointeger(L, -1))
      return NULL;
    lua_pushlstring(L, (const char *)&i, sizeof i);
  } else if (type == LUA_TNUMBER) {
    float x = (float)lua_tonumber(L, -1);
    lua_pushlstring(L, (const char *)&x, sizeof x);
  } else {
    return NULL;
  }
  return lua_tolstring(L, -1, len);
}

/* Sets the constants of the table at the top. */
static void setconstants(lua_State *L, const Program *p) {
  Setter set;
  int list = lua_gettop(L);
  if (!lua_istable(L, list))
    clsh_error(L, "constants must be a table of values by number; got a %s",
               luaL_typename(L, list));
  clsh_later_find(L, p->context, 220, "clSetProgramSpecializationConstant",
                  "the module's own values remain", &set);
  for (lua_pushnil(L); lua_next(L, list) != 0; lua_settop(L, list + 1)) {
    size_t id, len;
    if (!clsh_option_whole(L, -2, 0, &id) || id > UINT32_MAX)
      clsh_error(L,
                 "constants: a number (SpecId) must be an integer >= 0; "
                 "got %s",
                 clsh_option_got(L, -2));
    const void *data = tobytes(L, &len);
    if (data == NULL)
      clsh_error(L,
                 "constants: [%I] must be an int, a float, a boolean or a "
                 "value such as cl.ulong(3); got %s",
                 (LUAI_UACINT)id, clsh_option_got(L, -1));
    cl_int err = set(p->handle, (cl_uint)id, len, data);
    if (err != CL_SUCCESS)
      clsh_error_call(L, err, "clSetProgramSpecializationConstant",
                      "constants: the module has no constant %I of %I bytes",
                      (LUAI_UACINT)id, (LUAI_UACINT)len);
  }
}

/* Raises unless the device of the context at `ctx` takes SPIR-V. */
static void checkdevice(lua_State *L, int ctx, const char *instead) {
  lua_getfield(L, ctx, "device");
  lua_getfield(L, -1, "il_version");
  const char *version = luaL_optstring(L, -1, "");
  if (*version == '\0')
    clsh_error_call(L, CL_INVALID_OPERATION, "clCreateProgramWithIL",
                    "the device takes no SPIR-V; %s", instead);
  lua_pop(L, 2);
}

/** cl.build_il(source [, opts]) -> Program
 * A Program from SPIR-V, which clang or another compiler makes: its bytes, or
 * the path of a file. The device must have OpenCL 2.1 and take SPIR-V:
 * `dev.il_version` tells of which version. Parameter types may be unknown
 * then: see `cl.int`.
 * Options:
 *   constants  none       values of specialisation constants by their number
 *                         (SpecId): {[0] = 16, [1] = cl.ulong(3)}
 *   options    none       for the driver's compiler
 *   name       (SPIR-V)   in messages
 *   context    session's  the Context of another device
 * Example:
 * if (cl.device().il_version or "") ~= "" then
 *   local f <close> = io.open("kernels.spv", "rb")
 *   local p = f and cl.build_il(f:read "a", {constants = {[0] = 16}})
 *   print(p and p:kernels())
 * end
 */
static int cl_buildil(lua_State *L) {
  static const char *const instead = "cl.build takes OpenCL C";
  cl_int err = CL_INVALID_OPERATION;
  Creator create;
  size_t len;
  const char *bytes = luaL_checklstring(L, 1, &len);
  lua_settop(L, 2);
  clsh_option_check(L, 2, il_options, "cl.build_il");
  clsh_option_push(L, 2, "context");
  Context *c = clsh_context_push(L, 3); /* at 4 */
  checkdevice(L, 4, instead);
  clsh_later_find(L, c, 210, "clCreateProgramWithIL", instead, &create);
  clsh_option_push(L, 2, "name");
  if (!ismodule(bytes, len)) {
    if (strlen(bytes) != len)
      return clsh_error_arg(L, 1,
                            "must be a path or SPIR-V, which begins "
                            "with the number 0x07230203");
    clsh_source_push(L, bytes); /* the bytes at 6, the path found at 7 */
    if (lua_isnil(L, 5))
      lua_replace(L, 5);
    lua_settop(L, 6);
    lua_replace(L, 1);
    bytes = lua_tolstring(L, 1, &len);
  }
  Program *p = clsh_program_new(L, 4, luaL_optstring(L, 5, "(SPIR-V)"));
  cl_program handle =
      create(clsh_context_handle(L, c), bytes, len, &err); /* at 6 */
  if (err != CL_SUCCESS)
    return clsh_error_call(L, err, "clCreateProgramWithIL",
                           "the driver takes no such module of %I bytes",
                           (LUAI_UACINT)len);
  p->handle = handle;
  if (clsh_option_push(L, 2, "constants") != LUA_TNIL)
    setconstants(L, p);
  lua_settop(L, 6);
  if (clsh_option_push(L, 2, "options") != LUA_TNIL &&
      lua_type(L, -1) != LUA_TSTRING)
    clsh_error(L, "options must be a string; got a %s", luaL_typename(L, -1));
  lua_pushfstring(L, "%s %s", CLSHELL_ARGINFO, luaL_optstring(L, -1, ""));
  clsh_build_make(L, 6, lua_tostring(L, -1), "", true);
  lua_settop(L, 6);
  return 1;
}

void clsh_il_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"build_il", cl_buildil}, {NULL, NULL}};
  clsh_option_declare(L, "cl.build_il", il_options);
  luaL_setfuncs(L, functions, 0);
}
