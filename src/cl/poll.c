/*
** poll.c - Ctrl-C in C code: waits and long loops ask here whether it came. No
** wait for commands or for time to pass sits in the driver.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <time.h>

#include "object.h"
#include "process.h"

volatile sig_atomic_t clsh_poll_interrupt;
int (*clsh_poll_swap)(lua_State *L, int state);

static unsigned interrupts;

/* The number of interrupts so far. */
unsigned clsh_poll_interrupts(void) {
  return interrupts;
}

/* Raises what Ctrl-C raises, with a hint or NULL. */
void clsh_poll_raise(lua_State *L, const char *hint) {
  clsh_poll_interrupt = 0;
  interrupts++;
  clsh_error_push(L, CL_SUCCESS, NULL, "interrupted!");
  lua_pushliteral(L, "INTERRUPTED");
  lua_setfield(L, -2, "name");
  lua_pushstring(L, hint);
  lua_setfield(L, -2, "hint");
  lua_error(L);
}

/** cl.undisturbed(f, ...) -> what f returns
 * Calls f(...) as if Ctrl-C had not been pressed. The error of a Ctrl-C is
 * raised again soon in code that caught it, so that no loop around pcall
 * goes on; `f` can print or save something first. A Ctrl-C during f raises
 * in f.
 */
static int cl_undisturbed(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  int state = clsh_poll_swap != NULL ? clsh_poll_swap(L, 0) : 0;
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (state != 0)
    clsh_poll_swap(L, state);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/*
** Raises if Ctrl-C came: clshell's handler sets the flag, that of the stock
** interpreter sets a hook, which then has done its work.
*/
static void check(lua_State *L, lua_Hook before, const char *hint) {
  if (!clsh_poll_interrupt && lua_gethook(L) == before)
    return;
  if (!clsh_poll_interrupt)
    lua_sethook(L, NULL, 0, 0);
  clsh_poll_raise(L, hint);
}

/* Long loops call it now and then, so that Ctrl-C ends them. */
void clsh_poll(lua_State *L) {
  if (clsh_poll_interrupt != 0)
    clsh_poll_raise(L, NULL);
}

double clsh_poll_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cl_int query(cl_event e, cl_int *status) {
  return clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status,
                        status, NULL);
}

/* The execution status of a command, or STATUS_UNKNOWN. */
cl_int clsh_poll_status(cl_event e) {
  cl_int status = CL_QUEUED;
  return query(e, &status) == CL_SUCCESS ? status : STATUS_UNKNOWN;
}

/*
** Waits until done(what): spins for 20 us, then sleeps a 32nd of the time
** passed, 1 ms at most. Ctrl-C raises, with the hint.
*/
void clsh_poll_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint) {
  lua_Hook before = lua_gethook(L);
  double start = clsh_poll_now();
  while (!done(what)) {
    double passed = clsh_poll_now() - start;
    check(L, before, hint);
    if (passed < 20e-6)
      continue;
    double nap = passed / 32 < 1e-3 ? passed / 32 : 1e-3;
    struct timespec t = {0, (long)(nap * 1e9)};
    nanosleep(&t, NULL);
  }
}

/* A command, its status when last asked for, and whether that failed. */
typedef struct Command {
  cl_event handle;
  cl_int status, err;
} Command;

static bool hasended(void *arg) {
  Command *c = arg;
  c->err = query(c->handle, &c->status);
  return c->err != CL_SUCCESS || c->status <= CL_COMPLETE;
}

/* Waits for a handle to end; an error of OpenCL: its status is not known. */
cl_int clsh_poll_event(lua_State *L, cl_event handle, cl_int *status) {
  Command c = {handle, CL_QUEUED, CL_SUCCESS};
  clsh_poll_until(L, hasended, &c,
                  "OpenCL cannot cancel a command: it goes on");
  *status = c.status;
  return c.err;
}

void clsh_poll_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"undisturbed", cl_undisturbed},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
