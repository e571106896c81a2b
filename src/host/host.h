/*
** host.h - what folder host/ offers: module cl, with cl.host in it.
** SPDX-License-Identifier: MIT
*/
#ifndef host_h
#define host_h

#include <lua.h>

int luaopen_cl(lua_State *L);

#endif
