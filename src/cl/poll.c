/*
** poll.c - Ctrl-C in C code: waits and long loops ask here whether it came.
** SPDX-License-Identifier: MIT
*/
#include "cl.h"
#include "object.h"
#include "process.h"

volatile sig_atomic_t clsh_poll_interrupt;
int (*clsh_poll_swap)(lua_State *L, int state);

static unsigned interrupts;

/* The number of interrupts so far. */
unsigned clsh_poll_interrupts(void) {
  return interrupts;
}

/* Raises what Ctrl-C raises, with a hint or NULL. */
void clsh_poll_raise(lua_State *L, const char *hint) {
  clsh_poll_interrupt = 0;
  interrupts++;
  clsh_error_push(L, CL_SUCCESS, NULL, "interrupted!");
  lua_pushliteral(L, "INTERRUPTED");
  lua_setfield(L, -2, "name");
  lua_pushstring(L, hint);
  lua_setfield(L, -2, "hint");
  lua_error(L);
}

/** cl.undisturbed(f, ...) -> what f returns
 * Calls f(...) as if Ctrl-C had not been pressed. The error of a Ctrl-C is
 * raised again soon in code that caught it, so that no loop around pcall
 * goes on; `f` can print or save something first. A Ctrl-C during f raises
 * in f.
 */
static int cl_undisturbed(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  int state = clsh_poll_swap != NULL ? clsh_poll_swap(L, 0) : 0;
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (state != 0)
    clsh_poll_swap(L, state);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/*
** Raises if Ctrl-C came: clshell's handler sets the flag, that of the stock
** interpreter sets a hook, which then has done its work.
*/
void clsh_poll_check(lua_State *L, lua_Hook before, const char *hint) {
  if (!clsh_poll_interrupt && lua_gethook(L) == before)
    return;
  if (!clsh_poll_interrupt)
    lua_sethook(L, NULL, 0, 0);
  clsh_poll_raise(L, hint);
}

/* Long loops call it now and then, so that Ctrl-C ends them. */
void clsh_poll(lua_State *L) {
  if (clsh_poll_interrupt != 0)
    clsh_poll_raise(L, NULL);
}

void clsh_poll_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"undisturbed", cl_undisturbed},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
