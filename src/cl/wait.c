/*
** wait.c - the waits that scripts make, and the functions that they call once
** a command has ended: Lua never runs on a driver's thread. Waits inside of
** other calls, as in a read, call no functions: these may close anything.
** SPDX-License-Identifier: MIT
*/
#include <math.h>

#include "driver.h"
#include "timeline.h"

/* registry: list of Event, function, Event, function ... */
#define CALLBACKS "cl.callbacks"

static bool hasended(const Event *e) {
  return e->head.closed || e->handle == NULL ||
         clsh_poll_status(e->handle) <= CL_COMPLETE;
}

/*
** The place of the first Event in the list at the top that has ended; 0:
** there is none. Allocates nothing.
*/
static lua_Integer finddue(lua_State *L) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1), due = 0;
  for (lua_Integer i = 1; i < n && due == 0 && !clsh_driver_handsoff();
       i += 2) {
    lua_rawgeti(L, -1, i);
    due = hasended(lua_touserdata(L, -1)) ? i : 0;
    lua_pop(L, 1);
  }
  return due;
}

/* Pushes the list of callbacks. */
static void pushcallbacks(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, CALLBACKS);
}

/* Takes a pair out of the list at the top and pushes it. */
static void takepair(lua_State *L, lua_Integer at) {
  int list = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  lua_rawgeti(L, list, at + 1);
  lua_rawgeti(L, list, at);
  for (lua_Integer i = at + 2; i <= n + 2; i++) {
    lua_rawgeti(L, list, i);
    lua_rawseti(L, list, i - 2);
  }
}

/* Protected: waits for the Event at 1, so that its results can be seen. */
static int settle(lua_State *L) {
  clsh_event_wait(L, 1);
  return 0;
}

/* Calls the functions of all ended Events; returns their number. */
static lua_Integer deliver(lua_State *L) {
  lua_Integer due, calls = 0;
  luaL_checkstack(L, 8, NULL);
  pushcallbacks(L);
  while ((due = finddue(L)) != 0) {
    takepair(L, due); /* list, function, event */
    const Event *e = lua_touserdata(L, -1);
    if (e->head.closed) {
      lua_pop(L, 2);
      continue;
    }
    lua_pushcfunction(L, settle);
    lua_pushvalue(L, -2);
    bool fine = lua_pcall(L, 1, 0, 0) == LUA_OK;
    if (!fine)
      lua_pop(L, 1);
    lua_pushstring(L, fine ? "complete" : "failed");
    lua_call(L, 2, 0);
    calls++;
  }
  lua_pop(L, 1);
  return calls;
}

/* A wait: for an Event, or else for a time. */
typedef struct Wait {
  lua_State *L; /* the list at the top */
  const Event *event;
  double end;
  bool due; /* a function is to be called */
} Wait;

/* Whether the wait is over. An unknown status ends it: the wait raises. */
static bool isover(const Wait *w) {
  const Event *e = w->event;
  if (e == NULL)
    return clsh_poll_now() >= w->end;
  return hasended(e) || clsh_poll_status(e->handle) == STATUS_UNKNOWN;
}

static bool isoverordue(void *arg) {
  Wait *w = arg;
  bool over = isover(w); /* first: else its own function might be missed */
  w->due = finddue(w->L) != 0;
  return w->due || over;
}

/*
** Waits, and calls functions meanwhile. Without any more functions it returns:
** the caller waits for the rest.
*/
static void attend(lua_State *L, Wait *w) {
  clsh_event_checkwait(L, w->event);
  pushcallbacks(L);
  while (lua_rawlen(L, -1) > 0 && !clsh_driver_handsoff()) {
    clsh_poll_until(L, isoverordue, w,
                    w->event != NULL
                        ? "OpenCL cannot cancel a command: it goes on"
                        : NULL);
    if (!w->due)
      break;
    deliver(L);
  }
  lua_pop(L, 1);
}

/* Hands an Event's command to the device: else it might never end. */
static void flush(lua_State *L, const Event *e) {
  if (e->handle == NULL)
    return;
  clsh_context_alive(L, e->context);
  if (e->queue != NULL)
    clsh_queue_flush(e->queue);
}

/** Event:wait() -> Event
 * Waits until the command has ended. Ctrl-C ends the wait with an error;
 * the command itself goes on. Functions of Event:on_complete are called
 * meanwhile.
 * Example:
 * local b = cl.buffer("float", 1000)
 * local event = b:fill(1, {async = true}):wait()
 * print(event.status) --> complete
 */
static int event_wait(lua_State *L) {
  lua_settop(L, 1);
  Event *e = clsh_event_check(L, 1);
  Wait w = {.L = L, .event = e};
  flush(L, e);
  attend(L, &w);
  clsh_event_wait(L, 1);
  return 1;
}

/** Event:on_complete(f) -> Event
 * Has f(event, status) called once the command has ended; `status` is
 * "complete" or "failed". The next of these calls it: Event:wait and
 * Queue:finish of any event and queue, cl.sleep, cl.poll, and the next prompt.
 * An error in f is an error of that call. Until then the Event is kept; a
 * closed Event calls nothing, and neither does the end of the program.
 * Example:
 * local event = cl.buffer("int", 4):fill(7, {async = true})
 * event:on_complete(function(e, status) print(e.command, status) end)
 * event:wait() -- calls it
 */
static int event_oncomplete(lua_State *L) {
  Event *e = clsh_event_check(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  clsh_event_checkwait(L, e);
  flush(L, e);
  pushcallbacks(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 3);
  for (int i = 1; i <= 2; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, 3, n + i);
  }
  lua_settop(L, 1);
  return 1;
}

/** Queue:finish() -> Queue
 * Waits until all commands of the queue have ended. Ctrl-C ends the wait, not
 * the commands. Functions of Event:on_complete are called meanwhile.
 * Example:
 * local b = cl.buffer("int", 10)
 * b:fill(7, {async = true})
 * cl.context().queue:finish()
 * print(b:read()[10]) --> 7
 */
static int queue_finish(lua_State *L) {
  clsh_queue_check(L, 1);
  lua_settop(L, 1);
  lua_getfield(L, 1, "marker");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  clsh_timeline_call(clsh_event_check(L, 2), 'f');
  lua_getfield(L, 2, "wait");
  lua_insert(L, 2);
  lua_call(L, 1, 0);
  return 1;
}

/** cl.poll() -> number
 * Calls the functions of Event:on_complete whose commands have ended, without
 * a wait. Returns how many it called.
 * Example:
 * cl.buffer("int", 4):fill(7, {async = true}):on_complete(print)
 * print(cl.poll()) -- 1 if the fill has ended by now
 */
static int cl_poll(lua_State *L) {
  lua_pushinteger(L, deliver(L));
  return 1;
}

static bool istime(void *arg) {
  return isover(arg);
}

/** cl.sleep(seconds)
 * Waits; the processor is idle meanwhile. Ctrl-C ends the wait. Functions of
 * Event:on_complete are called meanwhile.
 * Example: cl.sleep(0.01)
 */
static int cl_sleep(lua_State *L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  if (!(seconds >= 0 && seconds < HUGE_VAL))
    return clsh_error_arg(L, 1, "seconds must be >= 0 and finite; got %s",
                          clsh_option_got(L, 1));
  Wait w = {.L = L, .end = clsh_poll_now() + seconds};
  int64_t begin = clsh_timeline_now();
  attend(L, &w);
  clsh_poll_until(L, istime, &w, NULL);
  if (begin != 0)
    clsh_timeline_span(L, SLEPT, begin, "sleep", NULL, CL_SUCCESS);
  return 0;
}

void clsh_wait_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"poll", cl_poll}, {"sleep", cl_sleep}, {NULL, NULL}};
  static const luaL_Reg event[] = {
      {"on_complete", event_oncomplete}, {"wait", event_wait}, {NULL, NULL}};
  static const luaL_Reg queue[] = {{"finish", queue_finish}, {NULL, NULL}};
  clsh_class_add(L, "Event", event, NULL);
  clsh_class_add(L, "Queue", queue, NULL);
  luaL_setfuncs(L, functions, 0);
}
