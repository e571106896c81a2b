/*
** system.h - what of the operating system Lua does not have.
** SPDX-License-Identifier: MIT
*/
#ifndef system_h
#define system_h

#include "cl.h"

/* folder.c */
void clsh_openfolder(lua_State *L);

/* system.c */
void clsh_opensystem(lua_State *L);

#endif
