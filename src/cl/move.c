/*
** move.c - what all commands that move data share: the options queue, async
** and after, the Event, the host memory that is pinned, and the wait.
** SPDX-License-Identifier: MIT
*/
#include "queue.h"

/*
** Checks the names of the options at `opts`, and reads queue, async and
** after; leaves the Queue and the events on the stack. User value 1 of the
** object at 1 is its Context `c`.
*/
void clsh_move_check(lua_State *L, Context *c, int opts,
                     const char *const names[], Move *m) {
  clsh_option_check(L, opts, names, "transfer");
  clsh_context_alive(L, c);
  if (clsh_option_push(L, opts, "queue") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getiuservalue(L, 1, 1);
    clsh_queue_push(L, -1);
    lua_remove(L, -2);
  }
  m->context = c;
  m->queue = lua_gettop(L);
  if (!clsh_context_shares(clsh_queue_option(L, m->queue)->context, c))
    clsh_error(L, "the %s and the Queue are of different contexts",
               clsh_class_name(L, 1));
  m->async = clsh_option_flag(L, opts, "async", false);
  clsh_option_push(L, opts, "after");
  m->after = lua_gettop(L);
}

/*
** Pushes the command's Event. Script code (metamethods, finalizers) may have
** run since the arguments were checked, so their handles are looked up here.
** No script code runs from here until the command is enqueued.
*/
Event *clsh_move_begin(lua_State *L, const Object *o, Move *m) {
  Event *e = clsh_event_new(L, m->queue);
  if (o->closed)
    clsh_error(L, "this %s is closed", o->class->name);
  m->handle = clsh_queue_handle(L, clsh_queue_any(L, m->queue));
  clsh_event_after(L, m->after, m->context, &m->waits);
  e->waits = m->waits.n > 0;
  return e;
}

/* The memory of the Array at `arr`, kept until the command has ended. */
void *clsh_move_pin(lua_State *L, Event *e, int arr) {
  const Array *a = clsh_array_check(L, arr);
  void *data = clsh_array_data(L, a);
  clsh_event_pin(e, a->block);
  return data;
}

/* Ends a command whose Event is at the top: waits unless it is async. */
void clsh_move_end(lua_State *L, const Move *m, cl_int err, const char *call) {
  clsh_context_checkcommand(L, m->context, err, call);
  if (!m->async)
    clsh_event_wait(L, -1);
  else
    clFlush(m->handle);
}
