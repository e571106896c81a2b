/*
** repl.c - the interactive shell: reads a chunk, runs it, prints results.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "clshell.h"
#include "lineedit.h"
#include "repl.h"

#define EOFMARK "<eof>"

/* Whether a chunk failed to compile only because more has to come. */
static bool incomplete(lua_State *L, int status) {
  size_t len, tail = sizeof EOFMARK - 1;
  if (status != LUA_ERRSYNTAX)
    return false;
  const char *msg = lua_tolstring(L, -1, &len);
  return len >= tail && strcmp(msg + len - tail, EOFMARK) == 0;
}

/* Pushes `code`, compiled as an expression, or a message. */
int clsh_loadexpression(lua_State *L, const char *code, const char *name) {
  const char *chunk = lua_pushfstring(L, "return %s", code);
  int status = luaL_loadbuffer(L, chunk, strlen(chunk), name);
  lua_remove(L, -2);
  return status;
}

/*
** Compiles the chunk at 1, as an expression if it can be one. Sets `*more`
** if it is the beginning of either an expression or a statement.
*/
static int compile(lua_State *L, bool *more) {
  const char *chunk = lua_tostring(L, 1);
  bool equals = *chunk == '=';
  int status = clsh_loadexpression(L, chunk + equals, "=stdin");
  *more = incomplete(L, status);
  if (status == LUA_OK || equals)
    return status;
  lua_pop(L, 1);
  status = luaL_loadbuffer(L, chunk, strlen(chunk), "=stdin");
  *more = *more || incomplete(L, status);
  if (status == LUA_OK)
    *more = false;
  return status;
}

/* Whether the chunk at 1 is just `word`, with or without a call. */
static bool isword(lua_State *L, const char *word) {
  const char *s = lua_tostring(L, 1);
  size_t n = strlen(word);
  s += strspn(s, " \t");
  if (strncmp(s, word, n) != 0)
    return false;
  s += n;
  s += strncmp(s, "()", 2) == 0 ? 2 : 0;
  return s[strspn(s, " \t")] == '\0';
}

static bool isglobal(lua_State *L, const char *name) {
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  bool yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

/*
** Words that people type: exit and quit, unless the user has variables of
** these names, leave; help is a call. True to leave.
*/
static bool bareword(lua_State *L) {
  static const char *const leave[] = {"exit", "quit"};
  for (int i = 0; i < 2; i++)
    if (isword(L, leave[i]) && !isglobal(L, leave[i]))
      return true;
  if (isword(L, "help")) {
    lua_pushliteral(L, "help()");
    lua_replace(L, 1);
  }
  return false;
}

/* complete(text): whether Enter ends the input. */
static int complete(lua_State *L) {
  bool more;
  luaL_checkstring(L, 1);
  compile(L, &more);
  lua_pushboolean(L, !more);
  return 1;
}

/*
** Reads a chunk and compiles it: what is on the stack afterwards is the
** function, or a message, or nothing to do.
*/
static Input pushchunk(lua_State *L, int *status) {
  bool more;
  Input input = clsh_edit(L);
  if (input != INPUT_TEXT)
    return input;
  if (bareword(L))
    return INPUT_END;
  *status = compile(L, &more);
  lua_remove(L, 1);
  return INPUT_TEXT;
}

/* Prints the values from stack index `first` up, by the global print. */
int clsh_printresults(lua_State *L, int first) {
  int n = lua_gettop(L) - first + 1;
  if (n == 0)
    return LUA_OK;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, first);
  return clsh_docall(L, n, 0);
}

/* Reads and runs chunks until the input ends. */
void clsh_repl(lua_State *L, bool quiet) {
  lua_settop(L, 0);
  lua_getglobal(L, "require");
  lua_pushliteral(L, PROGRAM ".prompt.edit");
  lua_call(L, 1, 1);
  lua_pushcfunction(L, complete);
  lua_setfield(L, -2, "complete");
  if (clsh_openedit(L) && !quiet)
    printf(PROGRAM " " CLSHELL_VERSION " (" LUA_RELEASE ")"
                   "   help() shows the way, Ctrl-D leaves\n");
  while (!clsh_expired()) {
    int status = LUA_OK;
    lua_settop(L, 0);
    Input input = pushchunk(L, &status);
    if (input == INPUT_END)
      break;
    if (input == INPUT_CANCEL)
      continue;
    if (status == LUA_OK)
      status = clsh_docall(L, 0, LUA_MULTRET);
    if (status == LUA_OK)
      status = clsh_printresults(L, 1);
    if (status != LUA_OK)
      clsh_report(L, NULL);
  }
  lua_settop(L, 0);
}
