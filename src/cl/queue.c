/*
** queue.c - class Queue: where commands are put, in order or out of order.
** SPDX-License-Identifier: MIT
*/
#include "queue.h"
#include "cl.h"
#include "context.h"
#include "object.h"
#include "process.h"

#define QUEUES "cl.queues" /* registry: Queue -> true, weak */

struct Queue {
  Object head;
  cl_command_queue handle;
  Context *context; /* user value 1 keeps it */
  bool profiled;
  bool out_of_order;
  bool dropped;        /* an Event of a command that may still run is gone */
  unsigned interrupts; /* before its newest command */
};

static void queue_release(Object *o) {
  Queue *q = (Queue *)o;
  if (q->handle != NULL && !clsh_forked())
    clReleaseCommandQueue(q->handle);
  q->handle = NULL;
}

static const Class class;

Queue *clsh_checkqueue(lua_State *L, int arg) {
  return clsh_checkobject(L, arg, &class);
}

Queue *clsh_anyqueue(lua_State *L, int arg) {
  return clsh_anyobject(L, arg, &class);
}

/* The Queue of option `queue`, at stack index `idx`. */
Queue *clsh_queueoption(lua_State *L, int idx) {
  return clsh_objectoption(L, idx, &class, "queue");
}

/* Commands reach the device; to close a queue has done that already. */
cl_int clsh_flushqueue(const Queue *q) {
  return q->head.closed ? CL_SUCCESS : clFlush(q->handle);
}

/* The handle of a live queue of a live context. */
cl_command_queue clsh_queuehandle(lua_State *L, Queue *q) {
  if (q->head.closed)
    clsh_error(L, "this Queue is closed");
  clsh_alive(L, q->context);
  return q->handle;
}

Context *clsh_queuecontext(const Queue *q) {
  return q->context;
}

bool clsh_queueprofiled(const Queue *q) {
  return q->profiled;
}

/* Pushes a new queue of the context at `arg`. */
static Queue *newqueue(lua_State *L, int arg, bool profiled,
                       bool out_of_order) {
  int tries = 0;
  cl_int err;
  arg = lua_absindex(L, arg);
  Context *c = clsh_checkcontext(L, arg);
  cl_command_queue_properties flags =
      (profiled ? CL_QUEUE_PROFILING_ENABLE : 0) |
      (out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  Queue *q = clsh_newobject(L, &class, 1);
  q->context = c;
  q->profiled = profiled;
  q->out_of_order = out_of_order;
  lua_pushvalue(L, arg);
  lua_setiuservalue(L, -2, 1);
  clsh_noteweak(L, QUEUES);
  do {
    cl_context handle = clsh_contexthandle(L, c);
    clsh_blocksignals();
    q->handle =
        clCreateCommandQueue(handle, clsh_contextdevice(c), flags, &err);
    clsh_opensignals();
  } while (clsh_retry(L, err, &tries));
  if (err == CL_INVALID_QUEUE_PROPERTIES)
    clsh_fail(L, err, "clCreateCommandQueue",
              "the device has no such queue (profiling %s, out of order %s); "
              "see dev.queue_properties",
              profiled ? "yes" : "no", out_of_order ? "yes" : "no");
  clsh_check(L, err, "clCreateCommandQueue");
  return q;
}

/* Pushes the default queue of the context at `ctxarg`: user value 2. */
Queue *clsh_pushqueue(lua_State *L, int ctxarg) {
  ctxarg = lua_absindex(L, ctxarg);
  clsh_alive(L, clsh_anycontext(L, ctxarg));
  lua_getiuservalue(L, ctxarg, 2);
  Queue *q = clsh_testobject(L, -1, &class);
  if (q == NULL) {
    lua_pop(L, 1);
    q = newqueue(L, ctxarg, true, false);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, ctxarg, 2);
  }
  return q;
}

/*
** Pushes the table whose keys are all queues, closed ones too, that have not
** been collected.
*/
void clsh_pushqueues(lua_State *L) {
  clsh_pushweak(L, QUEUES);
}

bool *clsh_queuedropped(Queue *q) {
  return &q->dropped;
}

void clsh_notecommand(Queue *q) {
  q->interrupts = clsh_interrupts();
}

/* Whether a Ctrl-C came after the newest command. */
bool clsh_queueabandoned(const Queue *q) {
  return q->interrupts != clsh_interrupts();
}

/* The Queue at `arg` if commands may be put on it, else NULL. */
Queue *clsh_livequeue(lua_State *L, int arg) {
  Queue *q = clsh_testobject(L, arg, &class);
  bool live = q != NULL && q->handle != NULL && clsh_usable(q->context);
  return live ? q : NULL;
}

static bool optbool(lua_State *L, int arg, const char *name, bool def) {
  if (lua_isnoneornil(L, arg))
    return def;
  if (lua_getfield(L, arg, name) != LUA_TNIL)
    def = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return def;
}

static const char *const queue_options[] = {"out_of_order", "profiling",
                                            "context", NULL};

/** cl.queue([opts]) -> Queue
 * A new command queue. The default queue is in-order and profiled:
 * `cl.context().queue`. Order on an out-of-order queue comes from `after`
 * lists alone.
 * Options:
 *   out_of_order  false      whether commands may overtake each other
 *   profiling     true       whether events have times
 *   context       session's  the Context of another device
 */
static int cl_queue(lua_State *L) {
  clsh_checkoptions(L, 1, queue_options, "cl.queue");
  lua_settop(L, 1);
  if (lua_isnil(L, 1))
    lua_pushnil(L);
  else
    lua_getfield(L, 1, "context");
  clsh_pushcontext(L, 2);
  newqueue(L, 3, optbool(L, 1, "profiling", true),
           optbool(L, 1, "out_of_order", false));
  return 1;
}

/** Queue:flush() -> Queue
 * Hands what was put on the queue to the device; does not wait.
 */
static int queue_flush(lua_State *L) {
  Queue *q = clsh_checkqueue(L, 1);
  clsh_checkcommand(L, q->context, clFlush(clsh_queuehandle(L, q)), "clFlush");
  lua_settop(L, 1);
  return 1;
}

static int queue_context(lua_State *L) {
  clsh_checkqueue(L, 1);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int queue_profiling(lua_State *L) {
  lua_pushboolean(L, clsh_checkqueue(L, 1)->profiled);
  return 1;
}

static int queue_outoforder(lua_State *L) {
  lua_pushboolean(L, clsh_checkqueue(L, 1)->out_of_order);
  return 1;
}

/** Queue:info() -> table
 * device (its name), profiling, out_of_order.
 */
static int queue_info(lua_State *L) {
  Queue *q = clsh_checkqueue(L, 1);
  lua_newtable(L);
  lua_getiuservalue(L, 1, 1);
  lua_getfield(L, -1, "device");
  lua_getfield(L, -1, "name");
  lua_setfield(L, 2, "device");
  lua_settop(L, 2);
  lua_pushboolean(L, q->profiled);
  lua_setfield(L, 2, "profiling");
  lua_pushboolean(L, q->out_of_order);
  lua_setfield(L, 2, "out_of_order");
  return 1;
}

static int queue_tostring(lua_State *L) {
  Queue *q = clsh_anyobject(L, 1, &class);
  lua_pushfstring(
      L, "Queue %s%s%s", q->out_of_order ? "out of order" : "in order",
      q->profiled ? ", profiled" : "", q->head.closed ? " (closed)" : "");
  return 1;
}

/* The default queue is made at the first need and kept as user value 2. */
static int context_queue(lua_State *L) {
  clsh_checkcontext(L, 1);
  clsh_pushqueue(L, 1);
  return 1;
}

static const luaL_Reg methods[] = {
    {"flush", queue_flush}, {"info", queue_info}, {NULL, NULL}};
static const luaL_Reg fields[] = {{"context", queue_context},
                                  {"out_of_order", queue_outoforder},
                                  {"profiling", queue_profiling},
                                  {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", queue_tostring}, {NULL, NULL}};
static const Class class = {"Queue", sizeof(Queue), methods,      fields,
                            meta,    NULL,          queue_release};

void clsh_openqueue(lua_State *L) {
  static const luaL_Reg functions[] = {{"queue", cl_queue}, {NULL, NULL}};
  static const luaL_Reg context[] = {{"queue", context_queue}, {NULL, NULL}};
  clsh_newclass(L, &class);
  clsh_class_add(L, "Context", NULL, context);
  clsh_declare(L, "cl.queue", queue_options);
  luaL_setfuncs(L, functions, 0);
}
