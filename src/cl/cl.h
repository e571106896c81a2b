/*
** cl.h - the door of folder cl/: the libraries it needs, and the functions
** that the program (edit/, shell/) may call. host/ takes array.h as well.
** SPDX-License-Identifier: MIT
*/
#ifndef cl_h
#define cl_h

#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <lauxlib.h>
#include <lua.h>

#define CLSHELL_VERSION "0.2.0" /* the Makefile reads it, too */

/* cl.c: require "cl" */
int luaopen_cl(lua_State *L);
extern bool clsh_cl_piped; /* no file is the user's terminal */

/* error.c: raises a table with the position of the user's line */
int clsh_error(lua_State *L, const char *fmt, ...);

/* field.c: sets a field of the table at the top */
void clsh_field_string(lua_State *L, const char *name, const char *value);
void clsh_field_integer(lua_State *L, const char *name, lua_Integer value);
void clsh_field_boolean(lua_State *L, const char *name, bool value);

/* nearest.c */
const char *clsh_nearest(const char *word, const char *const names[]);

/* device.c: the device of the session, taken at the first need */
void clsh_device_choose(lua_State *L, const char *sel);
void clsh_device_spread(int rank, int size);

/* poll.c: Ctrl-C in C code */
extern volatile sig_atomic_t clsh_poll_interrupt; /* set by a signal handler */
/* puts an interrupt off (state 0) or on again; returns the state so far;
   NULL where the host program has no such function */
extern int (*clsh_poll_swap)(lua_State *L, int state);
void clsh_poll_raise(lua_State *L, const char *hint);
unsigned clsh_poll_interrupts(void);
double clsh_poll_now(void); /* seconds, monotonic */
void clsh_poll_nap(double seconds);
void clsh_poll(lua_State *L);
/* of a command whose query failed: it may not have ended */
#define STATUS_UNKNOWN (CL_QUEUED + 1)
cl_int clsh_poll_status(cl_event e);
bool clsh_poll_times(cl_event handle, cl_ulong stamp[4]);
void clsh_poll_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint);
cl_int clsh_poll_event(lua_State *L, cl_event e, cl_device_id device,
                       cl_int *status);

/* flight.c, for signal handlers: a text that grows up to `end`, where it is
   cut, and the launches that a crash may come from; false: there is none */
typedef struct Text {
  char *at, *end;
} Text;
void clsh_flight_add(Text *t, const char *s);
void clsh_flight_addinteger(Text *t, unsigned long long n);
bool clsh_flight_tell(Text *t);

/* compiler.c: the user's standard error, which a compiler does not get */
extern volatile int clsh_compiler_stderr;

/* event.c: the program's end sets the user events that nobody has set */
void clsh_event_failall(void);

/* pending.c, driver.c: the end of the program while commands run. Work that
   was launched before the last Ctrl-C is abandoned. */
int clsh_pending_count(lua_State *L, double seconds, bool abandoned);
void clsh_pending_pushkernel(lua_State *L);
bool clsh_pending_finish(lua_State *L);
bool clsh_pending_finished(void);
void clsh_driver_abandon(void);

/* driver.c */
bool clsh_driver_thread(void *(*work)(void *), void *arg, size_t stack);

#endif
