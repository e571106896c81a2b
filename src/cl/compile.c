/*
** compile.c - from source text, a file or a binary to a Program.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "context.h"
#include "object.h"
#include "program.h"

/* Compiles once; the log stays at the top. */
static cl_int compile(lua_State *L, int program, const char *options) {
  Program *p = clsh_toprogram(L, program);
  cl_device_id d = clsh_contextdevice(p->context);
  int tries = 0;
  cl_int err;
  do
    err = clsh_compile(L, &p->handle, d, options);
  while (clsh_retry(L, err, &tries));
  lua_pushstring(L, options);
  lua_setiuservalue(L, program, PROGRAM_OPTIONS);
  clsh_pushdriverlog(L, p->handle, d);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, program, PROGRAM_LOG);
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
    lua_getiuservalue(L, program, PROGRAM_NAME);
    Context *c = clsh_toprogram(L, program)->context;
    const Build b = {lua_tostring(L, -2), options, source,
                     lua_tostring(L, -1), istext,  clsh_contextdevice(c)};
    clsh_buildfailed(L, &b, err);
  }
  clsh_toprogram(L, program)->builds = 1;
  lua_settop(L, program);
}

/*
** Builds the program at `program`, the last of the stack but for the options
** string at the top, from the text at `text`; `path` is that of its file, or
** NULL. What the included files hold is a comment at the text's end, for
** drivers that keep programs by the text alone.
*/
void clsh_buildsource(lua_State *L, int program, int text, const char *path) {
  cl_int err;
  Program *p = clsh_toprogram(L, program);
  const char *options = lua_tostring(L, -1);
  const char *source[2] = {NULL, ""};
  size_t len[2];
  source[0] = lua_tolstring(L, text, &len[0]);
  if (path != NULL) {
    lua_pushvalue(L, program);
    clsh_noteprogram(L);
    source[1] = clsh_notefiles(L, program, text, path, options);
  }
  len[1] = strlen(source[1]);
  p->handle = clCreateProgramWithSource(clsh_contexthandle(L, p->context),
                                        len[1] > 0 ? 2 : 1, source, len, &err);
  clsh_check(L, err, "clCreateProgramWithSource");
  lua_pushstring(L, options);
  build(L, program, source[0], path == NULL);
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
int clsh_build(lua_State *L) {
  lua_settop(L, 2);
  size_t len;
  const char *source = luaL_checklstring(L, 1, &len);
  bool isfile = !issource(source);
  clsh_checkoptions(L, 2, build_options, "cl.build");
  if (!isfile) {
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
  getoption(L, "context");
  clsh_pushcontext(L, 4);
  clsh_newprogram(L, 5, name); /* at 6 */
  clsh_pushoptions(L, 2, lua_tostring(L, 3), name);
  clsh_buildsource(L, 6, 3, isfile ? name : NULL);
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
  Program *p = clsh_newprogram(L, 5, name); /* at 6 */
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

void clsh_opencompile(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"build", clsh_build}, {"build_binary", cl_buildbinary}, {NULL, NULL}};
  clsh_declare(L, "cl.build", build_options);
  clsh_declare(L, "cl.build_binary", build_options);
  clsh_declare(L, "cl.kernel", build_options);
  luaL_setfuncs(L, functions, 0);
}
