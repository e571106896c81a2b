/*
** statement.c - parts of both editors: calls of the session's functions, and
** statements that are read line by line.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cl/cl.h"
#include "editor.h"

const Shell *clsh_statement_shell;

static const char FUNCTIONS = 0; /* a key by its address */
static bool terminal;            /* input has prompts */

/* Pops the session's functions; returns whether input has prompts. */
bool clsh_statement_open(lua_State *L, const Shell *shell) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, &FUNCTIONS);
  clsh_statement_shell = shell;
  terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  return terminal;
}

/*
** Calls the session's function `name` with the `narg` values on the top,
** without the user's hook. Pops the values and returns false where there is
** no such function or it fails.
*/
bool clsh_statement_ask(lua_State *L, const char *name, int narg, int nres) {
  int base = lua_gettop(L) - narg;
  assert(base >= 0 && clsh_statement_shell != NULL);
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  bool done = false;
  lua_sethook(L, NULL, 0, 0);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTIONS);
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  lua_replace(L, -2);
  lua_insert(L, base + 1);
  if (lua_isfunction(L, base + 1))
    done = lua_pcall(L, narg, nres, 0) == LUA_OK;
  if (!done)
    lua_settop(L, base);
  lua_sethook(L, hook, mask, count);
  return done;
}

/*
** Whether the text on the top is complete, as far as the session knows; sets
** *first, unless it is NULL, to the bytes of the first of several inputs.
*/
bool clsh_statement_complete(lua_State *L, size_t *first) {
  lua_pushvalue(L, -1);
  if (!clsh_statement_ask(L, "complete", 1, 2))
    return true;
  bool yes = lua_toboolean(L, -2);
  if (first != NULL && lua_isinteger(L, -1))
    *first = (size_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return yes;
}

/* Reads a line and pushes it; pushes nothing at the end of the input. */
static Input pushline(lua_State *L, const char *prompt) {
  char *line = NULL;
  size_t size = 0;
  fputs(prompt, stdout);
  fflush(stdout);
  ssize_t n = getline(&line, &size, stdin);
  bool interrupted = n < 0 && clsh_poll_interrupt;
  clsh_statement_shell->endinterrupt(L);
  if (n >= 0)
    lua_pushlstring(L, line, (size_t)n - (n > 0 && line[n - 1] == '\n'));
  free(line);
  if (n >= 0)
    return INPUT_TEXT;
  clearerr(stdin);
  if (*prompt != '\0')
    putchar('\n');
  return interrupted ? INPUT_CANCEL : INPUT_END;
}

/* Reads a statement line by line, with prompts on a terminal. */
Input clsh_statement_read(lua_State *L, const char *draft) {
  if (draft != NULL) {
    lua_pushstring(L, draft);
    return INPUT_TEXT;
  }
  Input input = pushline(L, terminal ? PROMPT : "");
  if (input != INPUT_TEXT)
    return input;
  while (!clsh_statement_complete(L, NULL)) {
    input = pushline(L, terminal ? PROMPT2 : "");
    if (input == INPUT_END)
      break; /* the message names the missing part */
    if (input == INPUT_CANCEL) {
      lua_pop(L, 1);
      return input;
    }
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
  return INPUT_TEXT;
}
