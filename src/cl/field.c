/*
** field.c - sets fields of the table at the top of the stack.
** SPDX-License-Identifier: MIT
*/
#include "cl.h"

/* NULL sets nothing. */
void clsh_field_string(lua_State *L, const char *name, const char *value) {
  if (value == NULL)
    return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

void clsh_field_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

void clsh_field_boolean(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}
