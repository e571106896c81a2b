/*
** statement.c - what every editor has: the questions to Lua, and statements
** that are read line by line where nothing can be edited.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/cl.h"
#include "lineedit.h"
#include "shell/repl.h"

static const char ASKEDKEY = 0; /* a key by its address */

/* Takes the table of functions off the stack. */
void clsh_setasked(lua_State *L) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ASKEDKEY);
}

/*
** Calls the asked function of that name with the `narg` values on the top,
** without the user's hook. False, with nothing pushed, where there is none
** or it fails.
*/
bool clsh_ask(lua_State *L, const char *name, int narg, int nres) {
  int base = lua_gettop(L) - narg;
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  bool done = false;
  lua_sethook(L, NULL, 0, 0);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ASKEDKEY);
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

/* Whether the text on the top is complete: with nobody to ask it is. */
bool clsh_iscomplete(lua_State *L) {
  lua_pushvalue(L, -1);
  if (!clsh_ask(L, "complete", 1, 1))
    return true;
  bool yes = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return yes;
}

/* Reads a line and pushes it; pushes nothing if there is none. */
static Input pushline(lua_State *L, const char *prompt) {
  char *line = NULL;
  size_t size = 0;
  fputs(prompt, stdout);
  fflush(stdout);
  ssize_t n = getline(&line, &size, stdin);
  bool interrupted = n < 0 && clsh_interrupt;
  clsh_endinterrupt(L);
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
Input clsh_plainedit(lua_State *L, bool terminal, const char *draft) {
  if (draft != NULL) {
    lua_pushstring(L, draft);
    return INPUT_TEXT;
  }
  Input input = pushline(L, terminal ? PROMPT : "");
  if (input != INPUT_TEXT)
    return input;
  while (!clsh_iscomplete(L)) {
    input = pushline(L, terminal ? PROMPT2 : "");
    if (input == INPUT_END)
      break; /* the message says what is missing */
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
