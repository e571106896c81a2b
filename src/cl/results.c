/*
** results.c - the number of results that the caller of a function takes: a
** launch whose Event nobody takes asks the driver for none.
** SPDX-License-Identifier: MIT
*/
#include <stddef.h>
#include <string.h>

#include "queue.h"

/*
** What Lua 5.4 keeps of a call under way, up to the number of results that the
** caller takes. No function of Lua tells that number, so it is read here.
*/
typedef struct Call {
  void *function, *top, *previous, *next;
  void *continuation;
  ptrdiff_t handler;
  lua_KContext context;
  int more;
  short results; /* below 0: all, or not known */
} Call;

static bool known; /* whether the number is where Call has it */

static int resultsof(lua_State *L, int level) {
  lua_Debug ar;
  short n = -1;
  if (lua_getstack(L, level, &ar))
    memcpy(&n, (char *)ar.i_ci + offsetof(Call, results), sizeof n);
  return n;
}

/*
** Whether the caller of the function at `level`, 0: the C function that runs,
** takes result number `i`. True where that is not known.
*/
bool clsh_results_taken(lua_State *L, int level, int i) {
  int n = known ? resultsof(L, level) : -1;
  return n < 0 || n >= i;
}

/* The hook taken, see hook.c. */
static int taken(lua_State *L) {
  lua_pushboolean(L, clsh_results_taken(L, 1, (int)luaL_checkinteger(L, 1)));
  return 1;
}

static int try(lua_State *L) {
  known = known && resultsof(L, 0) == lua_tointeger(L, 1);
  return 0;
}

/* Asks calls of known numbers of results whether Call has the number. */
void clsh_results_open(lua_State *L) {
  static const int numbers[] = {0, 1, 2, 23, LUA_MULTRET};
  int top = lua_gettop(L);
  known = true;
  for (int i = 0; i < 5; i++) {
    lua_pushcfunction(L, try);
    lua_pushinteger(L, numbers[i]);
    lua_call(L, 1, numbers[i]);
    lua_settop(L, top);
  }
  lua_pushcfunction(L, taken);
  clsh_hook_set(L, "taken");
}
