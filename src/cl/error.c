/*
** error.c - how module `cl` fails: one table for every error.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "context.h"
#include "memory.h"
#include "object.h"

#define TNAME "Error"
#define LONGEST 640 /* bytes in a line of a message */

/* The symbols of the codes from -1 and from -30 downwards. */
static const char *const failures[] = {
    "CL_DEVICE_NOT_FOUND",
    "CL_DEVICE_NOT_AVAILABLE",
    "CL_COMPILER_NOT_AVAILABLE",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "CL_OUT_OF_RESOURCES",
    "CL_OUT_OF_HOST_MEMORY",
    "CL_PROFILING_INFO_NOT_AVAILABLE",
    "CL_MEM_COPY_OVERLAP",
    "CL_IMAGE_FORMAT_MISMATCH",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED",
    "CL_BUILD_PROGRAM_FAILURE",
    "CL_MAP_FAILURE",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET",
    "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    "CL_COMPILE_PROGRAM_FAILURE",
    "CL_LINKER_NOT_AVAILABLE",
    "CL_LINK_PROGRAM_FAILURE",
    "CL_DEVICE_PARTITION_FAILED",
    "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"};
static const char *const misuses[] = {"CL_INVALID_VALUE",
                                      "CL_INVALID_DEVICE_TYPE",
                                      "CL_INVALID_PLATFORM",
                                      "CL_INVALID_DEVICE",
                                      "CL_INVALID_CONTEXT",
                                      "CL_INVALID_QUEUE_PROPERTIES",
                                      "CL_INVALID_COMMAND_QUEUE",
                                      "CL_INVALID_HOST_PTR",
                                      "CL_INVALID_MEM_OBJECT",
                                      "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
                                      "CL_INVALID_IMAGE_SIZE",
                                      "CL_INVALID_SAMPLER",
                                      "CL_INVALID_BINARY",
                                      "CL_INVALID_BUILD_OPTIONS",
                                      "CL_INVALID_PROGRAM",
                                      "CL_INVALID_PROGRAM_EXECUTABLE",
                                      "CL_INVALID_KERNEL_NAME",
                                      "CL_INVALID_KERNEL_DEFINITION",
                                      "CL_INVALID_KERNEL",
                                      "CL_INVALID_ARG_INDEX",
                                      "CL_INVALID_ARG_VALUE",
                                      "CL_INVALID_ARG_SIZE",
                                      "CL_INVALID_KERNEL_ARGS",
                                      "CL_INVALID_WORK_DIMENSION",
                                      "CL_INVALID_WORK_GROUP_SIZE",
                                      "CL_INVALID_WORK_ITEM_SIZE",
                                      "CL_INVALID_GLOBAL_OFFSET",
                                      "CL_INVALID_EVENT_WAIT_LIST",
                                      "CL_INVALID_EVENT",
                                      "CL_INVALID_OPERATION",
                                      "CL_INVALID_GL_OBJECT",
                                      "CL_INVALID_BUFFER_SIZE",
                                      "CL_INVALID_MIP_LEVEL",
                                      "CL_INVALID_GLOBAL_WORK_SIZE",
                                      "CL_INVALID_PROPERTY",
                                      "CL_INVALID_IMAGE_DESCRIPTOR",
                                      "CL_INVALID_COMPILER_OPTIONS",
                                      "CL_INVALID_LINKER_OPTIONS",
                                      "CL_INVALID_DEVICE_PARTITION_COUNT"};
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* The symbol of an OpenCL error code, or "unknown OpenCL error". */
const char *clsh_error_name(cl_int code) {
  if (code <= -1 && code >= -COUNT(failures))
    return failures[-1 - code];
  if (code <= -30 && code > -30 - COUNT(misuses))
    return misuses[-30 - code];
  return code == -1001   ? "CL_PLATFORM_NOT_FOUND_KHR"
         : code == -9999 ? "NVIDIA: illegal access in a kernel"
                         : "unknown OpenCL error";
}

/*
** Finds the innermost Lua function, from a level on, outside clshell's own
** chunks: the user's line, however deep the library is below it.
*/
bool clsh_error_where(lua_State *L, int level, lua_Debug *ar) {
  size_t len = 0;
  bool found = false;
  clsh_hook_push(L, "library");
  const char *library = lua_tolstring(L, -1, &len);
  for (; !found && lua_getstack(L, level, ar); level++) {
    lua_getinfo(L, "S", ar);
    if (library != NULL && strncmp(ar->source, library, len) == 0)
      continue;
    lua_getinfo(L, "l", ar);
    found = ar->currentline > 0;
  }
  lua_pop(L, 1);
  return found;
}

/* Pushes "file:line: " of that function. */
static void pushwhere(lua_State *L) {
  lua_Debug ar;
  if (clsh_error_where(L, 0, &ar))
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
  else
    lua_pushliteral(L, "");
}

/* The place in s at or before i that cuts no character of UTF-8. */
static size_t cutat(const char *s, size_t i) {
  while (i > 0 && ((unsigned char)s[i] & 0xc0) == 0x80)
    i--;
  return i;
}

/*
** Pushes a message. A line of it that quotes a very long text is cut in the
** middle: the rule is at its beginning, the remedy at its end.
*/
static void pushmessage(lua_State *L, const char *message) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (const char *s = message; *s != '\0';) {
    size_t n = strcspn(s, "\n");
    n += s[n] == '\n';
    if (n <= LONGEST)
      luaL_addlstring(&b, s, n);
    else {
      size_t from = cutat(s, n - LONGEST / 4);
      luaL_addlstring(&b, s, cutat(s, LONGEST / 2));
      lua_pushfstring(L, " ... (%I bytes) ... ", (LUAI_UACINT)n);
      luaL_addvalue(&b);
      luaL_addlstring(&b, s + from, n - from);
    }
    s += n;
  }
  luaL_pushresult(&b);
}

/*
** Pushes the error value: {message=, where=, code=, name=, call=}. The
** caller may add fields (kernel, arg, hint, log) before lua_error.
*/
void clsh_error_push(lua_State *L, cl_int code, const char *call,
                     const char *message) {
  lua_createtable(L, 0, 6);
  luaL_setmetatable(L, TNAME);
  pushmessage(L, message);
  lua_setfield(L, -2, "message");
  pushwhere(L);
  lua_setfield(L, -2, "where");
  clsh_field_string(L, "call", call);
  if (code != CL_SUCCESS) {
    clsh_field_integer(L, "code", code);
    clsh_field_string(L, "name", clsh_error_name(code));
  }
  assert(lua_istable(L, -1));
}

/* Raises a misuse error: a formatted message, no OpenCL code. */
int clsh_error(lua_State *L, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *message = lua_pushvfstring(L, fmt, args);
  va_end(args);
  clsh_error_push(L, CL_SUCCESS, NULL, message);
  return lua_error(L);
}

/* The name that module `module` has for the function at index `f`, or NULL. */
static const char *nameof(lua_State *L, const char *module, int f) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, module) == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
      if (lua_rawequal(L, -1, f) && lua_type(L, -2) == LUA_TSTRING)
        return lua_tostring(L, -2);
  return NULL;
}

/*
** The name of the running C function: the name that the caller wrote, or,
** under pcall, its name in the module table.
*/
static const char *functionname(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "nf", ar);
  if (ar->name != NULL)
    return ar->name;
  int f = lua_gettop(L);
  const char *name = nameof(L, "cl", f);
  name = name != NULL ? name : nameof(L, "mpi", f);
  return name != NULL ? name : "?";
}

/*
** Raises a misuse error of argument `arg` of the running C function, worded
** as Lua words its own: a method's self does not count.
*/
int clsh_error_arg(lua_State *L, int arg, const char *fmt, ...) {
  lua_Debug ar = {0};
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  const char *name = "?";
  if (lua_getstack(L, 0, &ar)) {
    name = functionname(L, &ar);
    if (ar.namewhat != NULL && strcmp(ar.namewhat, "method") == 0)
      arg--;
  }
  const char *message =
      arg == 0
          ? lua_pushfstring(L, "%s: bad self: %s", name, text)
          : lua_pushfstring(L, "%s: bad argument #%d: %s", name, arg, text);
  clsh_error_push(L, CL_SUCCESS, name, message);
  clsh_field_integer(L, "arg", arg);
  return lua_error(L);
}

/*
** Raises the failure of OpenCL function `call`: "clX: CL_NAME (-54): text".
** The text says what the script asked for and what the device offers.
*/
int clsh_error_call(lua_State *L, cl_int code, const char *call,
                    const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  const char *message =
      lua_pushfstring(L, "%s: %s (%d)%s%s", call, clsh_error_name(code),
                      (int)code, *text != '\0' ? ": " : "", text);
  clsh_error_push(L, code, call, message);
  return lua_error(L);
}

/* Raises unless `code` is CL_SUCCESS. */
void clsh_error_check(lua_State *L, cl_int code, const char *call) {
  if (code != CL_SUCCESS)
    clsh_error_call(L, code, call, "");
}

/*
** Collects garbage where memory is short, before a second try, and frees the
** memory that is held for results. The hook give_up lets go of values kept for
** later use.
*/
void clsh_error_reclaim(lua_State *L) {
  if (clsh_hook_push(L, "give_up") != LUA_TFUNCTION ||
      lua_pcall(L, 0, 0, 0) != LUA_OK)
    lua_pop(L, 1);
  lua_gc(L, LUA_GCCOLLECT);
  clsh_heldmemory_emptyall();
  clsh_memory_reclaim();
}

/*
** Whether an allocation that failed by `code` is worth a second try. The
** first call reclaims memory. `*tries` starts at 0.
*/
bool clsh_error_retry(lua_State *L, cl_int code, int *tries) {
  if (code != CL_MEM_OBJECT_ALLOCATION_FAILURE &&
      code != CL_OUT_OF_RESOURCES && code != CL_OUT_OF_HOST_MEMORY)
    return false;
  if ((*tries)++ > 0)
    return false;
  clsh_error_reclaim(L);
  return true;
}

static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "where");
  lua_getfield(L, 1, "message");
  lua_getfield(L, 1, "hint");
  const char *where = lua_tostring(L, 2);
  const char *message = lua_tostring(L, 3);
  const char *hint = lua_tostring(L, 4);
  lua_pushfstring(L, "%s%s%s%s", where != NULL ? where : "",
                  message != NULL ? message : "error",
                  hint != NULL ? "\n  " : "", hint != NULL ? hint : "");
  return 1;
}

static int error_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/** cl.error(message [, fields])
 * Raises an error of the same kind as the module's own: a table with
 * __tostring that begins with the position of the user's line. `fields`
 * (hint, kernel, arg, code, name, call, log) are copied into it.
 * Example:
 * local ok, err = pcall(cl.error, "no such rung", {hint = "gemm.kernels()"})
 * print(ok, err.hint) --> false gemm.kernels()
 */
static int cl_error(lua_State *L) {
  const char *message = luaL_checkstring(L, 1);
  lua_settop(L, 2);
  clsh_error_push(L, CL_SUCCESS, NULL, message);
  if (lua_type(L, 2) == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, 3);
    }
  return lua_error(L);
}

void clsh_error_open(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", error_tostring},
                                  {"__concat", error_concat},
                                  {NULL, NULL}};
  static const luaL_Reg functions[] = {{"error", cl_error}, {NULL, NULL}};
  luaL_newmetatable(L, TNAME);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
