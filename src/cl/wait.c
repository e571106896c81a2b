/*
** wait.c - waiting for commands and for time to pass. No wait sits in the
** driver: a wait polls, so that Ctrl-C works.
** SPDX-License-Identifier: MIT
*/
#include <time.h>

#include "cl.h"
#include "process.h"

double clsh_wait_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The execution status of a command; a failed query counts as failure. */
cl_int clsh_wait_status(cl_event e) {
  cl_int status = CL_COMPLETE;
  cl_int err = clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof status, &status, NULL);
  return err != CL_SUCCESS ? err : status;
}

/*
** Waits until done(what): spins for 20 us, then sleeps a 32nd of the time
** passed, 1 ms at most. Ctrl-C raises, with the hint.
*/
void clsh_wait_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint) {
  lua_Hook before = lua_gethook(L);
  double start = clsh_wait_now();
  while (!done(what)) {
    double passed = clsh_wait_now() - start;
    clsh_poll_check(L, before, hint);
    if (passed < 20e-6)
      continue;
    double nap = passed / 32 < 1e-3 ? passed / 32 : 1e-3;
    struct timespec t = {0, (long)(nap * 1e9)};
    nanosleep(&t, NULL);
  }
}

/* A command, and its status when last asked for. */
typedef struct Command {
  cl_event handle;
  cl_int status;
} Command;

static bool hasended(void *arg) {
  Command *c = arg;
  c->status = clsh_wait_status(c->handle);
  return c->status <= CL_COMPLETE;
}

/* Waits for a handle to end and returns its status. */
cl_int clsh_wait_event(lua_State *L, cl_event handle) {
  Command c = {handle, CL_QUEUED};
  clsh_wait_until(L, hasended, &c,
                  "OpenCL cannot cancel a command: it goes on");
  return c.status;
}

static bool istime(void *arg) {
  return clsh_wait_now() >= *(double *)arg;
}

/** cl.sleep(seconds)
 * Waits; the processor is idle meanwhile. Ctrl-C ends the wait.
 */
static int cl_sleep(lua_State *L) {
  double end = clsh_wait_now() + luaL_checknumber(L, 1);
  clsh_wait_until(L, istime, &end, NULL);
  return 0;
}

void clsh_wait_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"sleep", cl_sleep}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
