/*
** clblast.c - CLBlast's GEMM on clshell's buffers, a peer of scripts/
** bench_peers.lua: a Lua module for the program, whose functions it calls.
** Built by `make peers` where CLBlast's headers are found.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "cl/buffer.h"
#include "cl/context.h"
#include "cl/queue.h"

#include <clblast_c.h>

#define MAXPARAMETERS 32

int luaopen_clblast(lua_State *L);

static void check(lua_State *L, CLBlastStatusCode status, const char *call) {
  if (status != CLBlastSuccess)
    clsh_error(L, "%s: CLBlast says %d", call, (int)status);
}

/*
** gemm(queue, A, B, C, m, n, k): C = A B, row-major and dense, of float or
** double as A is. Returns nothing: CLBlast's event is that of its last kernel
** alone, so that only the host's clock has the time of all.
*/
static int gemm(lua_State *L) {
  cl_command_queue queue = clsh_queue_handle(L, clsh_queue_check(L, 1));
  cl_mem handle[3];
  size_t size[3];
  for (int i = 0; i < 3; i++) {
    handle[i] = clsh_buffer_handle(L, clsh_buffer_check(L, 2 + i));
    size[i] = (size_t)luaL_checkinteger(L, 5 + i);
  }
  bool wide = strcmp(clsh_buffer_check(L, 2)->type->name, "double") == 0;
  size_t m = size[0], n = size[1], k = size[2];
  if (wide)
    check(L,
          CLBlastDgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                       CLBlastTransposeNo, m, n, k, 1, handle[0], 0, k,
                       handle[1], 0, n, 0, handle[2], 0, n, &queue, NULL),
          "CLBlastDgemm");
  else
    check(L,
          CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                       CLBlastTransposeNo, m, n, k, 1, handle[0], 0, k,
                       handle[1], 0, n, 0, handle[2], 0, n, &queue, NULL),
          "CLBlastSgemm");
  return 0;
}

/*
** override(context, kernel, bits, {NAME = value}): parameters that CLBlast's
** tuner found, such as those of "Xgemm" for 32 bits.
*/
static int override(lua_State *L) {
  const char *names[MAXPARAMETERS];
  size_t values[MAXPARAMETERS], count = 0;
  cl_device_id device = clsh_context_check(L, 1)->device;
  const char *kernel = luaL_checkstring(L, 2);
  CLBlastPrecision precision = luaL_checkinteger(L, 3) == 64
                                   ? CLBlastPrecisionDouble
                                   : CLBlastPrecisionSingle;
  luaL_checktype(L, 4, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 4) != 0; lua_pop(L, 1)) {
    if (count == MAXPARAMETERS || lua_type(L, -2) != LUA_TSTRING)
      return clsh_error(L, "override: names of at most 32 parameters");
    names[count] = lua_tostring(L, -2);
    values[count++] = (size_t)luaL_checkinteger(L, -1);
  }
  check(L,
        CLBlastOverrideParameters(device, kernel, precision, count, names,
                                  values),
        "CLBlastOverrideParameters");
  return 0;
}

int luaopen_clblast(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"gemm", gemm}, {"override", override}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
