/*
** wait.c - waiting for commands. Nothing here sits in the driver: a wait
** polls, so that Ctrl-C works, and dropped commands are let go later.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <time.h>

#include "clshell.h"

volatile int clsh_interrupt;
int (*clsh_swapinterrupt)(lua_State *L, int state);

double clsh_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Host memory of commands whose Event was dropped before they ended. */
typedef struct Orphan {
  struct Orphan *next;
  cl_event handle;
  Block *pin;
} Orphan;

static Orphan *orphans;

/* The execution status of a command; a failed query is a failed command. */
cl_int clsh_eventstatus(cl_event e) {
  cl_int status = CL_COMPLETE;
  cl_int err = clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof status, &status, NULL);
  return err != CL_SUCCESS ? err : status;
}

/* Lets go of the memory of dropped commands that have ended meanwhile. */
void clsh_sweeporphans(void) {
  for (Orphan **p = &orphans; *p != NULL && !clsh_forked();) {
    Orphan *o = *p;
    if (clsh_eventstatus(o->handle) > CL_COMPLETE) {
      p = &o->next;
      continue;
    }
    *p = o->next;
    clReleaseEvent(o->handle);
    clsh_releaseblock(o->pin);
    free(o);
  }
}

/* Gives the last dropped commands a moment to end before the process does. */
static void atend(void) {
  const struct timespec nap = {0, 1000 * 1000};
  double limit = clsh_now() + 0.1;
  while (orphans != NULL && !clsh_forked() && clsh_now() < limit) {
    clsh_sweeporphans();
    nanosleep(&nap, NULL);
  }
}

/*
** Notes host memory that a dropped command still uses, and its event. If
** there is no memory for the note, both stay allocated.
*/
void clsh_addorphan(cl_event handle, Block *pin) {
  Orphan *o = malloc(sizeof *o);
  if (o == NULL)
    return;
  static bool registered;
  if (!registered)
    registered = atexit(atend) == 0;
  *o = (Orphan){orphans, handle, pin};
  orphans = o;
}

static bool wasinterrupted;

/* Whether anything was interrupted so far. */
bool clsh_wasinterrupted(void) {
  return wasinterrupted;
}

/* Raises what Ctrl-C raises, with a hint or NULL. */
void clsh_interrupted(lua_State *L, const char *hint) {
  clsh_interrupt = 0;
  wasinterrupted = true;
  clsh_pusherror(L, CL_SUCCESS, NULL, "interrupted!");
  lua_pushliteral(L, "INTERRUPTED");
  lua_setfield(L, -2, "name");
  lua_pushstring(L, hint);
  lua_setfield(L, -2, "hint");
  lua_error(L);
}

/** cl.undisturbed(f, ...) -> what f returns
 * Calls f(...) as if Ctrl-C had not been pressed. Code that has caught the
 * error of a Ctrl-C is raised in again soon, so that no loop around pcall
 * outlives it; what has to be printed or kept first is called by this. A
 * Ctrl-C during f raises in f.
 */
static int cl_undisturbed(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  int state = clsh_swapinterrupt != NULL ? clsh_swapinterrupt(L, 0) : 0;
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (state != 0)
    clsh_swapinterrupt(L, state);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/*
** Raises if Ctrl-C came: clshell's handler sets the flag, that of the stock
** interpreter sets a hook, which then has done its work.
*/
static void checkinterrupt(lua_State *L, lua_Hook before, const char *hint) {
  if (!clsh_interrupt && lua_gethook(L) == before)
    return;
  if (!clsh_interrupt)
    lua_sethook(L, NULL, 0, 0);
  clsh_interrupted(L, hint);
}

/*
** Waits until done(what): spins for 20 us, then sleeps a 32nd of the time
** passed, 1 ms at most. Ctrl-C raises, with the hint.
*/
void clsh_await(lua_State *L, bool (*done)(void *), void *what,
                const char *hint) {
  lua_Hook before = lua_gethook(L);
  double start = clsh_now();
  while (!done(what)) {
    double passed = clsh_now() - start;
    checkinterrupt(L, before, hint);
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
  c->status = clsh_eventstatus(c->handle);
  return c->status <= CL_COMPLETE;
}

/* Waits for a handle to end and returns its status. */
cl_int clsh_pollevent(lua_State *L, cl_event handle) {
  Command c = {handle, CL_QUEUED};
  clsh_await(L, hasended, &c, "OpenCL cannot cancel a command: it goes on");
  return c.status;
}

static bool istime(void *arg) {
  return clsh_now() >= *(double *)arg;
}

/** cl.sleep(seconds)
 * Waits, without work for the processor. Ctrl-C ends the wait.
 */
static int cl_sleep(lua_State *L) {
  double end = clsh_now() + luaL_checknumber(L, 1);
  clsh_await(L, istime, &end, NULL);
  return 0;
}

void clsh_openwait(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"sleep", cl_sleep}, {"undisturbed", cl_undisturbed}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
