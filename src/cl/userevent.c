/*
** userevent.c - user events: Events that a script sets, and no command.
** SPDX-License-Identifier: MIT
*/
#include "process.h"
#include "queue.h"

static const char *const event_options[] = {"context", NULL};

/** cl.user_event([opts]) -> Event
 * An event that the script sets: commands with it in their `after` list start
 * after `e:complete()`, and fail after `e:fail()`; NVIDIA's driver then fails
 * what follows on their in-order Queue as well. One that is closed or
 * collected before, or at the program's end, fails: keep it in a variable.
 * Options:
 *   context  session's  the Context of another device
 * Example:
 * local b, go = cl.buffer("int", 4, 0), cl.user_event()
 * local event = b:fill(7, {async = true, after = go})
 * print(event.status) -- queued
 * go:complete()
 * event:wait()
 * print(b:read()[1]) --> 7
 */
static int cl_userevent(lua_State *L) {
  cl_int err = CL_INVALID_OPERATION;
  clsh_option_check(L, 1, event_options, "cl.user_event");
  lua_settop(L, 1);
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  Event *e = clsh_event_newuser(L, 3);
  cl_event handle = clCreateUserEvent(clsh_context_handle(L, c), &err);
  if (err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clCreateUserEvent",
                    "the driver has no user events; start commands in their "
                    "order instead");
  clsh_error_check(L, err, "clCreateUserEvent");
  e->handle = handle;
  return 1;
}

/* Sets the user event at 1, which is then the result. */
static int set(lua_State *L, cl_int status) {
  Event *e = clsh_event_check(L, 1);
  if (e->queue != NULL)
    return clsh_error_arg(L, 1,
                          "must be an Event of cl.user_event; a command "
                          "sets this one");
  if (e->handle == NULL)
    return clsh_error_arg(L, 1, "this Event has been set already");
  clsh_context_alive(L, e->context);
  clsh_error_check(L, clsh_event_set(e, status), "clSetUserEventStatus");
  lua_settop(L, 1);
  return 1;
}

/** Event:complete() -> Event
 * Sets an Event of `cl.user_event`, once: commands that wait for it start.
 * Example:
 * local go = cl.user_event()
 * print(go:complete().status) --> complete
 */
static int event_complete(lua_State *L) {
  return set(L, CL_COMPLETE);
}

/** Event:fail([code]) -> Event
 * Sets an Event of `cl.user_event`, once, to a failure: commands that wait for
 * it fail without a run, and waits for those raise. `code`, which a wait for
 * the Event itself raises, is an integer below 0, -59 by default
 * (CL_INVALID_OPERATION).
 * Example:
 * local b, go = cl.buffer("int", 4, 0), cl.user_event()
 * local event = b:fill(7, {async = true, after = go})
 * go:fail()
 * print(pcall(event.wait, event)) -- false, and the error
 */
static int event_fail(lua_State *L) {
  lua_Integer code = luaL_optinteger(L, 2, CL_INVALID_OPERATION);
  if (code >= 0 || code < INT32_MIN)
    return clsh_error_arg(L, 2, "code must be an integer below 0; got %I",
                          (LUAI_UACINT)code);
  return set(L, (cl_int)code);
}

void clsh_userevent_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"user_event", cl_userevent},
                                       {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"complete", event_complete}, {"fail", event_fail}, {NULL, NULL}};
  clsh_class_add(L, "Event", methods, NULL);
  clsh_option_declare(L, "cl.user_event", event_options);
  luaL_setfuncs(L, functions, 0);
}
