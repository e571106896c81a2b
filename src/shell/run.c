/*
** run.c - runs Lua code and reports its errors.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "shell.h"

#define WORDS PROGRAM ".shell.prompt.errors" /* words the report */

/* The exit code for the error value at the top of the stack. */
static int errorcode(lua_State *L) {
  if (clsh_interrupt_test(L, -1))
    return EXIT_INTERRUPT;
  if (lua_type(L, -1) != LUA_TTABLE)
    return EXIT_SCRIPT;
  lua_pushliteral(L, "name");
  lua_rawget(L, -2);
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  bool nodevice = strcmp(name, "CL_DEVICE_NOT_FOUND") == 0;
  lua_pop(L, 1);
  return nodevice ? EXIT_DEVICE : EXIT_SCRIPT;
}

/*
** Records the stack while it is there. The error value goes on unchanged,
** for __close handlers.
*/
static int msghandler(lua_State *L) {
  if (!clsh_interrupt_test(L, 1))
    clsh_traceback_keep(L, 1);
  lua_settop(L, 1);
  return 1;
}

/*
** Calls the function below narg arguments: the only door to running code.
** Outside the call nothing raises, not even for lack of memory.
*/
int clsh_run_call(lua_State *L, int narg, int nres) {
  int base = lua_gettop(L) - narg;
  clsh_traceback_drop(L);
  lua_pushcfunction(L, msghandler);
  lua_insert(L, base);
  int status = lua_pcall(L, narg, nres, base);
  lua_remove(L, base);
  clsh_interrupt_end(L);
  return status;
}

/* Pushes the module `name`, or the error, as clsh_run_call does. */
int clsh_run_require(lua_State *L, const char *name) {
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  return clsh_run_call(L, 1, 1);
}

/* (value, progname) -> the report, by the module made for it. */
static int inwords(lua_State *L) {
  lua_settop(L, 2);
  lua_getglobal(L, "require");
  lua_pushliteral(L, WORDS);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "report");
  lua_insert(L, 1);
  lua_settop(L, 3);
  lua_call(L, 2, 1);
  return 1;
}

/* (value, progname) -> the message alone: where the module cannot be had. */
static int totext(lua_State *L) {
  const char *progname = lua_tostring(L, 2);
  const char *msg = luaL_tolstring(L, 1, NULL);
  lua_pushfstring(L, "%s%s%s", progname != NULL ? progname : "",
                  progname != NULL ? ": " : "", msg);
  return 1;
}

/* (value, progname) -> the exit code for an error value, which is printed. */
static int printreport(lua_State *L) {
  static const lua_CFunction ways[] = {inwords, totext};
  const char *progname = lua_touserdata(L, 2);
  lua_settop(L, 1);
  int code = errorcode(L);
  bool worded = false;
  for (int i = 0; i < 2 && !worded; i++) {
    lua_settop(L, 1);
    lua_pushcfunction(L, ways[i]);
    lua_pushvalue(L, 1);
    lua_pushstring(L, progname);
    worded = lua_pcall(L, 2, 1, 0) == LUA_OK && lua_isstring(L, -1);
  }
  const char *text = lua_tostring(L, -1);
  if (!worded && progname != NULL)
    fprintf(stderr, "%s: ", progname);
  fprintf(stderr, "%s\n", text != NULL ? text : "(error without a message)");
  lua_pushinteger(L, code);
  return 1;
}

/*
** Prints and pops the error value of a failure; returns its exit code. Never
** raises: where there is no memory for the report, it says so.
*/
int clsh_run_report(lua_State *L, const char *progname) {
  int code = EXIT_SCRIPT;
  fflush(stdout);
  lua_pushcfunction(L, printreport);
  lua_insert(L, -2);
  lua_pushlightuserdata(L, (void *)progname);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK)
    code = (int)lua_tointeger(L, -1);
  else
    fputs(PROGRAM ": not enough memory\n", stderr);
  fflush(stderr);
  lua_pop(L, 1);
  return code;
}
