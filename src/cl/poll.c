/*
** poll.c - Ctrl-C in C code: waits and long loops ask here whether it came. No
** wait for commands or for time to pass sits in the driver.
**
** A wait for a GPU looks again and again whether the command has ended. On a
** CPU each look takes a processor from the command: 8 % of a product of 10 ms
** on two cores. There the driver's thread tells the end through a pipe.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "object.h"

volatile sig_atomic_t clsh_poll_interrupt;
int (*clsh_poll_swap)(lua_State *L, int state);

static unsigned interrupts;

/* The number of interrupts so far. */
unsigned clsh_poll_interrupts(void) {
  return interrupts;
}

/* Raises the error of a Ctrl-C, with a hint or NULL. */
void clsh_poll_raise(lua_State *L, const char *hint) {
  clsh_poll_interrupt = 0;
  interrupts++;
  clsh_error_push(L, CL_SUCCESS, NULL, "interrupted!");
  lua_pushliteral(L, "INTERRUPTED");
  lua_setfield(L, -2, "name");
  clsh_field_string(L, "hint", hint);
  lua_error(L);
}

/** cl.undisturbed(f, ...) -> what f returns
 * Calls f(...) as if Ctrl-C had not been pressed. The error of a Ctrl-C is
 * raised again soon in code that caught it, so that no loop around pcall
 * goes on; `f` can print or save something first. A Ctrl-C during f raises
 * in f.
 * Example:
 * local function keep(list) -- runs to its end even just after Ctrl-C
 *   return #list
 * end
 * print(cl.undisturbed(keep, {1, 2, 3})) --> 3
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
** Raises if Ctrl-C came: clshell's handler sets the flag; the stock
** interpreter's handler sets a hook, which then has done its work.
*/
static void check(lua_State *L, lua_Hook before, const char *hint) {
  if (!clsh_poll_interrupt && lua_gethook(L) == before)
    return;
  if (!clsh_poll_interrupt)
    lua_sethook(L, NULL, 0, 0);
  clsh_poll_raise(L, hint);
}

/* Raises if Ctrl-C came; long loops call it now and then. */
void clsh_poll(lua_State *L) {
  if (clsh_poll_interrupt != 0)
    clsh_poll_raise(L, NULL);
}

double clsh_poll_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sleeps, until a signal comes; may be called in signal handlers. */
void clsh_poll_nap(double seconds) {
  struct timespec t = {(time_t)seconds, 0};
  t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
  nanosleep(&t, NULL);
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

/* The four times of an ended command; false where it has none. */
bool clsh_poll_times(cl_event handle, cl_ulong stamp[4]) {
  static const cl_profiling_info what[] = {
      CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
      CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
  for (int i = 0; i < 4; i++)
    if (clGetEventProfilingInfo(handle, what[i], sizeof stamp[i], &stamp[i],
                                NULL) != CL_SUCCESS)
      return false;
  return true;
}

/* A pipe, which gets a byte at the end of each command; made once. */
static int bell[2] = {-1, -1};

static bool hasbell(void) {
  if (bell[0] < 0 && pipe(bell) == 0)
    for (int i = 0; i < 2; i++) {
      fcntl(bell[i], F_SETFD, FD_CLOEXEC);
      fcntl(bell[i], F_SETFL, O_NONBLOCK);
    }
  return bell[0] >= 0;
}

/* On a thread of the driver, maybe after the wait has been given up. */
static void CL_CALLBACK ring(cl_event e, cl_int status, void *arg) {
  (void)e, (void)status, (void)arg;
  int before = errno;
  ssize_t n = write(bell[1], "", 1); /* a full pipe wakes the wait as well */
  (void)n;
  errno = before;
}

static bool iscpu(cl_device_id device) {
  cl_device_type type = 0;
  return clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) ==
             CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_CPU) != 0;
}

/* A command of a device, its status when last asked for, and the error of
   that question. */
typedef struct Command {
  cl_event handle;
  cl_device_id device;
  cl_int status, err;
} Command;

/* Whether the end of the command will ring the bell. */
static bool willring(const Command *c) {
  return iscpu(c->device) && hasbell() &&
         clSetEventCallback(c->handle, CL_COMPLETE, ring, NULL) == CL_SUCCESS;
}

/* Sleeps until the bell rings, 20 ms at most: Ctrl-C may have come. */
static void listen(void) {
  struct pollfd end = {bell[0], POLLIN, 0};
  char rings[64];
  if (poll(&end, 1, 20) == 1)
    while (read(bell[0], rings, sizeof rings) == sizeof rings)
      ;
}

/*
** Waits until done(what): spins for 20 us, then sleeps for a 32nd of the time
** passed, 1 ms at most, or, where the command rings, until it ends. Ctrl-C
** raises, with the hint.
*/
static void await(lua_State *L, bool (*done)(void *), void *what,
                  const char *hint, const Command *c) {
  lua_Hook before = lua_gethook(L);
  double start = clsh_poll_now();
  bool asked = false, rings = false;
  while (!done(what)) {
    double passed = clsh_poll_now() - start;
    check(L, before, hint);
    if (passed < 20e-6)
      continue;
    if (!asked)
      rings = c != NULL && willring(c);
    else if (rings)
      listen();
    else
      clsh_poll_nap(passed / 32 < 1e-3 ? passed / 32 : 1e-3);
    asked = true;
  }
}

/* Waits until done(what), which is about no single command. */
void clsh_poll_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint) {
  await(L, done, what, hint, NULL);
}

static bool hasended(void *arg) {
  Command *c = arg;
  c->err = query(c->handle, &c->status);
  return c->err != CL_SUCCESS || c->status <= CL_COMPLETE;
}

/*
** Waits for a command of a device to end. An error of OpenCL means that its
** status is not known.
*/
cl_int clsh_poll_event(lua_State *L, cl_event handle, cl_device_id device,
                       cl_int *status) {
  Command c = {handle, device, CL_QUEUED, CL_SUCCESS};
  await(L, hasended, &c, "OpenCL cannot cancel a command: it goes on", &c);
  *status = c.status;
  return c.err;
}

void clsh_poll_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"undisturbed", cl_undisturbed},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
