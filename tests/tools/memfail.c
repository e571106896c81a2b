/*
** memfail.c - runs a Lua script with the n-th allocation of Lua failing, for
** every n until the script gets through: once, twice in a row (which defeats
** the emergency collection that Lua tries), and from n on.
** Usage: memfail SCRIPT [STRIDE]: every n in the mode "twice", or each
** STRIDE-th; in the others, which seldom differ from it, each COARSE-th of
** these. Each run has a state of its own and must end in "not enough memory"
** or well, and every object must be closed and every byte freed after it.
** Prints a line for each mode; exit 1 on failure.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "cl/cl.h"

#define COARSE 7

typedef struct Memory {
  long count;  /* allocations so far */
  long fail;   /* the first that fails; 0: none */
  long length; /* how many fail in a row */
  size_t bytes;
  long failures;
} Memory;

static void *allocate(void *ud, void *p, size_t old, size_t size) {
  Memory *m = ud;
  if (p == NULL)
    old = 0;
  if (size == 0) {
    m->bytes -= old;
    free(p);
    return NULL;
  }
  if (size > old) {
    m->count++;
    if (m->fail > 0 && m->count >= m->fail && m->count < m->fail + m->length) {
      m->failures++;
      return NULL;
    }
  }
  void *q = realloc(p, size);
  if (q != NULL)
    m->bytes += size - old;
  return q;
}

/* The sum of cl.live(), with all memory at hand again. */
static int countlive(lua_State *L) {
  lua_Integer n = 0;
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "cl") != LUA_TTABLE)
    return lua_pushinteger(L, 0), 1;
  lua_getfield(L, -1, "live");
  lua_call(L, 0, 1);
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
    n += lua_tointeger(L, -1);
  lua_pushinteger(L, n);
  return 1;
}

static int run(lua_State *L) {
  const char *path = lua_touserdata(L, 1);
  luaL_openlibs(L);
  luaL_requiref(L, "cl", luaopen_cl, 1);
  if (luaL_loadfile(L, path) != LUA_OK)
    return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static void silent(void *ud, const char *text, int more) {
  (void)ud, (void)text, (void)more;
}

/* One run; what it ended with, or -1 where something was left behind. */
static int once(const char *path, Memory *m, char *message, size_t size) {
  lua_State *L = lua_newstate(allocate, m);
  if (L == NULL)
    return LUA_ERRMEM;
  lua_setwarnf(L, silent, NULL);
  if (m->length > 1) /* no retry helps: Lua might not call a finalizer */
    lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, (void *)path);
  int status = lua_pcall(L, 1, 0, 0);
  const char *text = status != LUA_OK ? lua_tostring(L, -1) : "";
  snprintf(message, size, "%s", text != NULL ? text : "(error object)");
  m->fail = 0;
  lua_close(L);
  L = luaL_newstate(); /* the counts are of the process */
  luaL_openlibs(L);
  luaL_requiref(L, "cl", luaopen_cl, 1);
  lua_pop(L, 1);
  lua_pushcfunction(L, countlive);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK || lua_tointeger(L, -1) != 0) {
    snprintf(message, size, "%d objects left open", (int)lua_tointeger(L, -1));
    status = -1;
  }
  lua_close(L);
  if (m->bytes != 0) {
    snprintf(message, size, "%zu bytes left", m->bytes);
    status = -1;
  }
  return status;
}

/* Each n of one mode; the number of failed runs. */
static int sweep(const char *path, const char *mode, long length,
                 long stride) {
  char message[512] = "";
  int wrong = 0;
  long runs = 0, memory = 0, other = 0;
  for (long n = 1;; n += stride) {
    Memory m = {0, n, length, 0, 0};
    int status = once(path, &m, message, sizeof message);
    runs++;
    memory += status == LUA_ERRMEM;
    other += status == LUA_ERRRUN;
    if (status < 0) {
      printf("%s, allocation %ld: %s\n", mode, n, message);
      wrong++;
    }
    if (m.failures == 0)
      break;
  }
  printf("%s: %ld runs, %ld out of memory, %ld other errors, %d wrong\n", mode,
         runs, memory, other, wrong);
  return wrong;
}

int main(int argc, char **argv) {
  char message[512];
  long stride = argc > 2 ? atol(argv[2]) : 1;
  Memory m = {0, 0, 0, 0, 0};
  if (argc < 2 || stride < 1)
    return 2;
  if (once(argv[1], &m, message, sizeof message) != LUA_OK) {
    printf("without a failure: %s\n", message);
    return 1;
  }
  int wrong = sweep(argv[1], "once", 1, stride * COARSE) +
              sweep(argv[1], "twice", 2, stride) +
              sweep(argv[1], "from then on", 1L << 40, stride * COARSE);
  m = (Memory){0, 0, 0, 0, 0};
  wrong += once(argv[1], &m, message, sizeof message) != LUA_OK;
  printf("at the end: %s\n", wrong > 0 ? "failed" : "well");
  return wrong > 0;
}
