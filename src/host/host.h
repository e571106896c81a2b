/*
** host.h - what folder host/ offers: module cl.host.
** SPDX-License-Identifier: MIT
*/
#ifndef host_h
#define host_h

#include <lua.h>

/* require "cl.host"; stock Lua finds cl.so by the root of the name */
int luaopen_cl_host(lua_State *L);

#endif
