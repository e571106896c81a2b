/*
** program.c - class Program: OpenCL C built for one device, from a file,
** from source text or from a binary.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "object.h"
#include "process.h"
#include "program.h"

static void program_release(Object *o) {
  Program *p = (Program *)o;
  if (p->handle != NULL && !clsh_forked())
    clReleaseProgram(p->handle);
  p->handle = NULL;
}

static const Class class;

Program *clsh_toprogram(lua_State *L, int arg) {
  Program *p = clsh_checkobject(L, arg, &class);
  clsh_alive(L, p->context);
  return p;
}

cl_program clsh_checkprogram(lua_State *L, int arg) {
  return clsh_toprogram(L, arg)->handle;
}

Context *clsh_programcontext(lua_State *L, int arg) {
  return clsh_toprogram(L, arg)->context;
}

/* Pushes a new Program without a handle; the Context is at `ctx`. */
Program *clsh_newprogram(lua_State *L, int ctx, const char *name) {
  Program *p = clsh_newobject(L, &class, PROGRAM_USERVALUES);
  int program = lua_gettop(L);
  p->context = clsh_checkcontext(L, ctx);
  lua_pushvalue(L, ctx);
  lua_setiuservalue(L, program, PROGRAM_CONTEXT);
  lua_newtable(L);
  lua_setiuservalue(L, program, PROGRAM_KERNELS);
  lua_pushstring(L, name);
  lua_setiuservalue(L, program, PROGRAM_NAME);
  return p;
}

/* Pushes the list of kernel names: the driver gives "a;b;c". */
static void pushnames(lua_State *L, Program *p) {
  size_t size = 0, count = 0;
  clGetProgramInfo(p->handle, CL_PROGRAM_NUM_KERNELS, sizeof count, &count,
                   NULL);
  if (count > 0) /* NVIDIA's driver crashes over the names of none */
    clGetProgramInfo(p->handle, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size);
  char *text = lua_newuserdatauv(L, size + 1, 0);
  memset(text, 0, size + 1);
  if (size > 0)
    clGetProgramInfo(p->handle, CL_PROGRAM_KERNEL_NAMES, size, text, NULL);
  lua_newtable(L);
  for (lua_Integer i = 1; *text != '\0'; i++) {
    size_t n = strcspn(text, ";");
    lua_pushlstring(L, text, n);
    lua_rawseti(L, -2, i);
    text += n + (text[n] == ';');
  }
  lua_remove(L, -2);
}

/** Program:kernels() -> list of strings
 * The names of the program's kernels.
 */
static int program_kernels(lua_State *L) {
  pushnames(L, clsh_toprogram(L, 1));
  return 1;
}

/* Raises: no such kernel; names those there are. */
static int nokernel(lua_State *L, Program *p, const char *name) {
  luaL_Buffer b;
  pushnames(L, p);
  int list = lua_gettop(L);
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    luaL_addstring(&b, i > 1 ? ", " : "");
    lua_rawgeti(L, list, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return clsh_fail(L, CL_INVALID_KERNEL_NAME, "clCreateKernel",
                   "no kernel '%s'; the program has: %s", name,
                   lua_tostring(L, -1));
}

/* Pushes the kernel whose name is the string at `idx`, made once. */
static int pushkernel(lua_State *L, int idx) {
  size_t len;
  const char *name = lua_tolstring(L, idx, &len);
  Program *p = clsh_toprogram(L, 1);
  if (strlen(name) != len)
    return nokernel(L, p, name);
  lua_getiuservalue(L, 1, PROGRAM_KERNELS);
  int kernels = lua_gettop(L);
  if (lua_getfield(L, kernels, name) == LUA_TUSERDATA) {
    lua_getfield(L, -1, "closed");
    bool closed = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (!closed && clsh_kernelgone(lua_touserdata(L, -1)))
      return nokernel(L, p, name);
    if (!closed)
      return 1;
  }
  lua_pop(L, 1);
  if (clsh_newkernel(L, 1, name) == NULL)
    return nokernel(L, p, name);
  lua_pushvalue(L, -1);
  lua_setfield(L, kernels, name);
  return 1;
}

/** Program:kernel(name) -> Kernel
 * The kernel of that name; `prog.name` for short. Unknown names raise with
 * those there are.
 */
static int program_kernel(lua_State *L) {
  luaL_checkstring(L, 2);
  return pushkernel(L, 2);
}

static int program_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING)
    return clsh_argerror(L, 2, "kernels have names, got a %s key",
                         luaL_typename(L, 2));
  return pushkernel(L, 2);
}

/** cl.kernel(source [, opts]) -> Kernel
 * Builds a source of one kernel and returns that kernel. Options as for
 * cl.build.
 */
static int cl_kernel_(lua_State *L) {
  lua_settop(L, 2);
  clsh_build(L);
  lua_replace(L, 1);
  lua_settop(L, 1);
  pushnames(L, clsh_toprogram(L, 1));
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  if (n != 1)
    return clsh_error(L,
                      "cl.kernel: the source has %d kernels; use cl.build "
                      "and prog:kernel(name)",
                      (int)n);
  lua_rawgeti(L, 2, 1);
  return pushkernel(L, 3);
}

/** Program:binary() -> string
 * What the driver keeps of the program, for cl.build_binary. On NVIDIA's
 * driver it is PTX text.
 */
static int program_binary(lua_State *L) {
  Program *p = clsh_toprogram(L, 1);
  size_t size = 0;
  clsh_check(L,
             clGetProgramInfo(p->handle, CL_PROGRAM_BINARY_SIZES, sizeof size,
                              &size, NULL),
             "clGetProgramInfo");
  if (size == 0)
    return clsh_error(L, "the driver keeps no binary of this program");
  unsigned char *bytes = lua_newuserdatauv(L, size, 0);
  clsh_check(L,
             clGetProgramInfo(p->handle, CL_PROGRAM_BINARIES, sizeof bytes,
                              &bytes, NULL),
             "clGetProgramInfo");
  lua_pushlstring(L, (char *)bytes, size);
  return 1;
}

static int pushuservalue(lua_State *L, int field) {
  clsh_checkobject(L, 1, &class);
  lua_getiuservalue(L, 1, field);
  return 1;
}

static int program_log(lua_State *L) {
  return pushuservalue(L, PROGRAM_LOG);
}

static int program_options(lua_State *L) {
  return pushuservalue(L, PROGRAM_OPTIONS);
}

static int program_context(lua_State *L) {
  return pushuservalue(L, PROGRAM_CONTEXT);
}

/** Program:info() -> table
 * name (file or name of the source), options, log, kernels (names), device,
 * files (full paths: its own and what that includes; none of source text).
 * `prog.log` and `prog.options` alone; kernels by `prog.name`. Of one built
 * from a file, `prog.file` is its path and `prog.builds` how often it has
 * been built.
 */
static int program_info(lua_State *L) {
  static const char *const names[] = {"log", "options", "name"};
  static const int field[] = {PROGRAM_LOG, PROGRAM_OPTIONS, PROGRAM_NAME};
  Program *p = clsh_toprogram(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; i < 3; i++) {
    lua_getiuservalue(L, 1, field[i]);
    lua_setfield(L, 2, names[i]);
  }
  pushnames(L, p);
  lua_setfield(L, 2, "kernels");
  clsh_pushfiles(L, 1);
  lua_setfield(L, 2, "files");
  lua_getiuservalue(L, 1, PROGRAM_CONTEXT);
  lua_getfield(L, 3, "device");
  lua_getfield(L, 4, "name");
  lua_setfield(L, 2, "device");
  lua_settop(L, 2);
  return 1;
}

static int program_tostring(lua_State *L) {
  Program *p = clsh_anyobject(L, 1, &class);
  lua_getiuservalue(L, 1, PROGRAM_NAME);
  lua_pushfstring(L, "Program %s%s", luaL_optstring(L, -1, ""),
                  p->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"binary", program_binary},
                                   {"changed", clsh_programchanged},
                                   {"info", program_info},
                                   {"kernel", program_kernel},
                                   {"kernels", program_kernels},
                                   {"rebuild", clsh_programrebuild},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"builds", clsh_programbuilds}, {"context", program_context},
    {"file", clsh_programfile},     {"log", program_log},
    {"options", program_options},   {NULL, NULL}};
static const luaL_Reg meta[] = {{"__names", program_kernels},
                                {"__tostring", program_tostring},
                                {NULL, NULL}};
static const Class class = {"Program", sizeof(Program), methods,        fields,
                            meta,      program_index,   program_release};

void clsh_openprogram(lua_State *L) {
  static const luaL_Reg functions[] = {{"kernel", cl_kernel_}, {NULL, NULL}};
  clsh_newclass(L, &class);
  luaL_setfuncs(L, functions, 0);
  clsh_opencompile(L);
  clsh_openrebuild(L);
}
