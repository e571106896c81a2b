/*
** report.c - runs Lua code and tells the user what failed.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "clshell.h"
#include "repl.h"

#define MAXFRAMES 8 /* of a traceback below a module error */

static int failure = EXIT_SCRIPT; /* the code of the error on its way */

/*
** Appends where the running code was called from, without clshell's own
** files: the error itself has the innermost of these places already.
*/
static void addcallers(lua_State *L) {
  lua_Debug ar;
  int found = 0;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || strstr(ar.source, "lua/clshell/") != NULL)
      continue;
    if (++found == 1)
      continue;
    if (found > MAXFRAMES) {
      lua_pushliteral(L, "\n  ...");
      lua_concat(L, 2);
      break;
    }
    lua_pushfstring(L, "\n  called from %s:%d", ar.short_src, ar.currentline);
    lua_concat(L, 2);
  }
}

/* The exit code for the error value at the bottom of the stack. */
static int errorcode(lua_State *L) {
  if (clsh_isinterrupt(L, 1))
    return EXIT_INTERRUPT;
  if (lua_type(L, 1) != LUA_TTABLE)
    return EXIT_SCRIPT;
  lua_pushliteral(L, "name");
  lua_rawget(L, 1);
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  bool nodevice = strcmp(name, "CL_DEVICE_NOT_FOUND") == 0;
  lua_pop(L, 1);
  return nodevice ? EXIT_DEVICE : EXIT_SCRIPT;
}

/*
** Makes of an error value the text to report, while the stack is there. What
** Ctrl-C raises stays a table: __close handlers find in it what was measured.
*/
static int msghandler(lua_State *L) {
  failure = errorcode(L);
  const char *msg = lua_tostring(L, 1);
  if (msg == NULL) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
      if (failure == EXIT_INTERRUPT)
        lua_settop(L, 1);
      else
        addcallers(L);
      return 1;
    }
    msg = lua_pushfstring(L, "(error object is a %s value)",
                          luaL_typename(L, 1));
  }
  luaL_traceback(L, L, msg, 1);
  return 1;
}

/* Calls the function below narg arguments: the one door to running code. */
int clsh_docall(lua_State *L, int narg, int nres) {
  int base = lua_gettop(L) - narg;
  lua_pushcfunction(L, msghandler);
  lua_insert(L, base);
  int status = lua_pcall(L, narg, nres, base);
  lua_remove(L, base);
  clsh_endinterrupt(L);
  return status;
}

static int totext(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Prints and pops the message of a failure; returns its exit code. */
int clsh_report(lua_State *L, const char *progname) {
  if (lua_istable(L, -1)) {
    lua_pushcfunction(L, totext);
    lua_insert(L, -2);
    (void)lua_pcall(L, 1, 1, 0);
  }
  const char *msg = lua_tostring(L, -1);
  fflush(stdout);
  fprintf(stderr, "%s%s%s\n", progname != NULL ? progname : "",
          progname != NULL ? ": " : "",
          msg != NULL ? msg : "(error message is not a string)");
  fflush(stderr);
  lua_pop(L, 1);
  int code = failure;
  failure = EXIT_SCRIPT;
  return code;
}
