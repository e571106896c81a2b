/*
** host.c - opens module cl.host.
** SPDX-License-Identifier: MIT
*/
#include "host.h"

#include "hostcheck.h"

int luaopen_cl_host(lua_State *L) {
  lua_newtable(L);
  clsh_openblas(L);
  clsh_openhostconvert(L);
  clsh_openhostgemm(L);
  clsh_openhostloop(L);
  clsh_openhostsparse(L);
  clsh_openhosttranspose(L);
  return 1;
}
