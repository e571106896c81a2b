/*
** exit.c - the end of the program while the device is still at work. Nothing
** cancels a command, and a driver may wait for it when its objects are
** released. So they are not released: the process ends without the driver's
** own clean-up, and the commands end with it.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "cl/cl.h"
#include "shell.h"

#define PATIENCE 0.1 /* seconds for commands that are nearly done */
#define SILENCE 2.0  /* seconds of waiting without a message */

void (*clsh_exit_library)(int code);

static lua_CFunction exitlua; /* os.exit of Lua's library */
static bool left;
static bool unwritten; /* the hook `leaving` failed */

/* Protected: clsh_pending_count(PATIENCE, abandoned). */
static int count(lua_State *L) {
  bool abandoned = lua_toboolean(L, 1);
  lua_pushinteger(L, clsh_pending_count(L, PATIENCE, abandoned));
  return 1;
}

static lua_Integer unfinished(lua_State *L, bool abandoned) {
  lua_pushcfunction(L, count);
  lua_pushboolean(L, abandoned);
  lua_Integer n = 0;
  if (lua_pcall(L, 1, 1, 0) == LUA_OK)
    n = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return n;
}

/* Protected: whether there is a thread that waits in the driver. */
static int startfinish(lua_State *L) {
  lua_pushboolean(L, clsh_pending_finish(L));
  return 1;
}

/* Protected: the name of a kernel under way, or nil. */
static int kernelname(lua_State *L) {
  clsh_pending_pushkernel(L);
  return 1;
}

/* Tells how many commands the end waits for, and how to end the wait. */
static void tell(lua_State *L) {
  lua_Integer n = unfinished(L, false);
  if (n == 0)
    return;
  lua_pushcfunction(L, kernelname);
  bool named = lua_pcall(L, 0, 1, 0) == LUA_OK && lua_isstring(L, -1);
  fputs(PROGRAM ": waiting for ", stderr);
  if (named && n == 1)
    fprintf(stderr, "kernel '%s'", lua_tostring(L, -1));
  else
    fprintf(stderr, "%lld command%s", (long long)n, n == 1 ? "" : "s");
  fputs(" on the device", stderr);
  if (named && n > 1)
    fprintf(stderr, ", kernel '%s' among them", lua_tostring(L, -1));
  fprintf(stderr, "; Ctrl-C or kill %ld ends it\n", (long)getpid());
  lua_pop(L, 1);
}

/* Waits for the commands not abandoned, as long as --timeout lets it. */
static void await(lua_State *L) {
  if (unfinished(L, false) == 0)
    return;
  lua_pushcfunction(L, startfinish);
  bool started = lua_pcall(L, 0, 1, 0) == LUA_OK && lua_toboolean(L, -1);
  lua_pop(L, 1);
  double start = clsh_poll_now();
  bool told = false;
  while (started && !clsh_pending_finished() && !clsh_timeout_expired()) {
    if (!told && clsh_poll_now() > start + SILENCE) {
      told = true;
      tell(L);
    }
    clsh_poll_nap(1e-3);
  }
}

/* Protected: the hook `leaving`, which writes what is to be kept. */
static int callleaving(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, "cl.hooks");
  if (lua_getfield(L, -1, "leaving") == LUA_TFUNCTION)
    lua_call(L, 0, 0);
  return 0;
}

static void leaving(lua_State *L) {
  clsh_interrupt_end(L); /* the file is written after a Ctrl-C as well */
  lua_pushcfunction(L, callleaving);
  if (lua_pcall(L, 0, 0, 0) == LUA_OK)
    return;
  unwritten = true;
  fprintf(stderr, PROGRAM ": %s\n", luaL_tolstring(L, -1, NULL));
  lua_pop(L, 2);
}

/*
** To be called before lua_close, without a handler for Ctrl-C: waits for the
** commands under way. It gives up commands that a Ctrl-C has abandoned or that
** have no time left, and says so.
*/
void clsh_exit_leave(lua_State *L) {
  fflush(stdout);
  clsh_restart_stage(RESTART_NEVER);
  clsh_interrupt_close();
  clsh_event_failall();
  if (!clsh_timeout_expired())
    await(L);
  leaving(L);
  lua_Integer n = clsh_poll_interrupts() > 0 ? unfinished(L, true) : 0;
  if (clsh_timeout_expired())
    n += unfinished(L, false);
  if (n == 0)
    return;
  left = true;
  clsh_driver_abandon();
  fprintf(stderr,
          PROGRAM ": %lld command%s still running on the device, "
                  "given up\n",
          (long long)n, n == 1 ? "" : "s");
}

/*
** At every exit, os.exit included: removes the journal, and reports output
** that could not be written. A reader that closed the pipe needs no message.
*/
static void closeout(void) {
  clsh_interrupt_close();
  clsh_journal_remove();
  errno = 0;
  clsh_lines_end();
  if (fflush(stdout) == 0 && !ferror(stdout)) {
    if (unwritten)
      _exit(EXIT_SCRIPT);
    return;
  }
  int error = errno;
  struct pollfd fd = {STDOUT_FILENO, POLLOUT, 0};
  if (error == EPIPE || (poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR)))
    _exit(EXIT_PIPE);
  fprintf(stderr, PROGRAM ": cannot write standard output%s%s\n",
          error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
  _exit(EXIT_SCRIPT);
}

/* Makes every exit of the process check its output. */
void clsh_exit_begin(void) {
  atexit(closeout);
}

/* Ends the process if clsh_exit_leave() gave up commands. */
void clsh_exit_end(int code) {
  if (left) {
    closeout();
    _exit(code);
  }
}

static int os_exit(lua_State *L) {
  int code = lua_isboolean(L, 1)
                 ? (lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE)
                 : (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
  clsh_exit_leave(L); /* from here on nothing raises */
  if (clsh_exit_library != NULL)
    clsh_exit_library(code);
  if (left) {
    if (lua_toboolean(L, 2))
      lua_close(L);
    clsh_exit_end(code);
  }
  return exitlua(L);
}

void clsh_exit_open(lua_State *L) {
  exitlua = clsh_interrupt_replace(L, LUA_OSLIBNAME, "exit", os_exit);
}
