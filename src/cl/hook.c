/*
** hook.c - the table cl.hooks of the registry: what module cl and the Lua
*files
** of clshell know of each other besides the names of the module. In stock Lua
** the table has the entries of C alone, and C does without the others.
**
** Lua sets, in lua/clshell/init.lua:
**   library         how the names of clshell's own chunks begin: errors tell
**                   the line of the user behind them
**   no_driver       text: the remedy where the loader finds no driver
**   word            (class, key) -> text or nil: a name of another library,
**                   such as NumPy, in the words of clshell
**   set_array       (array, value): Array:set without indexes
**   copy_way        (context, context, bytes, whether they share memory) ->
*way
**                   of a copy between two devices, see Buffer:copy, or nil
**   give_up         (): lets go of what is kept for later calls, as memory is
**                   short
** C sets:
**   result          (type, shape, context) -> Buffer, for a result of
**                   calculations: the first command that uses it is on the
**                   context's default queue
**   recording       the CommandBuffer of a cl.record that is under way, or nil
**   recorder        the thread that runs the function of that cl.record
** SPDX-License-Identifier: MIT
*/
#include "object.h"

#define HOOKS "cl.hooks"

/* Pushes an entry, and returns its type. */
int clsh_hook_push(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, HOOKS);
  int type = lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return type;
}

/* Sets an entry to the value at the top, which it pops. */
void clsh_hook_set(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, HOOKS);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}
