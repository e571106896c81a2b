/*
** host.c - opens module cl: the classes of src/cl, and cl.host.
** SPDX-License-Identifier: MIT
*/
#include "host.h"

#include "cl/cl.h"
#include "hostcheck.h"

int luaopen_cl(lua_State *L) {
  clsh_opencl(L);
  lua_newtable(L);
  clsh_openblas(L);
  clsh_openhostconvert(L);
  clsh_openhostgemm(L);
  clsh_openhostloop(L);
  clsh_openhostsparse(L);
  clsh_openhosttranspose(L);
  lua_setfield(L, -2, "host");
  return 1;
}
