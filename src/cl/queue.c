/*
** queue.c - class Queue: takes commands, in order or out of order.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>

#include "device.h"
#include "driver.h"
#include "queue.h"

#define QUEUES "cl.queues" /* registry: Queue -> true, weak */
#define PROPERTIES 0x1093  /* CL_QUEUE_PROPERTIES */
#define HINTS 2            /* wishes that a queue can have */

typedef cl_command_queue(CL_API_CALL *Creator)(cl_context, cl_device_id,
                                               const cl_ulong *, cl_int *);

/* A wish, 1 << level: option, extension and property. */
static const struct Hint {
  const char *name, *extension;
  cl_ulong property;
} hints[HINTS] = {{"priority", "cl_khr_priority_hints", 0x1096},
                  {"throttle", "cl_khr_throttle_hints", 0x1097}};
static const char *const levels[] = {"high", "medium", "low", NULL};

#define LIST (2 * HINTS + 3) /* properties, the 0 at the end included */

static void queue_release(Object *o) {
  Queue *q = (Queue *)o;
  if (q->handle != NULL && !clsh_driver_handsoff())
    clReleaseCommandQueue(q->handle);
  q->handle = NULL;
}

/* The Queue of option `queue`, at stack index `idx`. */
Queue *clsh_queue_option(lua_State *L, int idx) {
  return clsh_class_option(L, idx, &clsh_queue_class, "queue");
}

/* Hands commands to the device; a closed queue has done so. */
cl_int clsh_queue_flush(const Queue *q) {
  return q->head.closed ? CL_SUCCESS : clFlush(q->handle);
}

/* The handle of a live queue of a live context. */
cl_command_queue clsh_queue_handle(lua_State *L, Queue *q) {
  if (q->head.closed)
    clsh_error(L, "this Queue is closed");
  clsh_context_alive(L, q->context);
  return q->handle;
}

/*
** Reads the wishes of the table or nil at `opts`, and appends them to a list
** of properties, pairs that end with 0. Returns whether there are any.
*/
static bool readhints(lua_State *L, const Context *c, int opts,
                      cl_ulong *list) {
  int n = 2;
  for (const struct Hint *h = hints; h < hints + HINTS; h++) {
    if (clsh_option_push(L, opts, h->name) != LUA_TNIL) {
      int level = clsh_option_word(L, -1, levels, h->name);
      if (!clsh_device_offers(L, c->device, h->extension))
        clsh_error_call(L, CL_INVALID_OPERATION, "cl.queue",
                        "%s needs the extension %s, which the device lacks; "
                        "leave it out, and make long launches shorter: "
                        "others run in between",
                        h->name, h->extension);
      list[n++] = h->property;
      list[n++] = (cl_ulong)1 << level;
    }
    lua_pop(L, 1);
  }
  list[n] = 0;
  return n > 2;
}

/* Pushes a new queue of the context at `arg`; `opts`: a table or nil. */
static Queue *newqueue(lua_State *L, int arg, int opts, bool profiled,
                       bool out_of_order) {
  int tries = 0;
  cl_int err = CL_INVALID_OPERATION; /* where a driver lacks the call */
  arg = lua_absindex(L, arg);
  Context *c = clsh_context_check(L, arg);
  cl_command_queue_properties flags =
      (profiled ? CL_QUEUE_PROFILING_ENABLE : 0) |
      (out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  cl_ulong list[LIST] = {PROPERTIES, flags};
  Creator create = NULL;
  if (readhints(L, c, opts, list))
    clsh_context_function(L, c, 200, "clCreateCommandQueueWithProperties",
                          "leave priority and throttle out", &create);
  Queue *q = clsh_class_newowned(L, &clsh_queue_class, 1, arg);
  q->context = c;
  q->profiled = profiled;
  q->out_of_order = out_of_order;
  clsh_class_noteweak(L, QUEUES);
  do {
    cl_context handle = clsh_context_handle(L, c);
    clsh_driver_block();
    q->handle = create != NULL
                    ? create(handle, c->device, list, &err)
                    : clCreateCommandQueue(handle, c->device, flags, &err);
    clsh_driver_unblock();
  } while (clsh_error_retry(L, err, &tries));
  q->handle = err == CL_SUCCESS ? q->handle : NULL;
  if (create != NULL && err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clCreateCommandQueueWithProperties",
                    "the driver takes no priority or throttle; leave them "
                    "out");
  if (err == CL_INVALID_QUEUE_PROPERTIES)
    clsh_error_call(
        L, err, "clCreateCommandQueue",
        "the device has no such queue (profiling %s, out of order %s); "
        "see dev.queue_properties",
        profiled ? "yes" : "no", out_of_order ? "yes" : "no");
  clsh_error_check(L, err, "clCreateCommandQueue");
  return q;
}

/*
** Pushes the default queue of the context at `ctxarg`: user value 2. A queue
** that takes no more commands is replaced.
*/
Queue *clsh_queue_push(lua_State *L, int ctxarg) {
  ctxarg = lua_absindex(L, ctxarg);
  clsh_context_alive(L, clsh_context_any(L, ctxarg));
  lua_getiuservalue(L, ctxarg, 2);
  Queue *q = clsh_class_test(L, -1, &clsh_queue_class);
  if (q == NULL || q->halted) {
    if (q != NULL)
      q->standard = false;
    lua_pop(L, 1);
    lua_pushnil(L);
    q = newqueue(L, ctxarg, lua_gettop(L), true, false);
    q->standard = true;
    q->context->order++;
    clsh_heldmemory_empty(
        &q->context->hold); /* the last queue may still use it */
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, ctxarg, 2);
  }
  return q;
}

/* The number of keys in the table on the top. */
static int countkeys(lua_State *L) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
    n++;
  return n;
}

/*
** Pushes a list of the queues, closed ones too, that have not been collected;
** returns their number. A finalizer may make a queue, so the table of all
** queues is walked only while nothing allocates.
*/
int clsh_queue_pushall(lua_State *L) {
  int n = 0, room;
  lua_pushnil(L);
  clsh_class_pushweak(L, QUEUES);
  int list = lua_gettop(L) - 1;
  do {
    room = countkeys(L) + 8;
    lua_createtable(L, room, 0);
    lua_replace(L, list);
  } while (countkeys(L) > room);
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++n);
  }
  assert(n <= room);
  lua_settop(L, list);
  return n;
}

/* Whether a Ctrl-C came after the newest command. */
bool clsh_queue_abandoned(const Queue *q) {
  return q->interrupts != clsh_poll_interrupts();
}

/* The Queue at `arg` if commands may be put on it, else NULL. */
Queue *clsh_queue_live(lua_State *L, int arg) {
  Queue *q = clsh_class_test(L, arg, &clsh_queue_class);
  bool live =
      q != NULL && q->handle != NULL && clsh_context_usable(q->context);
  return live ? q : NULL;
}

/** cl.queue([opts]) -> Queue
 * A new command queue. The default queue is in-order and profiled:
 * `cl.context().queue`. Order on an out-of-order queue comes from `after`
 * lists alone.
 * Options:
 *   out_of_order  false      whether commands may overtake each other
 *   profiling     true       whether events have times
 *   context       session's  the Context of another device
 *   priority      driver's   "high", "medium" or "low", beside other queues
 *   throttle      driver's   "high", "medium" or "low": low saves energy
 * A device without cl_khr_priority_hints, or cl_khr_throttle_hints, refuses.
 * Example:
 * local q <close> = cl.queue{out_of_order = true}
 * print(q:info().profiling) --> true
 */
static int cl_queue(lua_State *L) {
  clsh_option_check(L, 1, "out_of_order profiling context priority throttle",
                    "cl.queue");
  lua_settop(L, 1);
  clsh_option_push(L, 1, "context");
  clsh_context_push(L, 2);
  newqueue(L, 3, 1, clsh_option_flag(L, 1, "profiling", true),
           clsh_option_flag(L, 1, "out_of_order", false));
  return 1;
}

/** Queue:flush() -> Queue
 * Hands the commands of the queue to the device; does not wait.
 * Example:
 * local q = cl.context().queue
 * cl.buffer("int", 10):fill(0, {async = true})
 * q:flush():finish()
 */
static int queue_flush(lua_State *L) {
  Queue *q = clsh_queue_check(L, 1);
  clsh_context_checkcommand(L, q->context, clFlush(clsh_queue_handle(L, q)),
                            "clFlush");
  lua_settop(L, 1);
  return 1;
}

/** Queue:info() -> table
 * device (its name), profiling, out_of_order.
 * Example: print(cl.context().queue:info().out_of_order) --> false
 */
static int queue_info(lua_State *L) {
  clsh_queue_check(L, 1);
  clsh_class_pushfields(L, "profiling out_of_order");
  clsh_context_setdevice(L);
  return 1;
}

static int queue_tostring(lua_State *L) {
  Queue *q = clsh_class_any(L, 1, &clsh_queue_class);
  lua_pushfstring(
      L, "Queue %s%s%s", q->out_of_order ? "out of order" : "in order",
      q->profiled ? ", profiled" : "", q->head.closed ? " (closed)" : "");
  return 1;
}

/* The default queue is made at the first need and kept as user value 2. */
static int context_queue(lua_State *L) {
  clsh_context_check(L, 1);
  clsh_queue_push(L, 1);
  return 1;
}

static const luaL_Reg methods[] = {
    {"flush", queue_flush}, {"info", queue_info}, {NULL, NULL}};
static const Field plain[] = {
    {"context", 'u', 1},
    {"out_of_order", 'b', offsetof(Queue, out_of_order)},
    {"profiling", 'b', offsetof(Queue, profiled)},
    {0}};
static const luaL_Reg meta[] = {{"__tostring", queue_tostring}, {NULL, NULL}};
const Class clsh_queue_class = {"Queue", sizeof(Queue), methods,      NULL,
                                meta,    NULL,          queue_release};

void clsh_queue_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"queue", cl_queue}, {NULL, NULL}};
  static const luaL_Reg context[] = {{"queue", context_queue}, {NULL, NULL}};
  clsh_class_define(L, &clsh_queue_class);
  clsh_class_addfields(L, &clsh_queue_class, plain);
  clsh_class_add(L, "Context", NULL, context);
  luaL_setfuncs(L, functions, 0);
}
