/*
** fork.c - uses OpenCL, forks, and uses it again in the child, where each
** call must raise instead of hanging in the driver. Prints what the child's
** Lua says. Usage: fork
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "cl/cl.h"

static const char before[] =
    "b = cl.buffer('float', 16, 1) "
    "s = cl.device():sampler() "
    "k = cl.kernel('kernel void f(global float *x) { x[0] = 2; }') "
    "l = k:range(1) ev = l(b) q = cl.context().queue";

static const char after[] =
    "for name, f in pairs{read = function() b:read() end,"
    "  launch = function() l(b) end, wait = function() ev:wait() end,"
    "  finish = function() q:finish() end,"
    "  buffer = function() cl.buffer('float', 4) end,"
    "  build = function() cl.build('kernel void g(void) {}') end} do"
    "  print(name, select(2, pcall(f))) "
    "end b:close() print('sampler', cl.device():sampler(), s and #s:stop()) "
    "if s then s:close() end collectgarbage() print('closed')";

static int dostring(lua_State *L, const char *code) {
  int status = luaL_dostring(L, code);
  if (status != LUA_OK)
    printf("error: %s\n", luaL_tolstring(L, -1, NULL));
  return status;
}

int main(void) {
  int status = 0;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "cl", luaopen_cl, 1);
  if (dostring(L, before) != LUA_OK)
    return 1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20); /* a driver that hangs ends the child by SIGALRM */
    status = dostring(L, after) != LUA_OK;
    lua_close(L);
    fflush(stdout);
    _exit(status);
  }
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return 1;
  status = dostring(L, "assert(b:read()[1] == 2) print('parent well')");
  lua_close(L);
  return status;
}
