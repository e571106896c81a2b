/*
** cl.c - opens module `cl`: every class, and what belongs to none.
** SPDX-License-Identifier: MIT
*/
#include <sys/ioctl.h>
#include <unistd.h>

#include "clshell.h"

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

/** cl.winsize(fd) -> columns, rows
 * The size of the terminal window behind a file descriptor; nil if it is
 * no terminal or does not tell.
 */
static int cl_winsize(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  struct winsize w;
  if (fd < 0 || fd >= 1024 || ioctl((int)fd, TIOCGWINSZ, &w) != 0 ||
      w.ws_col == 0)
    return 0;
  lua_pushinteger(L, w.ws_col);
  lua_pushinteger(L, w.ws_row);
  return 2;
}

int luaopen_cl(lua_State *L) {
  static const luaL_Reg functions[] = {{"isatty", cl_isatty},
                                       {"now", cl_now},
                                       {"winsize", cl_winsize},
                                       {NULL, NULL}};
  luaL_checkversion(L);
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  clsh_openerror(L);
  clsh_openclass(L);
  clsh_openchoice(L);
  clsh_opentype(L);
  clsh_openarray(L);
  clsh_openhost(L);
  clsh_openfolder(L);
  clsh_opendevice(L);
  clsh_openselect(L);
  clsh_opensystem(L);
  clsh_opencontext(L);
  clsh_openqueue(L);
  clsh_openunfinished(L);
  clsh_openwait(L);
  clsh_openevent(L);
  clsh_openbuffer(L);
  clsh_openprogram(L);
  clsh_openkernel(L);
  clsh_openarg(L);
  clsh_openlaunch(L);
  lua_pushliteral(L, CLSHELL_VERSION);
  lua_setfield(L, -2, "version");
  return 1;
}
