/*
** cudarun.c - module clshell.cudarun: a kernel as PTX text, run once by CUDA's
** driver. Profilers of CUDA see no launch of OpenCL, so a child process under
** one runs the text that OpenCL's compiler made. It ends after the launch, and
** leaves to its end what it has allocated on the device.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <lauxlib.h>

#include "cl/driver.h"
#include "shell.h"

#define LIBRARY "libcuda.so.1"
#define LOG 4096       /* bytes of the assembler's messages */
#define ERROR_LOG 5    /* CU_JIT_ERROR_LOG_BUFFER */
#define ERROR_BYTES 6  /* CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES */
#define MOST_DYNAMIC 8 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */

/* CUDA's driver: the functions of cuda.h that a launch takes. */
static struct {
  int (*init)(unsigned flags);
  int (*device)(int *device, const char *bus);
  int (*context)(void **context, int device);
  int (*current)(void *context);
  int (*load)(void **module, const void *text, unsigned n, int *options,
              void **values);
  int (*function)(void **f, void *module, const char *name);
  int (*attribute)(void *f, int attribute, int value);
  int (*allocate)(uint64_t *at, size_t bytes);
  int (*copy)(uint64_t to, const void *from, size_t bytes);
  int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned x,
                unsigned y, unsigned z, unsigned dynamic, void *stream,
                void **args, void **extra);
  int (*wait)(void);
  int (*name)(int error, const char **name);
} cuda;

static const struct {
  const char *name;
  void *function;
} functions[] = {
    {"cuInit", &cuda.init},
    {"cuDeviceGetByPCIBusId", &cuda.device},
    {"cuDevicePrimaryCtxRetain", &cuda.context},
    {"cuCtxSetCurrent", &cuda.current},
    {"cuModuleLoadDataEx", &cuda.load},
    {"cuModuleGetFunction", &cuda.function},
    {"cuFuncSetAttribute", &cuda.attribute},
    {"cuMemAlloc_v2", &cuda.allocate},
    {"cuMemcpyHtoD_v2", &cuda.copy},
    {"cuLaunchKernel", &cuda.launch},
    {"cuCtxSynchronize", &cuda.wait},
    {"cuGetErrorName", &cuda.name},
};

static void load(lua_State *L) {
  void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL)
    luaL_error(L, "CUDA's driver is missing: %s", dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!clsh_driver_function(lib, functions[i].name, functions[i].function))
      luaL_error(L, "%s has no function %s", LIBRARY, functions[i].name);
}

/* Raises where a call of the driver failed, with more words or none. */
static void check(lua_State *L, int result, const char *call,
                  const char *more) {
  const char *name = "an unknown error";
  if (result == 0)
    return;
  cuda.name(result, &name);
  luaL_error(L, "%s: %s (%d)%s%s", call, name, result,
             *more != '\0' ? ": " : "", more);
}

/* The kernel of a text. */
static void *getkernel(lua_State *L, const char *text, const char *name) {
  static char log[LOG];
  void *module, *f;
  int options[] = {ERROR_LOG, ERROR_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  log[0] = '\0';
  check(L, cuda.load(&module, text, 2, options, values), "cuModuleLoadDataEx",
        log);
  check(L, cuda.function(&f, module, name), "cuModuleGetFunction", name);
  return f;
}

/* The number at t[i] of the table at idx. */
static unsigned getsize(lua_State *L, int idx, int i) {
  lua_geti(L, idx, i);
  lua_Integer n = luaL_checkinteger(L, -1);
  luaL_argcheck(L, n >= 0 && n <= UINT32_MAX, idx, "sizes must fit 32 bits");
  lua_pop(L, 1);
  return (unsigned)n;
}

/* The addresses of copies of the strings of the table at idx. */
static uint64_t *copymemories(lua_State *L, int idx) {
  lua_Integer n = luaL_len(L, idx);
  uint64_t *at = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *at, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    size_t bytes;
    lua_geti(L, idx, i);
    const char *content = luaL_checklstring(L, -1, &bytes);
    check(L, cuda.allocate(&at[i], bytes > 0 ? bytes : 1), "cuMemAlloc", "");
    check(L, cuda.copy(at[i], content, bytes), "cuMemcpyHtoD", "");
    lua_pop(L, 1);
  }
  return at;
}

/* The arguments of the table at idx: a string is a value's bytes, {i, offset}
** the address of a byte of memory i. The table keeps its strings alive. */
static void **getargs(lua_State *L, int idx, uint64_t *memories,
                      lua_Integer count) {
  lua_Integer n = luaL_len(L, idx);
  void **args = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *args, 0);
  uint64_t *at = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *at, 0);
  for (lua_Integer i = 0; i < n; i++) {
    if (lua_geti(L, idx, i + 1) == LUA_TSTRING) {
      const void *bytes = lua_tostring(L, -1);
      memcpy(&args[i], &bytes, sizeof bytes);
    } else {
      unsigned m = getsize(L, lua_gettop(L), 1);
      luaL_argcheck(L, m >= 1 && m <= count, idx, "no such memory");
      at[i] = memories[m] + getsize(L, lua_gettop(L), 2);
      args[i] = &at[i];
    }
    lua_pop(L, 1);
  }
  return args;
}

/** cudarun.run(text, name, bus, sizes, memories, args)
 * Runs the kernel of a PTX text once on the device of a PCI bus id: sizes are
 * the numbers of blocks, {x, y, z}, the threads of a block, and the bytes of
 * its dynamic shared memory; memories the contents of device memory, strings;
 * an argument is the bytes of a value, or {number of a memory, offset}. Raises
 * where CUDA's driver is missing or refuses. Only for a process of its own.
 * Example:
 * local cudarun = require "clshell.cudarun"
 * print(pcall(cudarun.run, "", "f", "0", {1, 1, 1, 1, 1, 1, 0}, {}, {}))
 */
static int cudarun_run(lua_State *L) {
  const char *text = luaL_checkstring(L, 1);
  const char *name = luaL_checkstring(L, 2);
  const char *bus = luaL_checkstring(L, 3);
  unsigned n[7];
  int device;
  void *context;
  for (int i = 4; i <= 6; i++)
    luaL_checktype(L, i, LUA_TTABLE);
  for (int i = 0; i < 7; i++)
    n[i] = getsize(L, 4, i + 1);
  load(L);
  check(L, cuda.init(0), "cuInit", "");
  check(L, cuda.device(&device, bus), "cuDeviceGetByPCIBusId", bus);
  check(L, cuda.context(&context, device), "cuDevicePrimaryCtxRetain", "");
  check(L, cuda.current(context), "cuCtxSetCurrent", "");
  void *f = getkernel(L, text, name);
  if (n[6] > 0)
    check(L, cuda.attribute(f, MOST_DYNAMIC, (int)n[6]), "cuFuncSetAttribute",
          "");
  uint64_t *memories = copymemories(L, 5);
  void **args = getargs(L, 6, memories, luaL_len(L, 5));
  check(L,
        cuda.launch(f, n[0], n[1], n[2], n[3], n[4], n[5], n[6], NULL, args,
                    NULL),
        "cuLaunchKernel", "");
  check(L, cuda.wait(), "cuCtxSynchronize", "");
  return 0;
}

int luaopen_clshell_cudarun(lua_State *L) {
  static const luaL_Reg library[] = {{"run", cudarun_run}, {NULL, NULL}};
  luaL_newlib(L, library);
  return 1;
}
