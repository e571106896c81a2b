/*
** program.c - class Program: OpenCL C built for one device, from a file,
** from source text or from a binary.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { CONTEXT = 1, KERNELS, LOG, OPTIONS, NAME, USERVALUES = 5 };

typedef struct Program {
  Object head;
  cl_program handle;
  Context *context;
} Program;

static void program_release(Object *o) {
  Program *p = (Program *)o;
  if (p->handle != NULL && !clsh_forked())
    clReleaseProgram(p->handle);
  p->handle = NULL;
}

static const Class class;

static Program *checkprogram(lua_State *L, int arg) {
  Program *p = clsh_checkobject(L, arg, &class);
  clsh_alive(L, p->context);
  return p;
}

cl_program clsh_checkprogram(lua_State *L, int arg) {
  return checkprogram(L, arg)->handle;
}

Context *clsh_programcontext(lua_State *L, int arg) {
  return checkprogram(L, arg)->context;
}

static void setfield(lua_State *L, int program, int field) {
  lua_setiuservalue(L, program, field);
}

/* Pushes a new Program without a handle; the Context is at `ctx`. */
static Program *newprogram(lua_State *L, int ctx, const char *name) {
  Program *p = clsh_newobject(L, &class, USERVALUES);
  int program = lua_gettop(L);
  p->context = clsh_checkcontext(L, ctx);
  lua_pushvalue(L, ctx);
  setfield(L, program, CONTEXT);
  lua_newtable(L);
  setfield(L, program, KERNELS);
  lua_pushstring(L, name);
  setfield(L, program, NAME);
  return p;
}

/* Compiles once; the log stays at the top. */
static cl_int compile(lua_State *L, int program, const char *options) {
  Program *p = checkprogram(L, program);
  cl_device_id d = clsh_contextdevice(p->context);
  int tries = 0;
  cl_int err;
  do
    err = clBuildProgram(p->handle, 1, &d, options, NULL, NULL);
  while (clsh_retry(L, err, &tries));
  lua_pushstring(L, options);
  setfield(L, program, OPTIONS);
  clsh_pushdriverlog(L, p->handle, d);
  lua_pushvalue(L, -1);
  setfield(L, program, LOG);
  return err;
}

/*
** Builds the program at `program` with the options string at the top. With
** argument info, NVIDIA's driver (580.159) makes PTX that its assembler
** refuses where a kernel has no parameters: such a program is built again
** without, and its kernels then take explicit types.
*/
static void build(lua_State *L, int program, const char *source, bool istext) {
  const char *options = lua_tostring(L, -1);
  cl_int err = compile(L, program, options);
  size_t n = strlen(CLSHELL_ARGINFO);
  if (err == CL_BUILD_PROGRAM_FAILURE &&
      strstr(lua_tostring(L, -1), "ptxas") != NULL &&
      strncmp(options, CLSHELL_ARGINFO, n) == 0) {
    options += n;
    err = compile(L, program, options);
  }
  if (err != CL_SUCCESS) {
    lua_getiuservalue(L, program, NAME);
    Context *c = checkprogram(L, program)->context;
    const Build b = {lua_tostring(L, -2), options, source,
                     lua_tostring(L, -1), istext,  clsh_contextdevice(c)};
    clsh_buildfailed(L, &b, err);
  }
  lua_settop(L, program);
}

static const char *const build_options[] = {"defines", "options", "include",
                                            "name",    "context", NULL};

/* Pushes the field of the options at 2, or nil. */
static void getoption(lua_State *L, const char *name) {
  if (lua_isnil(L, 2))
    lua_pushnil(L);
  else
    lua_getfield(L, 2, name);
}

/* Whether a string is source text rather than a path. */
static bool issource(const char *s) {
  return strpbrk(s, "\n{;") != NULL;
}

/** cl.build(source [, opts]) -> Program
 * Builds OpenCL C for the session's device. `source` is a path (as given,
 * beside the calling script, or below clshell's kernels folder) or source
 * text. A failed build raises with the compiler's log, the source lines
 * and a caret; `e.log` is the whole log.
 * Options:
 *   defines  none       {TILE = 16}: sorted -D options; true: a bare -D
 *   options  none       for the compiler, such as "-cl-mad-enable"
 *   include  none       a folder or a list; a file's own is always there
 *   name     (source)   of source text, in messages
 *   context  session's  the Context of another device
 */
static int cl_build(lua_State *L) {
  lua_settop(L, 2);
  size_t len;
  const char *source = luaL_checklstring(L, 1, &len);
  clsh_checkoptions(L, 2, build_options, "cl.build");
  bool istext = issource(source);
  if (istext) {
    lua_pushvalue(L, 1);
    getoption(L, "name");
    if (!lua_isstring(L, -1)) {
      lua_pop(L, 1);
      lua_pushliteral(L, "(source)");
    }
  } else {
    if (strlen(source) != len)
      return clsh_argerror(L, 1, "a path holds no zero bytes");
    clsh_pushsource(L, source);
  }
  lua_replace(L, 1); /* name */
  lua_insert(L, 3);  /* text at 3 */
  lua_settop(L, 3);
  const char *name = lua_tostring(L, 1);
  source = lua_tolstring(L, 3, &len);
  getoption(L, "context");
  clsh_pushcontext(L, 4);
  Program *p = newprogram(L, 5, name); /* at 6 */
  cl_int err;
  p->handle = clCreateProgramWithSource(clsh_contexthandle(L, p->context), 1,
                                        &source, &len, &err);
  clsh_check(L, err, "clCreateProgramWithSource");
  clsh_pushoptions(L, 2, source, name);
  build(L, 6, source, istext);
  return 1;
}

/** cl.build_binary(bytes [, opts]) -> Program
 * A Program from what `prog:binary()` gave on the same kind of device with
 * the same driver. Options as for cl.build. Parameter types may be unknown
 * then: see `cl.int`.
 */
static int cl_buildbinary(lua_State *L) {
  lua_settop(L, 2);
  size_t len;
  const char *bytes = luaL_checklstring(L, 1, &len);
  if (len == 0)
    return clsh_argerror(L, 1, "an empty string is no program binary");
  clsh_checkoptions(L, 2, build_options, "cl.build_binary");
  getoption(L, "name");
  const char *name = luaL_optstring(L, 3, "(binary)");
  getoption(L, "context");
  cl_device_id d = clsh_contextdevice(clsh_pushcontext(L, 4));
  Program *p = newprogram(L, 5, name); /* at 6 */
  cl_int err, status = CL_SUCCESS;
  p->handle =
      clCreateProgramWithBinary(clsh_contexthandle(L, p->context), 1, &d, &len,
                                (const unsigned char **)&bytes, &status, &err);
  if (err != CL_SUCCESS || status != CL_SUCCESS)
    return clsh_fail(L, err != CL_SUCCESS ? err : status,
                     "clCreateProgramWithBinary",
                     "%I bytes are no program for this device and driver",
                     (LUAI_UACINT)len);
  clsh_pushoptions(L, 2, "", "");
  build(L, 6, "", true);
  return 1;
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
  pushnames(L, checkprogram(L, 1));
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
  Program *p = checkprogram(L, 1);
  if (strlen(name) != len)
    return nokernel(L, p, name);
  lua_getiuservalue(L, 1, KERNELS);
  int kernels = lua_gettop(L);
  if (lua_getfield(L, kernels, name) == LUA_TUSERDATA) {
    lua_getfield(L, -1, "closed");
    bool closed = lua_toboolean(L, -1);
    lua_pop(L, 1);
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
  cl_build(L);
  lua_replace(L, 1);
  lua_settop(L, 1);
  pushnames(L, checkprogram(L, 1));
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
  Program *p = checkprogram(L, 1);
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
  return pushuservalue(L, LOG);
}

static int program_options(lua_State *L) {
  return pushuservalue(L, OPTIONS);
}

static int program_context(lua_State *L) {
  return pushuservalue(L, CONTEXT);
}

/** Program:info() -> table
 * name (file or name of the source), options, log, kernels (names), device.
 * `prog.log` and `prog.options` alone; kernels by `prog.name`.
 */
static int program_info(lua_State *L) {
  static const char *const names[] = {"log", "options", "name"};
  static const int field[] = {LOG, OPTIONS, NAME};
  Program *p = checkprogram(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; i < 3; i++) {
    lua_getiuservalue(L, 1, field[i]);
    lua_setfield(L, 2, names[i]);
  }
  pushnames(L, p);
  lua_setfield(L, 2, "kernels");
  lua_getiuservalue(L, 1, CONTEXT);
  lua_getfield(L, 3, "device");
  lua_getfield(L, 4, "name");
  lua_setfield(L, 2, "device");
  lua_settop(L, 2);
  return 1;
}

static int program_tostring(lua_State *L) {
  Program *p = clsh_anyobject(L, 1, &class);
  lua_getiuservalue(L, 1, NAME);
  lua_pushfstring(L, "Program %s%s", luaL_optstring(L, -1, ""),
                  p->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"binary", program_binary},
                                   {"info", program_info},
                                   {"kernel", program_kernel},
                                   {"kernels", program_kernels},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {{"context", program_context},
                                  {"log", program_log},
                                  {"options", program_options},
                                  {NULL, NULL}};
static const luaL_Reg meta[] = {{"__names", program_kernels},
                                {"__tostring", program_tostring},
                                {NULL, NULL}};
static const Class class = {"Program", sizeof(Program), methods,        fields,
                            meta,      program_index,   program_release};

void clsh_openprogram(lua_State *L) {
  static const luaL_Reg functions[] = {{"build", cl_build},
                                       {"build_binary", cl_buildbinary},
                                       {"kernel", cl_kernel_},
                                       {NULL, NULL}};
  clsh_newclass(L, &class);
  clsh_declare(L, "cl.build", build_options);
  clsh_declare(L, "cl.build_binary", build_options);
  clsh_declare(L, "cl.kernel", build_options);
  luaL_setfuncs(L, functions, 0);
}
