/*
** build.c - from source text, a file or a binary to a Program.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "process.h"
#include "program.h"

#define EXPLAIN "cl.explain_build"    /* registry: see cl.explain_build */
#define TRANSLATE "cl.translate_cuda" /* registry: see cl.translate_cuda */

/* Pushes the driver's build log and what it wrote to the standard error,
** without white space at the end. */
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
                  clsh_hush_told());
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
  do
    err = clsh_compiler_run(L, program, options);
  while (clsh_error_retry(L, err, &tries));
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
  if (lua_getfield(L, LUA_REGISTRYINDEX, EXPLAIN) == LUA_TFUNCTION) {
    lua_pushvalue(L, e);
    (void)lua_pcall(L, 1, 0, 0); /* if that fails: the message as it is */
  }
  lua_settop(L, e);
  lua_error(L);
}

/*
** Builds the program at `program` with these options. With argument info,
** NVIDIA's driver (580.159) makes PTX that its assembler refuses where a
** kernel has no parameters: such a program is built again without, and its
** kernels then take explicit types.
*/
void clsh_build_make(lua_State *L, int program, const char *options,
                     const char *source, bool istext) {
  cl_int err = compile(L, program, options);
  if (err == CL_BUILD_PROGRAM_FAILURE &&
      strstr(lua_tostring(L, -1), "ptxas") != NULL)
    err = compile(L, program, options + strlen(CLSHELL_ARGINFO));
  if (err != CL_SUCCESS)
    failed(L, program, source, istext, err);
  clsh_program_check(L, program)->builds = 1;
}

/** cl.explain_build(f)
 * Has function `f` put the error of every failed build into words, before it
 * is raised: f(e) may set e.message and add fields. Without such a function
 * the message is the compiler's log. Fields of `e` besides those of every
 * error: log, options, device (its name), program (the path of the file or
 * the name of the text), source (the text), given (the text as the compiler
 * got it, with lines of defines and #line directives), is_text (not from a
 * file), cuda (of a CUDA text: see cl.translate_cuda).
 * Example:
 * -- cl.explain_build(function(e) e.message = e.device .. ": " .. e.log end)
 * print(type(cl.explain_build)) --> function
 */
static int cl_explainbuild(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, EXPLAIN);
  return 0;
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
** binary and the log of its build; false: there is none.
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

/** cl.translate_cuda(f)
 * Has function `f` translate the texts that cl.build gets with cuda = true:
 * f(text, device, options) returns a table with the OpenCL C as `opencl`,
 * which is prog.cuda from then on, or nil and the errors as a compiler's log.
 * clshell sets one; it keeps the lines of the text.
 * Example:
 * cl.translate_cuda(function(text)
 *   return {opencl = text:gsub("__global__", "kernel")}
 * end)
 * print(cl.build("__global__ void f() {}", {cuda = true}).f.name) --> f
 */
static int cl_translatecuda(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, TRANSLATE);
  return 0;
}

/*
** Pushes the OpenCL C of the CUDA text at `text`. The options of the program
** at `program` lie above it.
*/
static int pushtranslated(lua_State *L, int program, int text, bool istext) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, TRANSLATE) != LUA_TFUNCTION)
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
** string at the top, from the text at `text`; `path` is that of its file, or
** NULL. The text gets a comment with a hash of the included files, for
** drivers that keep programs by the text alone. `opts` are those of cl.build,
** 0 for none.
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
    lua_pushvalue(L, program);
    clsh_class_noteweak(L, CLSHELL_PROGRAMS);
    comment = clsh_source_pushfiles(L, text, path, options);
    lua_pushvalue(L, -2);
    lua_setiuservalue(L, program, PROGRAM_FILES);
  }
  bool cuda = lua_getiuservalue(L, program, PROGRAM_CUDA) != LUA_TNIL;
  int given = cuda ? pushtranslated(L, program, text, path == NULL) : text;
  clsh_source_pushexpanded(L, given, path, options);
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
    const char *bytes = clsh_binary_check(L, opts, p->context->device, &size);
    load(L, program, bytes, size);
  } else {
    p->handle = clCreateProgramWithSource(clsh_context_handle(L, p->context),
                                          n, parts, len, &err);
    clsh_error_check(L, err, "clCreateProgramWithSource");
  }
  lua_settop(L, program + 2);
  clsh_build_make(L, program, options, lua_tostring(L, text), path == NULL);
  lua_settop(L, program + 2);
  if (kept && lua_isstring(L, program + 2))
    lua_setiuservalue(L, program, PROGRAM_LOG);
  lua_settop(L, program);
}

static const char *const build_options[] = {"defines", "options", "include",
                                            "name",    "context", "binary",
                                            "cuda",    NULL};
static const char *const compile_options[] = {
    "defines", "options", "include", "name", "context", "headers", NULL};

/* Whether a string is source text rather than a path. */
static bool issource(const char *s) {
  return strpbrk(s, "\n{;") != NULL;
}

static bool iscuda(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".cu") == 0;
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
** or compiles, as cl.build and cl.compile do.
*/
int clsh_build_from(lua_State *L, int making) {
  lua_settop(L, 2);
  size_t len;
  const char *source = luaL_checklstring(L, 1, &len);
  bool isfile = !issource(source), compiles = making == COMPILE;
  clsh_option_check(L, 2, compiles ? compile_options : build_options,
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
  clsh_program_new(L, 5, name)->making = making; /* at 6 */
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
 *   include  none       a folder or a list; a file's own is always there
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
  return clsh_build_from(L, BUILD);
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

static const char *const binary_options[] = {"raw",     "options",   "name",
                                             "context", "local_mem", NULL};

/** cl.build_binary(bytes [, opts]) -> Program
 * A Program from the result of `prog:binary()` on the same kind of device
 * with the same driver; other and damaged ones are refused. Parameter types
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
  clsh_option_check(L, 2, binary_options, "cl.build_binary");
  bool raw = clsh_option_flag(L, 2, "raw", false);
  clsh_option_push(L, 2, "name");
  const char *name = luaL_optstring(L, 3, "(binary)");
  clsh_option_push(L, 2, "context");
  cl_device_id d = clsh_context_push(L, 4)->device;
  size_t room = clsh_option_size(L, 2, "local_mem", 0);
  clsh_program_new(L, 5, name)->local_mem = room; /* at 6 */
  if (!raw)
    bytes = clsh_binary_check(L, 1, d, &len);
  lua_settop(L, 6);
  if (len == 0)
    return clsh_error_arg(L, 1, "an empty string is no program binary");
  load(L, 6, bytes, len);
  clsh_source_pushoptions(L, 2, "", "");
  lua_pop(L, 1);
  clsh_build_make(L, 6, lua_tostring(L, -1), "", true);
  lua_settop(L, 6);
  return 1;
}
static const char *const files_options[] = {"options", "include", NULL};

/** cl.files(path [, opts]) -> list
 * The full paths of a kernel file and of the files that it includes, the file
 * itself first; list[path] is a hash of the content, an integer.
 * Options:
 *   options  none  for the compiler: the folders of its -I
 *   include  none  a folder or a list; a file's own is always there
 * Example:
 * local files = cl.files(cl.home .. "/kernels/gemm/naive.cl")
 * print(#files) --> 2
 * print(files[1], files[files[1]]) -- its path, a hash of its content
 */
static int cl_files(lua_State *L) {
  lua_settop(L, 2);
  const char *path = luaL_checkstring(L, 1);
  clsh_option_check(L, 2, files_options, "cl.files");
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
                                       {"explain_build", cl_explainbuild},
                                       {"files", cl_files},
                                       {"kernel", cl_kernel_},
                                       {"kernel_folder", cl_kernelfolder},
                                       {"translate_cuda", cl_translatecuda},
                                       {NULL, NULL}};
  clsh_option_declare(L, "cl.build", build_options);
  clsh_option_declare(L, "cl.compile", compile_options);
  clsh_option_declare(L, "cl.build_binary", binary_options);
  clsh_option_declare(L, "cl.files", files_options);
  clsh_option_declare(L, "cl.kernel", build_options);
  luaL_setfuncs(L, functions, 0);
}
