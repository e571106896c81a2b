/*
** cl.c - opens module cl: every class, and functions that belong to none.
** SPDX-License-Identifier: MIT
*/
#include <unistd.h>

#include "array.h"
#include "buffer.h"
#include "cl.h"
#include "context.h"
#include "device.h"
#include "kernel.h"
#include "object.h"
#include "process.h"
#include "program.h"
#include "queue.h"
#include "type.h"

/** cl.now() -> number
 * Seconds on the host's monotonic clock, as a float.
 */
static int cl_now(lua_State *L) {
  lua_pushnumber(L, clsh_now());
  return 1;
}

/** cl.isatty(fd) -> boolean
 * Whether a file descriptor (0 input, 1 output, 2 errors) is a terminal.
 */
static int cl_isatty(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  lua_pushboolean(L, fd >= 0 && fd < 1024 && isatty((int)fd));
  return 1;
}

int luaopen_cl(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"isatty", cl_isatty}, {"now", cl_now}, {NULL, NULL}};
  /* each may add to classes before it */
  static void (*const open[])(lua_State * L) = {
      clsh_openerror,     clsh_openclass,      clsh_opennearest,
      clsh_openchoice,    clsh_opentype,       clsh_openarray,
      clsh_openarrayinit, clsh_openarrayops,   clsh_openconvert,
      clsh_opendevice,    clsh_openselect,     clsh_opencontext,
      clsh_openqueue,     clsh_openunfinished, clsh_openpoll,
      clsh_openwait,      clsh_openevent,      clsh_openbuffer,
      clsh_openview,      clsh_opentransfer,   clsh_openbufferinit,
      clsh_openkernel,    clsh_openarg,        clsh_openlaunch,
      clsh_openprogram,   clsh_opencompile,    clsh_openbuild};
  luaL_checkversion(L);
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  for (size_t i = 0; i < sizeof open / sizeof *open; i++)
    open[i](L);
  lua_pushliteral(L, CLSHELL_VERSION);
  lua_setfield(L, -2, "version");
  return 1;
}
