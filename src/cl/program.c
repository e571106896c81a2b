/*
** program.c - class Program: OpenCL C built for one device, its kernels and
** its binary.
** build.c makes Programs; rebuild.c adds the methods about their files.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "kernel.h"
#include "program.h"

#define MAGIC "clshell binary 1\n"
#define HEADLINES 4

#define TEXTSIZE 256

static void program_release(Object *o) {
  Program *p = (Program *)o;
  if (p->handle != NULL && !clsh_driver_handsoff())
    clReleaseProgram(p->handle);
  p->handle = NULL;
}

static const Class class;

Program *clsh_program_check(lua_State *L, int arg) {
  Program *p = clsh_class_check(L, arg, &class);
  clsh_context_alive(L, p->context);
  return p;
}

/* Pushes a new Program without a handle; the Context is at `ctx`. */
Program *clsh_program_new(lua_State *L, int ctx, const char *name) {
  Program *p = clsh_class_newowned(L, &class, PROGRAM_NAMES, ctx);
  int program = lua_gettop(L);
  p->context = clsh_context_check(L, ctx);
  lua_newtable(L);
  lua_setiuservalue(L, program, PROGRAM_KERNELS);
  lua_pushstring(L, name);
  lua_setiuservalue(L, program, PROGRAM_NAME);
  lua_pushliteral(L, "");
  lua_setiuservalue(L, program, PROGRAM_DEFINES);
  return p;
}

/* Pushes the list of kernel names: the driver gives "a;b;c". */
void clsh_program_pushkernelnames(lua_State *L, const Program *p) {
  size_t size = 0, count = 0;
  clGetProgramInfo(p->handle, CL_PROGRAM_NUM_KERNELS, sizeof count, &count,
                   NULL);
  if (count > 0) /* NVIDIA's driver crashes over an empty list */
    clGetProgramInfo(p->handle, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size);
  size = clsh_info_size(size);
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
 * Example:
 * local prog = cl.build "kernel void a(void) {} kernel void b(void) {}"
 * print(#prog:kernels()) --> 2
 */
static int program_kernels(lua_State *L) {
  clsh_program_pushkernelnames(L, clsh_program_check(L, 1));
  return 1;
}

/* The prefix of PoCL for kernels named like a function of OpenCL C. */
static const char POCL[] = "_cl_";

static bool isfunction(const char *const names[], const char *name) {
  size_t n = sizeof POCL - 1;
  for (; *names != NULL; names++)
    if (strncmp(*names, POCL, n) == 0 && strcmp(*names + n, name) == 0)
      return true;
  return false;
}

/* Raises: no such kernel; gives the nearest name and lists all. */
static int nokernel(lua_State *L, const Program *p, const char *name,
                    size_t len) {
  clsh_program_pushkernelnames(L, p);
  int list = lua_gettop(L);
  size_t n = lua_rawlen(L, list);
  const char **names = lua_newuserdatauv(L, (n + 1) * sizeof *names, 0);
  for (size_t i = 0; i < n; i++) { /* which the list keeps */
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  names[n] = NULL;
  if (isfunction(names, name))
    return clsh_error(L,
                      "no kernel '%s': it has the name of a function of "
                      "OpenCL C; give it another name",
                      name);
  const char *near = clsh_nearest(name, names);
  if (near != NULL && strlen(name) == len && strcmp(near, name) == 0)
    return clsh_error_call(L, CL_INVALID_KERNEL_NAME, "clCreateKernel",
                           "the program has '%s', but the driver cannot make "
                           "a kernel of it",
                           name);
  const char *the = near != NULL
                        ? lua_pushfstring(L, "did you mean '%s'? The", near)
                        : "the";
  return clsh_error_call(L, CL_INVALID_KERNEL_NAME, "clCreateKernel",
                         "no kernel '%s'; %s program has: %s", name, the,
                         clsh_nearest_pushlist(L, names));
}

/*
** Pushes the kernel of the Program at `program` whose name is the string at
** `idx`, made once.
*/
int clsh_program_pushkernel(lua_State *L, int program, int idx) {
  size_t len;
  const char *name = lua_tolstring(L, idx, &len);
  Program *p = clsh_program_check(L, program);
  if (p->making == COMPILE || p->making == LIBRARY)
    clsh_error(L,
               "no kernel '%s': this Program is compiled, not linked; "
               "cl.link{p} makes one with kernels",
               name);
  if (strlen(name) != len)
    return nokernel(L, p, name, len);
  lua_getiuservalue(L, program, PROGRAM_KERNELS);
  int kernels = lua_gettop(L);
  if (lua_getfield(L, kernels, name) == LUA_TUSERDATA) {
    const Kernel *k = lua_touserdata(L, -1);
    if (!k->head.closed && k->handle == NULL)
      return nokernel(L, p, name, len);
    if (!k->head.closed)
      return 1;
  }
  lua_pop(L, 1);
  Kernel *k = clsh_kernel_new(L, program, p->handle, name);
  if (k == NULL)
    return nokernel(L, p, name, len);
  k->local_mem = p->local_mem;
  lua_pushvalue(L, -1);
  lua_setfield(L, kernels, name);
  return 1;
}

/** Program:kernel(name) -> Kernel
 * The kernel of that name; `prog.name` for short. Unknown names raise and
 * list the valid ones.
 * Example:
 * local prog = cl.build "kernel void fill(global int *x) { *x = 3; }"
 * local fill = prog:kernel "fill" -- prog.fill is the same
 * print(fill.name) --> fill
 */
static int program_kernel(lua_State *L) {
  luaL_checkstring(L, 2);
  return clsh_program_pushkernel(L, 1, 2);
}

static int program_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING)
    return clsh_error_arg(L, 2, "a kernel's name must be a string; got a %s",
                          luaL_typename(L, 2));
  return clsh_program_pushkernel(L, 1, 2);
}

/* Pushes the list of the paths of the files of the program at 1. */
static void pushfiles(lua_State *L) {
  int files = lua_gettop(L) + 1;
  lua_getiuservalue(L, 1, PROGRAM_FILES);
  lua_newtable(L);
  lua_Integer n =
      lua_istable(L, files) ? (lua_Integer)lua_rawlen(L, files) : 0;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, files, i);
    lua_rawseti(L, files + 1, i);
  }
  lua_remove(L, files);
}

/** Program:info() -> table
 * name (file or name of the source), options, defines (the lines in front of
 * the source, for values that no option takes), log, kernels (names), device,
 * files (full paths: its own and the included files; none for source text).
 * `prog.log` and `prog.options` alone; kernels by `prog.name`. `prog.source`:
 * the text behind the defines, nil for a binary. A program from a file has its
 * path in `prog.file` and the number of its builds in `prog.builds`. A program
 * of a CUDA text has in `prog.cuda` a table: `opencl`, the OpenCL C, and
 * `launches` and `notes`, lists of {line, text}.
 * Example:
 * local prog = cl.build("kernel void f(void) {}",
 *   {options = "-cl-mad-enable"})
 * print(prog:info().options, prog:info().kernels[1])
 */
static int program_info(lua_State *L) {
  Program *p = clsh_program_check(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(L, "defines log options");
  lua_getiuservalue(L, 1, PROGRAM_NAME);
  lua_setfield(L, 2, "name");
  clsh_program_pushkernelnames(L, p);
  lua_setfield(L, 2, "kernels");
  pushfiles(L);
  lua_setfield(L, 2, "files");
  clsh_context_setdevice(L);
  return 1;
}

static int program_tostring(lua_State *L) {
  Program *p = clsh_class_any(L, 1, &class);
  lua_getiuservalue(L, 1, PROGRAM_NAME);
  lua_pushfstring(L, "Program %s%s", luaL_optstring(L, -1, ""),
                  p->head.closed ? " (closed)" : "");
  return 1;
}

/*
** The binary of a program has a head that tells damage and foreign devices:
** drivers trust the bytes and end the process over damaged bytes.
*/
/* A text of a device, in one line, whatever the driver wrote. */
static void devicetext(cl_device_id d, cl_device_info key,
                       char text[TEXTSIZE]) {
  if (clGetDeviceInfo(d, key, TEXTSIZE, text, NULL) != CL_SUCCESS)
    text[0] = '\0';
  text[TEXTSIZE - 1] = '\0';
  text[strcspn(text, "\n")] = '\0';
}

/* Pushes the head for bytes of a device: magic, device, driver, sum. */
static const char *pushhead(lua_State *L, cl_device_id d, const char *bytes,
                            size_t n) {
  char name[TEXTSIZE] = "", driver[TEXTSIZE] = "", sum[48];
  devicetext(d, CL_DEVICE_NAME, name);
  devicetext(d, CL_DRIVER_VERSION, driver);
  snprintf(sum, sizeof sum, "%zu %016llx", n,
           (unsigned long long)clsh_source_hash(0, bytes, n));
  return lua_pushfstring(L, MAGIC "%s\n%s\n%s\n", name, driver, sum);
}

/* The bytes of the first n lines; 0: there are fewer lines. */
static size_t lines(const char *s, size_t len, int n) {
  const char *p = s;
  for (; n > 0 && p != NULL; n--) {
    p = memchr(p, '\n', len - (size_t)(p - s));
    p += p != NULL;
  }
  return p != NULL ? (size_t)(p - s) : 0;
}

/*
** The driver's bytes in the string at `arg`, their number in `*len`. Raises
** unless it is the result of Program:binary on such a device.
*/
const char *clsh_program_checkbinary(lua_State *L, int arg, cl_device_id d,
                                     size_t *len) {
  const char *s = luaL_checklstring(L, arg, len);
  size_t head = lines(s, *len, HEADLINES);
  if (strncmp(s, MAGIC, strlen(MAGIC)) != 0)
    clsh_error_arg(L, arg,
                   "must be the result of prog:binary(); a driver's "
                   "own bytes need {raw = true}, and damaged ones can end "
                   "the program");
  const char *due = pushhead(L, d, s + head, *len - head);
  size_t whose = lines(due, strlen(due), HEADLINES - 1);
  if (head != 0 &&
      (lines(s, *len, HEADLINES - 1) != whose || memcmp(s, due, whose) != 0)) {
    lua_pushlstring(L, s, lines(s, *len, HEADLINES - 1) - 1);
    const char *theirs = luaL_gsub(L, lua_tostring(L, -1), MAGIC, "");
    clsh_error_arg(L, arg,
                   "the binary is of another device or driver version, "
                   "'%s'; build the program from its source",
                   luaL_gsub(L, theirs, "\n", " "));
  }
  if (head == 0 || head != strlen(due) || memcmp(s, due, head) != 0)
    clsh_error_arg(L, arg,
                   "the binary is damaged: its bytes do not match "
                   "its head; build the program from its source again");
  *len -= head;
  return s + head;
}

/** Program:binary([opts]) -> string
 * The binary of the program, for cl.build_binary: the driver's bytes behind a
 * head that tells device, driver and a checksum. On NVIDIA's driver the bytes
 * are PTX text.
 * Options:
 *   raw  false  true: the driver's bytes alone
 * Example:
 * local prog = cl.build "kernel void f(void) {}"
 * print(#prog:binary() > #prog:binary{raw = true}) --> true
 */
static int program_binary(lua_State *L) {
  Program *p = clsh_program_check(L, 1);
  lua_settop(L, 2);
  clsh_option_check(L, 2, "raw", "prog:binary");
  bool raw = clsh_option_flag(L, 2, "raw", false);
  size_t size = 0;
  clsh_error_check(L,
                   clGetProgramInfo(p->handle, CL_PROGRAM_BINARY_SIZES,
                                    sizeof size, &size, NULL),
                   "clGetProgramInfo");
  if (size == 0)
    return clsh_error(L, "the driver keeps no binary of this program");
  unsigned char *bytes = lua_newuserdatauv(L, size, 0);
  clsh_error_check(L,
                   clGetProgramInfo(p->handle, CL_PROGRAM_BINARIES,
                                    sizeof bytes, &bytes, NULL),
                   "clGetProgramInfo");
  lua_pushstring(L, "");
  if (!raw)
    pushhead(L, p->context->device, (char *)bytes, size);
  lua_pushlstring(L, (char *)bytes, size);
  lua_concat(L, 2);
  return 1;
}

static const luaL_Reg methods[] = {{"binary", program_binary},
                                   {"info", program_info},
                                   {"kernel", program_kernel},
                                   {"kernels", program_kernels},
                                   {NULL, NULL}};
static const Field plain[] = {{"builds", 'i', offsetof(Program, builds)},
                              {"context", 'u', PROGRAM_CONTEXT},
                              {"cuda", 'u', PROGRAM_CUDA},
                              {"defines", 'u', PROGRAM_DEFINES},
                              {"log", 'u', PROGRAM_LOG},
                              {"options", 'u', PROGRAM_OPTIONS},
                              {"source", 'u', PROGRAM_SOURCE},
                              {0}};
/* prog(x, y): a kernel and its range are missing. */
static int program_call(lua_State *L) {
  clsh_program_pushkernelnames(L, clsh_program_check(L, 1));
  lua_rawgeti(L, -1, 1);
  return clsh_error(L, "a Program has kernels to call: prog.%s:range(n)(...)",
                    luaL_optstring(L, -1, "name"));
}

static const luaL_Reg meta[] = {{"__call", program_call},
                                {"__names", program_kernels},
                                {"__tostring", program_tostring},
                                {NULL, NULL}};
static const Class class = {"Program", sizeof(Program), methods,        NULL,
                            meta,      program_index,   program_release};

void clsh_program_open(lua_State *L) {
  clsh_class_define(L, &class);
  clsh_class_addfields(L, &class, plain);
}
