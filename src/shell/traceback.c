/*
** traceback.c - a record of the stack when code fails, apart from the error
** value, which stays as it was raised. shell/prompt/errors.lua words it.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include <lauxlib.h>

#include "cl/cl.h"
#include "shell.h"

#define FAILURE "clshell.failure" /* registry: of the run that failed last */
#define INNER "clshell.inner"     /* of the coroutine that failed last */
#define CHUNKS "clshell.chunks"   /* texts of chunks that are no files */

#define HEAD 60    /* innermost levels kept */
#define TAIL 20    /* outermost levels kept */
#define SEEN 10    /* levels whose variables are kept */
#define MAXVARS 60 /* variables of one level */

/* Moves the value at the top of `from` to the top of L. */
static void take(lua_State *L, lua_State *from) {
  if (from != L)
    lua_xmove(from, L, 1);
}

/*
** Adds the value at the top as a variable to the two tables below it: {name,
** ..., [name] = type} and {name = value}.
*/
static void addvariable(lua_State *L, const char *name) {
  if (name[0] == '(' || name[0] == '\0') {
    lua_pop(L, 1);
    return;
  }
  lua_pushstring(L, luaL_typename(L, -1));
  lua_setfield(L, -4, name);
  lua_setfield(L, -2, name);
  lua_pushstring(L, name);
  lua_rawseti(L, -3, (lua_Integer)lua_rawlen(L, -3) + 1);
}

/*
** Sets `vars` and `values` of the frame at the top: its upvalues and locals.
** The values are held weakly where the failure may go without a report.
*/
static void addvariables(lua_State *L, lua_State *from, lua_Debug *ar,
                         bool weak) {
  const char *name;
  lua_getinfo(from, "f", ar);
  take(L, from);
  lua_newtable(L);
  lua_newtable(L);
  if (weak) {
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  for (int i = 1; i <= MAXVARS; i++) {
    name = lua_getupvalue(L, -3, i);
    if (name == NULL)
      break;
    addvariable(L, name);
  }
  for (int i = 1; i <= MAXVARS; i++) {
    name = lua_getlocal(from, ar, i);
    if (name == NULL)
      break;
    take(L, from);
    addvariable(L, name);
  }
  lua_setfield(L, -4, "values");
  lua_setfield(L, -3, "vars");
  lua_pop(L, 1); /* the function */
}

/* Adds a level as a frame to the list at the top. */
static void addframe(lua_State *L, lua_State *from, int level, bool weak) {
  lua_Debug ar;
  if (!lua_getstack(from, level, &ar))
    return;
  lua_getinfo(from, "Slnt", &ar);
  lua_createtable(L, 0, 9);
  clsh_field_string(L, "source", ar.source);
  clsh_field_string(L, "short", ar.short_src);
  clsh_field_string(L, "what", ar.what);
  clsh_field_string(L, "name", ar.name);
  clsh_field_string(L, "namewhat", ar.namewhat);
  clsh_field_integer(L, "line", ar.currentline);
  clsh_field_integer(L, "defined", ar.linedefined);
  clsh_field_boolean(L, "tail", ar.istailcall);
  if (level < SEEN && *ar.what != 'C' && lua_checkstack(from, 4))
    addvariables(L, from, &ar, weak);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* The count of levels, by bisection: finding a level costs its depth. */
static int depth(lua_State *L) {
  lua_Debug ar;
  int low = 0, high = 1;
  while (lua_getstack(L, high, &ar)) {
    low = high;
    high *= 2;
  }
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (lua_getstack(L, middle, &ar))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether a coroutine's failure, at the top, led to the error at `idx`. */
static bool ledto(lua_State *L, int idx) {
  if (!lua_istable(L, -1))
    return false;
  lua_getfield(L, -1, "value");
  bool same = lua_rawequal(L, -1, idx);
  if (lua_type(L, -1) == LUA_TSTRING && lua_type(L, idx) == LUA_TSTRING) {
    size_t n, m;
    const char *inner = lua_tolstring(L, -1, &n);
    const char *outer = lua_tolstring(L, idx, &m);
    same = m >= n && memcmp(outer + m - n, inner, n) == 0;
  }
  lua_pop(L, 1);
  return same;
}

/*
** Pushes {value, frames, skipped} of the error value at `idx` and the stack
** of `from` above `level`; `skipped` levels are missing after frame HEAD.
*/
static void pushrecord(lua_State *L, int idx, lua_State *from, int level,
                       bool weak) {
  int n = depth(from);
  lua_createtable(L, 0, 6);
  lua_pushvalue(L, idx);
  lua_setfield(L, -2, "value");
  if (lua_getfield(L, LUA_REGISTRYINDEX, INNER), ledto(L, idx))
    lua_setfield(L, -2, "inner");
  else
    lua_pop(L, 1);
  lua_pushboolean(L, false);
  lua_setfield(L, LUA_REGISTRYINDEX, INNER);
  lua_newtable(L);
  int skip = n - level - HEAD - TAIL;
  for (int i = level; i < n; i++) {
    if (skip > 0 && i == level + HEAD)
      i += skip;
    addframe(L, from, i, weak);
  }
  lua_setfield(L, -2, "frames");
  clsh_field_integer(L, "skipped", skip > 0 ? skip : 0);
}

/*
** Records the error at `idx`, raised in the function that called. An error
** of a __close handler, while another error is on its way, keeps the record of
** the first error as its field `before`.
*/
void clsh_traceback_keep(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  pushrecord(L, idx, L, 1, false);
  if (lua_getfield(L, LUA_REGISTRYINDEX, FAILURE) == LUA_TTABLE)
    lua_setfield(L, -2, "before");
  else
    lua_pop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, FAILURE);
}

/* Records the failure of coroutine `co`, whose error is on its top. */
void clsh_traceback_keepcoroutine(lua_State *L, lua_State *co) {
  lua_Debug ar;
  if (!lua_getstack(co, 0, &ar) || !lua_checkstack(L, LUA_MINSTACK))
    return;
  lua_pushvalue(co, -1);
  lua_xmove(co, L, 1);
  pushrecord(L, lua_gettop(L), co, 0, true);
  lua_setfield(L, LUA_REGISTRYINDEX, INNER);
  lua_pop(L, 1);
}

/*
** clshell.failure.keep(e) -> e: a message handler for clshell's own xpcall.
** Where the error is raised again, the report has the first stack.
*/
static int failure_keep(lua_State *L) {
  lua_settop(L, 1);
  pushrecord(L, 1, L, 1, true);
  clsh_field_boolean(L, "whole", true);
  lua_setfield(L, LUA_REGISTRYINDEX, INNER);
  return 1;
}

static int failure_load(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, failure_keep);
  lua_setfield(L, -2, "keep");
  return 1;
}

/* Offers module clshell.failure, which only the program has. */
void clsh_traceback_open(lua_State *L) {
  clsh_traceback_drop(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, failure_load);
  lua_setfield(L, -2, PROGRAM ".failure");
  lua_pop(L, 1);
}

/*
** Forgets the last failures. The keys stay, so that this allocates nothing
** but the first time.
*/
void clsh_traceback_drop(lua_State *L) {
  lua_pushboolean(L, false);
  lua_setfield(L, LUA_REGISTRYINDEX, FAILURE);
  lua_pushboolean(L, false);
  lua_setfield(L, LUA_REGISTRYINDEX, INNER);
}

/*
** Keeps the text of a chunk that is no file, for excerpts. Two texts under
** one name (two options -e) make it unknown.
*/
void clsh_traceback_remember(lua_State *L, const char *chunkname,
                             const char *text) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, CHUNKS);
  lua_getfield(L, -1, chunkname);
  const char *before = lua_tostring(L, -1);
  if (before != NULL && strcmp(before, text) != 0)
    lua_pushboolean(L, false);
  else
    lua_pushstring(L, text);
  lua_setfield(L, -3, chunkname);
  lua_pop(L, 2);
}
