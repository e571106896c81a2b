/*
** repl.c - the interactive shell: reads and runs inputs. The session, module
** clshell.shell.prompt, compiles them and prints their values.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "cl/cl.h"
#include "edit/edit.h"
#include "shell.h"

#define SESSION 1 /* stack index of module clshell.shell.prompt */

/*
** Pushes `code`, compiled as an expression, or a message. The variable to be
** closed prevents a tail call, so that tracebacks have this caller.
*/
int clsh_repl_load(lua_State *L, const char *code, const char *name) {
  const char *chunk =
      lua_pushfstring(L, "local _tail_ <close> = nil return %s", code);
  int status = luaL_loadbuffer(L, chunk, strlen(chunk), name);
  lua_remove(L, -2);
  return status;
}

/* Puts the session's function `name` below the narg values on the top. */
static void pushfunction(lua_State *L, const char *name, int narg) {
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  lua_getfield(L, SESSION, name);
  lua_insert(L, -(narg + 1));
}

static int call(lua_State *L, const char *name, int narg, int nres) {
  pushfunction(L, name, narg);
  return clsh_run_call(L, narg, nres);
}

/*
** Reports the error on the top; clsh_run_call would forget its traceback. A
** Ctrl-C ends a transcript that was pasted, any other error with %set paste.
*/
static void failed(lua_State *L) {
  pushfunction(L, "failed", 1);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK)
    clsh_run_report(L, NULL);
  else if (lua_toboolean(L, -1) && clsh_lineedit_drop())
    fputs("note: the later inputs of the paste did not run\n", stderr);
  clsh_interrupt_end(L);
}

/* Runs the function on the top; its values go to the session. */
static void runinput(lua_State *L) {
  int base = lua_gettop(L);
  int status = clsh_run_call(L, 0, LUA_MULTRET);
  if (status == LUA_OK)
    status = call(L, "shown", lua_gettop(L) - base + 1, 0);
  if (status != LUA_OK)
    failed(L);
}

/* Between two inputs: calls the functions of Event:on_complete. */
static void attend(lua_State *L) {
  lua_settop(L, SESSION);
  if (call(L, "poll", 0, 0) != LUA_OK)
    failed(L);
}

/* Runs the input at the top; false to leave. */
static bool input(lua_State *L) {
  if (call(L, "prepare", 1, 1) != LUA_OK)
    failed(L);
  else if (lua_isboolean(L, -1))
    return false;
  else if (lua_isfunction(L, -1))
    runinput(L);
  return true;
}

/* Pushes the module `name`; false: it fails, and that was reported. */
static bool pushmodule(lua_State *L, const char *name) {
  if (clsh_run_require(L, name) == LUA_OK)
    return true;
  clsh_run_report(L, PROGRAM);
  return false;
}

/* Before the first prompt: the banner, notes, the user's file. */
static void start(lua_State *L, bool terminal, bool quiet) {
  if (terminal && !quiet && !clsh_restart_began())
    printf(PROGRAM " " CLSHELL_VERSION " (" LUA_RELEASE ")"
                   "   ?help  %%commands  Ctrl-D quits\n");
  lua_pushboolean(L, terminal);
  if (call(L, "start", 1, 1) != LUA_OK)
    failed(L);
  else if (lua_isfunction(L, -1) && clsh_run_call(L, 0, 0) != LUA_OK)
    failed(L);
  if (call(L, "resume", 0, 0) != LUA_OK)
    failed(L);
  if (terminal)
    clsh_restart_stage(RESTART_PROMPT);
}

/* Reads an input, which begins with the draft that a command gave. */
static Input readinput(lua_State *L) {
  lua_pushnil(L);
  lua_getfield(L, SESSION, "draft");
  lua_insert(L, -2);
  lua_setfield(L, SESSION, "draft");
  Input what = clsh_lineedit_read(L, lua_tostring(L, SESSION + 1));
  lua_remove(L, SESSION + 1);
  return what;
}

/* Reads and runs inputs until they end. */
void clsh_repl_run(lua_State *L, bool quiet) {
  static const Shell shell = {clsh_timeout_expired, clsh_interrupt_end,
                              clsh_interrupt_restoreterminal};
  lua_settop(L, 0);
  if (!pushmodule(L, PROGRAM ".shell.prompt") ||
      !pushmodule(L, PROGRAM ".shell.prompt.edit"))
    return;
  start(L, clsh_lineedit_open(L, &shell), quiet);
  for (bool going = true; going && !clsh_timeout_expired();) {
    lua_settop(L, SESSION);
    Input what = readinput(L);
    if (what == INPUT_END)
      break;
    if (what == INPUT_TEXT)
      going = input(L);
    attend(L);
  }
  lua_settop(L, 0);
}
