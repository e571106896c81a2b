/*
** cl.c - opens module cl: every class, and functions that belong to none.
** SPDX-License-Identifier: MIT
*/
#include <unistd.h>

#include "buffer.h"
#include "device.h"
#include "image.h"
#include "kernel.h"
#include "program.h"
#include "sensor.h"
#include "timeline.h"

/** cl.now() -> number
 * Seconds on the host's monotonic clock, as a float.
 * Example:
 * local before = cl.now()
 * local sum = 0
 * for i = 1, 1000 do sum = sum + i end
 * print(sum, cl.now() >= before) --> 500500 true
 */
static int cl_now(lua_State *L) {
  lua_pushnumber(L, clsh_poll_now());
  return 1;
}

bool clsh_cl_piped;

/** cl.isatty(fd) -> boolean
 * Whether a file descriptor (0 input, 1 output, 2 errors) is a terminal of
 * the user's: none is in a process that mpirun started among several.
 * Example: print(cl.isatty(1) and "a terminal" or "a pipe or a file")
 */
static int cl_isatty(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  lua_pushboolean(L,
                  !clsh_cl_piped && fd >= 0 && fd < 1024 && isatty((int)fd));
  return 1;
}

int luaopen_cl(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"isatty", cl_isatty}, {"now", cl_now}, {NULL, NULL}};
  /* each may add to classes before it */
  static void (*const open[])(lua_State * L) = {
      clsh_hook_open,    clsh_error_open,    clsh_class_open,
      clsh_nearest_open, clsh_option_open,   clsh_type_open,
      clsh_array_open,   clsh_device_open,   clsh_context_open,
      clsh_queue_open,   clsh_pending_open,  clsh_poll_open,
      clsh_results_open, clsh_event_open,    clsh_wait_open,
      clsh_buffer_open,  clsh_transfer_open, clsh_image_open,
      clsh_kernel_open,  clsh_arg_open,      clsh_commandbuffer_open,
      clsh_launch_open,  clsh_program_open,  clsh_build_open,
      clsh_rebuild_open, clsh_typedef_open,  clsh_sensor_open,
      clsh_timeline_open};
  luaL_checkversion(L);
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  for (size_t i = 0; i < sizeof open / sizeof *open; i++)
    open[i](L);
  lua_pushliteral(L, CLSHELL_VERSION);
  lua_setfield(L, -2, "version");
  return 1;
}
