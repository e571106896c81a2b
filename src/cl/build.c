/*
** build.c - Programs: built of source text, a file, a binary or SPIR-V, or
** compiled and linked apart.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "program.h"
#include "timeline.h"

/* In a text with marks, and in front of it: they are nothing. See mark.cl. */
#define MARKED "MARKS)"
#define NOMARKS                                                               \
  "#ifndef MARKS\n#define MARKS\n#define MARK(name)\n"                        \
  "#define MARK_EACH(items,name)\n#endif\n#line 1 \"<kernel>\"\n"

/* Pushes the driver's build log and its lines on the standard error, without
** white space at the end. */
static void pushlog(lua_State *L, const Program *p) {
  cl_device_id d = p->context->device;
  size_t size = 0;
  if (p->handle != NULL) /* a link may have no result */
    clGetProgramBuildInfo(p->handle, d, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  size = clsh_info_size(size);
  char *text = lua_newuserdatauv(L, size + 1, 0);
  memset(text, 0, size + 1);
  if (size > 0)
    clGetProgramBuildInfo(p->handle, d, CL_PROGRAM_BUILD_LOG, size, text,
                          NULL);
  lua_pushfstring(L, "%s%s%s", text, *text != '\0' ? "\n" : "",
                  clsh_compiler_told());
  size_t n = lua_rawlen(L, -1);
  const char *log = lua_tostring(L, -1);
  while (n > 0 && isspace((unsigned char)log[n - 1]))
    n--;
  lua_pushlstring(L, log, n);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Compiles once; keeps the options, and the log, which stays at the top. */
static cl_int compile(lua_State *L, int program, const char *options) {
  Program *p = clsh_program_check(L, program);
  int tries = 0;
  cl_int err;
  int64_t begin = clsh_timeline_now();
  do
    err = clsh_compiler_run(L, program, options);
  while (clsh_error_retry(L, err, &tries));
  if (begin != 0) {
    lua_getiuservalue(L, program, PROGRAM_NAME);
    clsh_timeline_span(L, BUILT, begin, lua_tostring(L, -1), NULL, err);
    lua_pop(L, 1);
  }
  lua_pushstring(L, options);
  lua_setiuservalue(L, program, PROGRAM_OPTIONS);
  pushlog(L, p);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, program, PROGRAM_LOG);
  return err;
}

/* The function of OpenCL that makes a Program. */
static const char *maker(const Program *p) {
  return p->making == BUILD     ? "clBuildProgram"
         : p->making == COMPILE ? "clCompileProgram"
                                : "clLinkProgram";
}

/*
** Raises for a build that failed, with the compiler's log at the top. See
** cl.explain_build for the fields of the error.
*/
static void failed(lua_State *L, int program, const char *source, bool istext,
                   cl_int err) {
  const char *log = lua_tostring(L, -1);
  const Program *p = clsh_program_check(L, program);
  if (p->making != BUILD && err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, maker(p),
                    "the driver does not compile and link apart; cl.build "
                    "takes all at once");
  lua_pushfstring(L, "%s: %s (%d)%s%s", maker(p), clsh_error_name(err),
                  (int)err, *log != '\0' ? "\n" : "", log);
  clsh_error_push(L, err, maker(p), lua_tostring(L, -1));
  int e = lua_gettop(L);
  lua_pushstring(L, log);
  lua_setfield(L, e, "log");
  lua_getiuservalue(L, program, PROGRAM_OPTIONS);
  lua_setfield(L, e, "options");
  lua_getiuservalue(L, program, PROGRAM_NAME);
  lua_setfield(L, e, "program");
  lua_getiuservalue(L, program, PROGRAM_CONTEXT);
  lua_getfield(L, -1, "device");
  lua_getfield(L, -1, "name");
  lua_setfield(L, e, "device");
  lua_pushstring(L, source);
  lua_setfield(L, e, "source");
  lua_getiuservalue(L, program, PROGRAM_DEFINES);
  lua_pushvalue(L, -1);
  lua_setfield(L, e, "defines");
  lua_getiuservalue(L, program, PROGRAM_SOURCE);
  if (lua_isstring(L, -2) && lua_isstring(L, -1)) {
    lua_concat(L, 2);
    lua_setfield(L, e, "given");
  }
  lua_settop(L, e);
  if (lua_getiuservalue(L, program, PROGRAM_CUDA) == LUA_TTABLE)
    lua_setfield(L, e, "cuda");
  lua_settop(L, e);
  lua_pushboolean(L, istext);
  lua_setfield(L, e, "is_text");
  if (clsh_hook_push(L, "explain_build") == LUA_TFUNCTION) {
    lua_pushvalue(L, e);
    (void)lua_pcall(L, 1, 0, 0); /* if that fails: the message as it is */
  }
  lua_settop(L, e);
  lua_error(L);
}

/*
** Builds the program at `program` with these options. With argument info,
** NVIDIA's driver (580.159) makes PTX that its assembler refuses where a
** kernel has no parameters. Such a program is built again without the info;
** its kernels then take explicit types.
*/
static void make(lua_State *L, int program, const char *options,
                 const char *source, bool istext) {
  if (clsh_program_check(L, program)->early) {
    clsh_compiler_begin(L, program, options);
    return;
  }
  cl_int err = compile(L, program, options);
  if (err == CL_BUILD_PROGRAM_FAILURE &&
      strstr(lua_tostring(L, -1), "ptxas") != NULL)
    err = compile(L, program, options + strlen(CLSHELL_ARGINFO));
  if (err != CL_SUCCESS)
    failed(L, program, source, istext, err);
  clsh_program_check(L, program)->builds = 1;
}

/* Creates the program at `program` of a driver's bytes. */
static void load(lua_State *L, int program, const char *bytes, size_t len) {
  Program *p = clsh_program_check(L, program);
  cl_device_id d = p->context->device;
  cl_int err, status = CL_SUCCESS;
  p->handle = clCreateProgramWithBinary(
      clsh_context_handle(L, p->context), 1, &d, &len,
      (const unsigned char **)&bytes, &status, &err);
  if (err != CL_SUCCESS || status != CL_SUCCESS)
    clsh_error_call(L, err != CL_SUCCESS ? err : status,
                    "clCreateProgramWithBinary",
                    "%I bytes are no program for this device and driver",
                    (LUAI_UACINT)len);
}

/*
** Asks the function at the top, the option `binary`, for the binary of a
** program from these parts, by a hash of them and the options. Pushes the
** binary and the log of its build; false: there is no binary.
*/
static bool pushkept(lua_State *L, const char *options, const char **parts,
                     const size_t *len, cl_uint n) {
  char key[17];
  if (!lua_isfunction(L, -1))
    clsh_error(L, "binary must be a function; got a %s", luaL_typename(L, -1));
  uint64_t h = clsh_source_hash(0, options, strlen(options) + 1);
  for (cl_uint i = 0; i < n; i++)
    h = clsh_source_hash(h, parts[i], len[i]);
  snprintf(key, sizeof key, "%016llx", (unsigned long long)h);
  lua_pushstring(L, key);
  lua_call(L, 1, 2);
  return !lua_isnil(L, -2);
}

/*
** Pushes the OpenCL C of the CUDA text at `text`. The options of the program
** at `program` lie above it.
*/
static int pushtranslated(lua_State *L, int program, int text, bool istext) {
  if (clsh_hook_push(L, "translate_cuda") != LUA_TFUNCTION)
    clsh_error(L, "cuda: clshell has the translator, and stock Lua none; "
                  "cl.translate_cuda(f) sets one");
  lua_pushvalue(L, text);
  lua_getiuservalue(L, program, PROGRAM_CONTEXT);
  lua_getfield(L, -1, "device");
  lua_remove(L, -2);
  lua_pushvalue(L, program + 1);
  lua_call(L, 3, 2);
  if (lua_isnil(L, -2)) {
    luaL_checkstring(L, -1);
    lua_pushvalue(L, program + 1);
    lua_setiuservalue(L, program, PROGRAM_OPTIONS);
    failed(L, program, lua_tostring(L, text), istext,
           CL_BUILD_PROGRAM_FAILURE);
  }
  lua_pop(L, 1);
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, program, PROGRAM_CUDA);
  lua_getfield(L, -1, "opencl");
  luaL_checkstring(L, -1);
  return lua_gettop(L);
}

/*
** Builds the program at `program`, the last of the stack but for the options
** string at the top, from the text at `text`. `path`: the path of its file, or
** NULL. The text gets a comment with a hash of the included files, for drivers
** that keep programs by the text alone. `opts`: the options of cl.build, or 0.
*/
void clsh_build_text(lua_State *L, int program, int text, const char *path,
                     int opts) {
  cl_int err;
  Program *p = clsh_program_check(L, program);
  const char *parts[3]; /* the defines, the text, the comment */
  size_t len[3];
  cl_uint n = 0;
  const char *options = lua_tostring(L, program + 1);
  assert(lua_gettop(L) == program + 1);
  const char *comment = "";
  if (path == NULL) {
    lua_getiuservalue(L, program, PROGRAM_NAME);
    clsh_source_check(L, text, lua_tostring(L, -1));
  } else {
    if (!p->early) {
      lua_pushvalue(L, program);
      clsh_class_noteweak(L, CLSHELL_PROGRAMS);
    }
    comment = clsh_source_pushfiles(L, text, path, options);
    lua_pushvalue(L, -2);
    lua_setiuservalue(L, program, PROGRAM_FILES);
  }
  bool cuda = lua_getiuservalue(L, program, PROGRAM_CUDA) != LUA_TNIL;
  int given = cuda ? pushtranslated(L, program, text, path == NULL) : text;
  if (strstr(lua_tostring(L, given), MARKED) != NULL) {
    lua_getiuservalue(L, program, PROGRAM_DEFINES);
    lua_pushfstring(L, "%s%s", lua_tostring(L, -1),
                    strstr(lua_tostring(L, -1), NOMARKS) ? "" : NOMARKS);
    lua_setiuservalue(L, program, PROGRAM_DEFINES);
    lua_pop(L, 1);
  }
  clsh_source_pushexpanded(L, program, given, path, options);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, program, PROGRAM_SOURCE);
  lua_getiuservalue(L, program, PROGRAM_DEFINES);
  parts[n] = lua_tolstring(L, -1, &len[n]);
  n += len[n] > 0; /* a part without bytes needs a zero at its end */
  parts[n] = lua_tolstring(L, -2, &len[n]);
  n++;
  parts[n] = comment;
  len[n] = strlen(comment);
  n += len[n] > 0;
  bool kept = opts != 0 && clsh_option_push(L, opts, "binary") != LUA_TNIL &&
              pushkept(L, options, parts, len, n);
  if (kept) { /* behind the options now: the log */
    size_t size;
    lua_replace(L, program + 2);
    lua_replace(L, opts);
    const char *bytes =
        clsh_program_checkbinary(L, opts, p->context->device, &size);
    load(L, program, bytes, size);
  } else {
    p->handle = clCreateProgramWithSource(clsh_context_handle(L, p->context),
                                          n, parts, len, &err);
    clsh_error_check(L, err, "clCreateProgramWithSource");
  }
  lua_settop(L, program + 2);
  make(L, program, options, lua_tostring(L, text), path == NULL);
  lua_settop(L, program + 2);
  if (kept && lua_isstring(L, program + 2))
    lua_setiuservalue(L, program, PROGRAM_LOG);
  lua_settop(L, program);
}

static bool iscuda(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".cu") == 0;
}

/* Whether a string is source text rather than a path, such as "a;b/k.cl". */
static bool issource(const char *s) {
  const char *dot = strrchr(s, '.');
  bool named = dot != NULL && (strcmp(dot, ".cl") == 0 || iscuda(dot));
  return strpbrk(s, named ? "\n" : "\n{;") != NULL;
}

/*
** Gives the program at `program` the headers of the table at the top, by their
** names, and pops it.
*/
static void addheaders(lua_State *L, int program, int ctx) {
  int headers = lua_gettop(L), type = lua_type(L, headers);
  cl_int err = CL_SUCCESS;
  if (type != LUA_TTABLE && type != LUA_TNIL)
    clsh_error(L,
               "headers must be a table, such as {[\"name.h\"] = text}; "
               "got a %s",
               lua_typename(L, type));
  lua_newtable(L); /* of Programs */
  lua_newtable(L); /* of names */
  lua_pushnil(L);
  while (type == LUA_TTABLE && lua_next(L, headers) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      clsh_error(L, "headers: names and texts must be strings; got %s = %s",
                 clsh_option_got(L, -2), clsh_option_got(L, -1));
    const char *name = lua_tostring(L, -2), *text = lua_tostring(L, -1);
    clsh_source_check(L, -1, name);
    Program *h = clsh_program_new(L, ctx, name);
    h->handle = clCreateProgramWithSource(clsh_context_handle(L, h->context),
                                          1, &text, NULL, &err);
    clsh_error_check(L, err, "clCreateProgramWithSource");
    clsh_source_append(L, headers + 1);
    lua_pushvalue(L, -2);
    clsh_source_append(L, headers + 2);
    lua_pop(L, 1);
  }
  lua_settop(L, headers + 2);
  lua_setiuservalue(L, program, PROGRAM_NAMES);
  lua_setiuservalue(L, program, PROGRAM_PARTS);
  lua_pop(L, 1);
}

/*
** Pushes a Program of the source at 1 with the options at 2, which it builds
** or compiles, as cl.build and cl.compile do; or begins to build, if `early`.
*/
static int buildfrom(lua_State *L, int making, bool early) {
  lua_settop(L, 2);
  size_t len;
  const char *source = luaL_checklstring(L, 1, &len);
  bool isfile = !issource(source), compiles = making == COMPILE;
  clsh_option_check(L, 2,
                    compiles
                        ? "defines options include name context headers"
                        : "defines options include name context binary cuda",
                    compiles ? "cl.compile" : "cl.build");
  if (!isfile) {
    lua_pushvalue(L, 1);
    clsh_option_push(L, 2, "name");
    if (!lua_isstring(L, -1)) {
      lua_pop(L, 1);
      lua_pushliteral(L, "(source)");
    }
  } else {
    if (strlen(source) != len)
      return clsh_error_arg(L, 1, "a path must hold no zero byte");
    clsh_source_push(L, source);
  }
  lua_replace(L, 1); /* name */
  lua_insert(L, 3);  /* text at 3 */
  lua_settop(L, 3);
  const char *name = lua_tostring(L, 1);
  clsh_option_push(L, 2, "context");
  clsh_context_push(L, 4);
  Program *p = clsh_program_new(L, 5, name); /* at 6 */
  p->making = making;
  p->early = early;
  if (compiles) {
    clsh_option_push(L, 2, "headers");
    addheaders(L, 6, 5);
  } else if (clsh_option_flag(L, 2, "cuda", isfile && iscuda(name))) {
    lua_pushboolean(L, 1);
    lua_setiuservalue(L, 6, PROGRAM_CUDA);
  }
  clsh_source_pushoptions(L, 2, lua_tostring(L, 3), name);
  lua_setiuservalue(L, 6, PROGRAM_DEFINES);
  clsh_build_text(L, 6, 3, isfile ? name : NULL, compiles ? 0 : 2);
  return 1;
}

/** cl.build(source [, opts]) -> Program
 * Builds OpenCL C for the session's device. `source` is a path (as given,
 * beside the calling script, or below the folder of kernels) or source
 * text. A failed build raises with the compiler's log, the source lines
 * and a caret; `e.log` is the whole log.
 * Options:
 *   defines  none       {TILE = 16, ["F(x)"] = "(x) * 2"}: macros of any
 *                       text of one line; true: the value 1
 *   options  none       for the compiler, such as "-cl-mad-enable"
 *   include  none       a folder or a list; a file's own is always there, and
 *                       both come before the working folder
 *   name     (source)   of source text, in messages
 *   context  session's  the Context of another device
 *   binary   none       function(key) -> bytes, log: instead of compiling,
 *                       the result of prog:binary() of an earlier build with
 *                       this key and its log; nil: compiles. The key is a
 *                       hash of the text, its files, defines and options
 *   cuda     false      true: the kernels are CUDA's, see ?cuda; the default
 *                       for a path that ends in .cu
 * Example:
 * local prog = cl.build([[
 * kernel void scale(float a, global float *x) {
 *   x[get_global_id(0)] *= a * FACTOR;
 * }]], {defines = {FACTOR = 2}, name = "scale.cl"})
 * local x = cl.buffer("float", 8, 1)
 * prog.scale:range(8)(3, x)
 * print(x:read()[8]) --> 6.0
 */
static int cl_build(lua_State *L) {
  return buildfrom(L, BUILD, false);
}

/* The hook build_early. */
static int hook_buildearly(lua_State *L) {
  buildfrom(L, BUILD, true);
  return 0;
}

/** cl.kernel_folder(path)
 * Sets the folder in which cl.build looks for kernel files last. In clshell it
 * is the folder of its own kernels.
 * Example:
 * cl.kernel_folder(cl.home .. "/kernels/gemm")
 * print(cl.build("naive.cl"):info().name)
 */
static int cl_kernelfolder(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, CLSHELL_KERNELS);
  return 0;
}

/** cl.kernel(source [, opts]) -> Kernel
 * Builds a source of one kernel and returns that kernel. Options as for
 * cl.build.
 * Example:
 * local axpy = cl.kernel [[
 * kernel void axpy(float a, global const float *x, global float *y) {
 *   int i = get_global_id(0);
 *   y[i] += a * x[i];
 * }]]
 * local x, y = cl.buffer("float", 100, 1), cl.buffer("float", 100, 5)
 * local event = axpy:range(100)(2, x, y)
 * print(y:read()[100]) --> 7.0
 */
static int cl_kernel_(lua_State *L) {
  lua_settop(L, 2);
  cl_build(L);
  int program = lua_gettop(L);
  clsh_program_pushkernelnames(L, clsh_program_check(L, program));
  int n = (int)lua_rawlen(L, -1);
  if (n != 1)
    return clsh_error(L,
                      "cl.kernel: the source must have one kernel; got %d. "
                      "Use cl.build and prog:kernel(name)",
                      n);
  lua_rawgeti(L, -1, 1);
  return clsh_program_pushkernel(L, program, lua_gettop(L));
}

/** cl.build_binary(bytes [, opts]) -> Program
 * A Program from the result of `prog:binary()` on the same kind of device
 * with the same driver; other and damaged bytes raise. Parameter types
 * may be unknown then: see `cl.int`.
 * Options:
 *   raw        false      true: nothing checks `bytes`, a driver's own
 *   options    none       for the driver's compiler
 *   name       (binary)   in messages
 *   context    session's  the Context of another device
 *   local_mem  device's   bytes of local memory that a kernel may have
 *              itself, where the GPU has more than the driver's OpenCL gives
 * Example:
 * local source = "kernel void one(global int *x) { *x = 1; }"
 * local copy = cl.build_binary(cl.build(source):binary())
 * local x = cl.buffer("int", 1, 0)
 * copy.one:range(1)(x)
 * print(x:read()[1]) --> 1
 */
static int cl_buildbinary(lua_State *L) {
  lua_settop(L, 2);
  size_t len;
  const char *bytes = luaL_checklstring(L, 1, &len);
  clsh_option_check(L, 2, "raw options name context local_mem",
                    "cl.build_binary");
  bool raw = clsh_option_flag(L, 2, "raw", false);
  clsh_option_push(L, 2, "name");
  const char *name = luaL_optstring(L, 3, "(binary)");
  clsh_option_push(L, 2, "context");
  cl_device_id d = clsh_context_push(L, 4)->device;
  size_t room = clsh_option_size(L, 2, "local_mem", 0);
  clsh_program_new(L, 5, name)->local_mem = room; /* at 6 */
  if (!raw)
    bytes = clsh_program_checkbinary(L, 1, d, &len);
  lua_settop(L, 6);
  if (len == 0)
    return clsh_error_arg(L, 1, "an empty string is no program binary");
  load(L, 6, bytes, len);
  clsh_source_pushoptions(L, 2, "", "");
  lua_pop(L, 1);
  make(L, 6, lua_tostring(L, -1), "", true);
  lua_settop(L, 6);
  return 1;
}

/** cl.compile(source [, opts]) -> Program
 * Compiles a source, a path or text as for cl.build, for cl.link: the result
 * has no kernels. A function of another source is declared, as in C. Options
 * besides these as for cl.build.
 * Options:
 *   headers  none       texts by name: {["pair.h"] = "#define N 3"}, for
 *                       #include "pair.h"
 *   defines  none       macros, as for cl.build
 *   options  none       for the compiler
 *   include  none       a folder or a list; a file's own is always there, and
 *                       both come before the working folder
 *   name     (source)   of source text, in messages
 *   context  session's  the Context of another device
 * Example:
 * local pair = cl.compile([[
 *   #include "factor.h"
 *   int scaled(int x) { return FACTOR * x; }]],
 *   {headers = {["factor.h"] = "#define FACTOR 2"}})
 * print(#pair:kernels()) --> 0
 */
static int cl_compile(lua_State *L) {
  return buildfrom(L, COMPILE, false);
}

/*
** Pushes a copy of the list of Programs at 1, which must be compiled or
** libraries of one context, and that Context.
*/
static void pushparts(lua_State *L) {
  const Context *c = NULL;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (n == 0)
    clsh_error_arg(L, 1, "the list must hold at least one Program");
  lua_createtable(L, (int)n, 0);
  int list = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    const Program *p = clsh_program_check(L, -1);
    if (p->making == BUILD || p->making == LINK)
      clsh_error_arg(L, 1,
                     "Program %d is built already; cl.compile makes "
                     "Programs to link",
                     (int)i);
    if (c != NULL && p->context != c)
      clsh_error_arg(L, 1, "Program %d is of another context (device)",
                     (int)i);
    c = p->context;
    clsh_source_append(L, list);
  }
  lua_rawgeti(L, list, 1);
  lua_getiuservalue(L, -1, PROGRAM_CONTEXT);
  lua_remove(L, -2);
}

/** cl.link(programs [, opts]) -> Program
 * Links Programs of cl.compile, and libraries, to a Program with kernels. A
 * failed link raises with the linker's log. Some drivers do not tell the types
 * of the parameters of such kernels: see cl.int.
 * Options:
 *   library  false     true: the result is linked with others later
 *   options  none      for the linker, such as "-cl-fast-relaxed-math"
 *   name     (linked)  in messages
 * Example:
 * local a = cl.compile "int twice(int x) { return 2 * x; }"
 * local b = cl.compile [[
 *   int twice(int x);
 *   kernel void f(global int *x) { x[0] = twice(x[0]); }]]
 * local x = cl.buffer("int", 1, 21)
 * cl.link{a, b}.f:range(1)(x)
 * print(x:read()[1]) --> 42
 */
static int cl_link(lua_State *L) {
  lua_settop(L, 2);
  clsh_option_check(L, 2, "library options name", "cl.link");
  clsh_option_push(L, 2, "name");
  const char *name = luaL_optstring(L, 3, "(linked)");
  clsh_option_push(L, 2, "options");
  bool library = clsh_option_flag(L, 2, "library", false);
  lua_pushfstring(L, "%s%s", library ? "-create-library " : "",
                  luaL_optstring(L, 4, ""));
  pushparts(L); /* the list at 6 */
  clsh_program_new(L, 7, name)->making = library ? LIBRARY : LINK; /* at 8 */
  lua_pushvalue(L, 6);
  lua_setiuservalue(L, 8, PROGRAM_PARTS);
  make(L, 8, lua_tostring(L, 5), "", true);
  lua_settop(L, 8);
  return 1;
}

typedef cl_program(CL_API_CALL *ILCreator)(cl_context, const void *, size_t,
                                           cl_int *);
typedef cl_int(CL_API_CALL *ILSetter)(cl_program, cl_uint, size_t,
                                      const void *);

/* Whether a string is a module of either byte order, not a path. */
static bool ismodule(const char *s, size_t len) {
  return len >= 4 && (memcmp(s, "\x03\x02\x23\x07", 4) == 0 ||
                      memcmp(s, "\x07\x23\x02\x03", 4) == 0);
}

/* The bytes of the value at the top, which stays; NULL: no constant. */
static const void *constantbytes(lua_State *L, size_t *len) {
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
  ILSetter set;
  int list = lua_gettop(L);
  if (!lua_istable(L, list))
    clsh_error(L, "constants must be a table of values by number; got a %s",
               luaL_typename(L, list));
  clsh_context_function(L, p->context, 220,
                        "clSetProgramSpecializationConstant",
                        "the module's own values remain", &set);
  for (lua_pushnil(L); lua_next(L, list) != 0; lua_settop(L, list + 1)) {
    size_t id, len;
    if (!clsh_option_whole(L, -2, 0, &id) || id > UINT32_MAX)
      clsh_error(L,
                 "constants: a number (SpecId) must be an integer >= 0; "
                 "got %s",
                 clsh_option_got(L, -2));
    const void *data = constantbytes(L, &len);
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
static void checkil(lua_State *L, int ctx, const char *instead) {
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
  ILCreator create;
  size_t len;
  const char *bytes = luaL_checklstring(L, 1, &len);
  lua_settop(L, 2);
  clsh_option_check(L, 2, "constants options name context", "cl.build_il");
  clsh_option_push(L, 2, "context");
  Context *c = clsh_context_push(L, 3); /* at 4 */
  checkil(L, 4, instead);
  clsh_context_function(L, c, 210, "clCreateProgramWithIL", instead, &create);
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
  make(L, 6, lua_tostring(L, -1), "", true);
  lua_settop(L, 6);
  return 1;
}

/** cl.files(path [, opts]) -> list
 * The full paths of a kernel file and of the files that it includes, the file
 * itself first; list[path] is a hash of the content, an integer.
 * Options:
 *   options  none  for the compiler: the folders of its -I
 *   include  none  a folder or a list; a file's own is always there
 * Example:
 * local files = cl.files(cl.home .. "/kernels/gemm/naive.cl")
 * print(#files) --> 4
 * print(files[1], files[files[1]]) -- its path, a hash of its content
 */
static int cl_files(lua_State *L) {
  lua_settop(L, 2);
  const char *path = luaL_checkstring(L, 1);
  clsh_option_check(L, 2, "options include", "cl.files");
  clsh_source_push(L, path); /* the text at 3, the path found at 4 */
  path = lua_tostring(L, 4);
  clsh_source_pushoptions(L, 2, lua_tostring(L, 3), path);
  clsh_source_pushfiles(L, 3, path, lua_tostring(L, 5));
  lua_pop(L, 1);
  return 1;
}
void clsh_build_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"build", cl_build},
                                       {"build_binary", cl_buildbinary},
                                       {"build_il", cl_buildil},
                                       {"compile", cl_compile},
                                       {"files", cl_files},
                                       {"kernel", cl_kernel_},
                                       {"kernel_folder", cl_kernelfolder},
                                       {"link", cl_link},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  lua_pushcfunction(L, hook_buildearly);
  clsh_hook_set(L, "build_early");
}
