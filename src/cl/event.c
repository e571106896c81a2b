/*
** event.c - class Event: a command under way and its time stamps, or a user
** event that a script sets; and the methods of class Queue that make events.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "flight.h"
#include "timeline.h"

#define EVENTBYTES 1024 /* a driver's memory for an event, roughly */
#define INSTANT 50e-6   /* seconds that a marker on an idle queue may take */
/* the status of a user event that nobody has set */
#define GIVENUP CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
#define POCLFAILED (-1) /* PoCL's status of a command that waited for it */

static const char *const stamps[] = {"queued", "submit", "start", "stop"};
static Event *pending;      /* not yet read out, the newest first */
static lua_State *recorder; /* the thread that runs a function of cl.record */

static void unlinkevent(Event *e) {
  if (e->link == NULL)
    return;
  *e->link = e->next;
  if (e->next != NULL)
    e->next->link = e->link;
  e->next = NULL;
  e->link = NULL;
}

/* Records launches of the thread from here on; NULL: ends the recording. */
void clsh_event_record(lua_State *thread) {
  recorder = thread;
}

/*
** Whether launches are recorded. An error that ends a coroutine closes no
** values, so a recording may end in it.
*/
bool clsh_event_recording(void) {
  return recorder != NULL && lua_status(recorder) <= LUA_YIELD;
}

/* Raises inside of a recording. */
static void checkrecording(lua_State *L) {
  if (clsh_event_recording())
    clsh_error(L, "cl.record: a recording holds launches of kernels alone; "
                  "move data and wait before it, or after its run");
}

/* The type of a command that has not been read out. */
static cl_command_type commandtype(const Event *e) {
  cl_command_type type = RECORDING;
  if (e->first == NULL)
    clGetEventInfo(e->handle, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
  return type;
}

/*
** The number of commands of a queue that have an Event and have not ended, up
** to `most`, without markers; *kernels: how many of them are kernels.
*/
int clsh_event_count(const Queue *q, int most, int *kernels) {
  int n = 0;
  *kernels = 0;
  for (Event *e = pending; e != NULL && n < most; e = e->next) {
    if (e->queue != q || e->handle == NULL ||
        clsh_poll_status(e->handle) <= CL_COMPLETE)
      continue;
    cl_command_type type = commandtype(e);
    n += type != CL_COMMAND_MARKER && type != CL_COMMAND_BARRIER;
    *kernels += type == CL_COMMAND_NDRANGE_KERNEL || type == RECORDING;
  }
  return n;
}

/* Whether a marker on the queue has not ended after `seconds`. */
bool clsh_event_markerpends(cl_command_queue queue, double seconds) {
  cl_event marker = NULL;
  if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker) != CL_SUCCESS)
    return false;
  clFlush(queue);
  double begin = clsh_poll_now(), now = begin;
  bool pends;
  while ((pends = clsh_poll_status(marker) > CL_COMPLETE) &&
         (now = clsh_poll_now()) < begin + seconds)
    if (now > begin + INSTANT)
      clsh_poll_nap(1e-4);
  clReleaseEvent(marker);
  return pends;
}

/*
** Whether an in-order queue has no command under way, as far as an instant
** tells: the newest command that has an Event has ended, and a marker.
*/
bool clsh_event_none(lua_State *L, Queue *q) {
  const Event *e = pending;
  while (e != NULL && (e->queue != q || e->handle == NULL))
    e = e->next;
  if ((e != NULL && clsh_poll_status(e->handle) > CL_COMPLETE) ||
      (q->dropped > 0 &&
       clsh_event_markerpends(clsh_queue_handle(L, q), INSTANT)))
    return false;
  q->dropped = 0;
  return true;
}

/*
** The name of the oldest kernel of a queue that has not ended. Without one:
** the name of a kernel whose Event was dropped, or NULL.
*/
const char *clsh_event_kernel(const Queue *q) {
  const char *name = q->dropped > 0 && q->kernel[0] != '\0' ? q->kernel : NULL;
  for (Event *e = pending; e != NULL; e = e->next)
    if (e->queue == q && e->handle != NULL && e->kernel[0] != '\0' &&
        clsh_poll_status(e->handle) > CL_COMPLETE)
      name = e->kernel;
  return name;
}

/* Host memory of a command whose Event was dropped before it ended. */
typedef struct Orphan {
  struct Orphan *next;
  cl_event handle;
  Block *pin;
} Orphan;

static Orphan *orphans;

/* Lets go of the memory of dropped commands that have ended meanwhile. */
static void sweeporphans(void) {
  for (Orphan **p = &orphans; *p != NULL && !clsh_driver_handsoff();) {
    Orphan *o = *p;
    if (clsh_poll_status(o->handle) > CL_COMPLETE) {
      p = &o->next;
      continue;
    }
    *p = o->next;
    clReleaseEvent(o->handle);
    clsh_array_unref(o->pin);
    free(o);
  }
}

/* Gives the last dropped commands a moment to end before the process does. */
static void atend(void) {
  double limit = clsh_poll_now() + 0.1;
  while (orphans != NULL && !clsh_driver_handsoff() &&
         clsh_poll_now() < limit) {
    sweeporphans();
    clsh_poll_nap(1e-3);
  }
}

/*
** Notes host memory that a dropped command still uses, and its event. If
** there is no memory for the note, both stay allocated.
*/
static void addorphan(cl_event handle, Block *pin) {
  Orphan *o = malloc(sizeof *o);
  if (o == NULL)
    return;
  static bool registered;
  if (!registered)
    registered = atexit(atend) == 0;
  *o = (Orphan){orphans, handle, pin};
  orphans = o;
}

static void notedropped(const Event *e) {
  Queue *q = e->queue;
  if (q == NULL)
    return;
  if (q->dropped < e->number)
    q->dropped = e->number;
  if (e->kernel[0] != '\0')
    memcpy(q->kernel, e->kernel, sizeof q->kernel);
}

/* Sets a user event, once; no command waits for it any more. */
static cl_int setuser(Event *e, cl_int status) {
  assert(e->queue == NULL && e->handle != NULL);
  if (status < 0) {
    e->context->failed = true;
    e->context->failure = status;
  }
  cl_int err = clSetUserEventStatus(e->handle, status);
  e->status = status;
  clReleaseEvent(e->handle);
  e->handle = NULL;
  unlinkevent(e);
  return err;
}

/* Fails all user events: at the program's end nobody is left to set one. */
void clsh_event_failall(void) {
  for (Event *e = pending, *next; e != NULL; e = next) {
    next = e->next;
    if (e->queue == NULL && e->handle != NULL && !clsh_driver_handsoff())
      setuser(e, GIVENUP);
  }
}

/*
** Dropping an Event never waits: memory still in use becomes an orphan, and
** stays allocated where the program ends while commands run. A user event
** that was not set fails, as the commands that wait for it would never end.
*/
static void event_release(Object *o) {
  Event *e = (Event *)o;
  if (e->queue == NULL && e->handle != NULL && !clsh_driver_handsoff())
    setuser(e, GIVENUP);
  unlinkevent(e);
  if (clsh_driver_abandoned())
    return;
  if (e->first != NULL && !clsh_driver_handsoff())
    clReleaseEvent(e->first);
  if (e->handle != NULL && !clsh_driver_handsoff()) {
    bool runs = clsh_poll_status(e->handle) > CL_COMPLETE;
    if (runs)
      notedropped(e);
    if (runs && e->pin != NULL) {
      addorphan(e->handle, e->pin);
      return;
    }
    clReleaseEvent(e->handle);
  }
  if (e->pin != NULL)
    clsh_array_unref(e->pin);
}

/*
** Notes a kernel without an Event on the queue at `queuearg`; the same rules
** as for clsh_event_new hold. Nothing but times, waits for this command alone
** and `after` lists needs an Event: a marker tells when all commands of a
** queue have ended, in order or not, and buffers are kept by the driver. While
** a timeline is recorded `e`, which is no object, gets a record.
*/
void clsh_event_spare(lua_State *L, int queuearg, const char *kernel,
                      Event *e) {
  checkrecording(L);
  Queue *q = clsh_queue_any(L, queuearg);
  q->interrupts = clsh_poll_interrupts();
  q->dropped = ++q->commands;
  memccpy(q->kernel, kernel, '\0', sizeof q->kernel - 1);
  if (clsh_timeline_on && e != NULL)
    clsh_timeline_command(q, e);
}

/* The hooks launches and gated, see hook.c. */
static int launches(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_flight_newest());
  return 1;
}

/* Whether commands may wait for a user event that nobody has set yet. */
static int gated(lua_State *L) {
  const Event *e = pending;
  while (e != NULL && (e->queue != NULL || e->handle == NULL))
    e = e->next;
  lua_pushboolean(L, e != NULL);
  return 1;
}

/* Pushes a pending event that keeps the object at `owner`. */
static Event *newevent(lua_State *L, int owner, Context *c, Queue *q) {
  sweeporphans();
  clsh_class_pressure(L, EVENTBYTES);
  Event *e = clsh_class_newowned(L, &clsh_event_class, 1, owner);
  e->queue = q;
  e->context = c;
  e->status = CL_QUEUED;
  e->flight = clsh_flight_newest();
  e->next = pending;
  e->link = &pending;
  if (pending != NULL)
    pending->link = &e->next;
  pending = e;
  return e;
}

/*
** Pushes an event for a command on the queue at `queuearg`. The caller then
** looks its objects' handles up and enqueues with its handle. Between
** the two nothing may allocate in Lua: a finalizer could run and close the
** objects of the command.
*/
Event *clsh_event_new(lua_State *L, int queuearg) {
  checkrecording(L);
  queuearg = lua_absindex(L, queuearg);
  Queue *q = clsh_queue_any(L, queuearg);
  q->interrupts = clsh_poll_interrupts();
  Event *e = newevent(L, queuearg, q->context, q);
  e->number = ++q->commands;
  if (clsh_timeline_on)
    clsh_timeline_command(q, e);
  return e;
}

/* Pushes the event of a launch that is recorded, for a queue of its device. */
Event *clsh_event_newrecorded(lua_State *L, int queuearg) {
  Queue *q = clsh_queue_any(L, queuearg);
  Event *e = newevent(L, lua_absindex(L, queuearg), q->context, q);
  unlinkevent(e);
  e->recorded = true;
  e->command = CL_COMMAND_NDRANGE_KERNEL;
  return e;
}

/* Raises in a recording, and for an Event of no command. */
void clsh_event_checkwait(lua_State *L, const Event *e) {
  checkrecording(L);
  if (e != NULL && e->recorded)
    clsh_error(L, "this Event belongs to a recorded launch and has no end; "
                  "steps:run() gives an Event that ends");
}

/* Keeps host memory allocated until the command has ended. */
void clsh_event_pin(Event *e, Block *b) {
  assert(b->refs > 0 && e->pin == NULL);
  b->refs++;
  e->pin = b;
}

/* Notes that the command is a kernel. */
void clsh_event_setkernel(Event *e, const char *name) {
  memccpy(e->kernel, name, '\0', sizeof e->kernel - 1);
}

/*
** Raises for a command that ended with an error. The error of a command that
** waited for a failed event does not mean that the device is lost.
*/
static void commandfailed(lua_State *L, Event *e) {
  cl_int code = e->status;
  if (e->queue == NULL && code != GIVENUP)
    clsh_error_call(L, code, "clWaitForEvents",
                    "Event:fail has set the Event");
  if (e->queue == NULL)
    clsh_error_call(L, code, "clWaitForEvents",
                    "the Event was closed before it was set");
  if (code == GIVENUP ||
      (e->context->failed && /* NVIDIA's drivers hand the status on */
       (code == POCLFAILED || code == e->context->failure))) {
    bool behind = !e->waits && !e->queue->out_of_order;
    e->queue->halted = e->queue->halted || behind;
    clsh_error_call(L, GIVENUP, "clWaitForEvents",
                    behind ? "an earlier command of the Queue waits for an "
                             "event that has failed, and the driver fails "
                             "all later commands there; take another "
                             "cl.queue(), or the default queue, which is "
                             "replaced"
                           : "an event that the command waits for has failed");
  }
  clsh_context_pushnotice(L);
  const char *notice = lua_tostring(L, -1);
  const char *message = lua_pushfstring(
      L,
      "clWaitForEvents: %s (%d): the command failed on the device%s%s; a "
      "kernel may have gone outside its buffers",
      clsh_error_name(code), (int)code, *notice != '\0' ? ": " : "", notice);
  if (code != CL_MEM_OBJECT_ALLOCATION_FAILURE) {
    clsh_context_setlost(e->context, code, "a command");
    clsh_context_raiselost(L, e->context, "clWaitForEvents", message);
  }
  clsh_error_push(L, code, "clWaitForEvents", message);
  lua_error(L);
}

/* Notes the end of a command: nothing waits for it, and its memory is free. */
static void end(Event *e) {
  Queue *q = e->queue;
  if (!q->out_of_order) {
    clsh_flight_end(e->flight, q);
    if (e->status == CL_COMPLETE && e->number > q->dropped)
      q->dropped = 0;
  } else if (e->kernel[0] != '\0')
    clsh_flight_end(e->flight, NULL);
  assert(e->link != NULL);
  unlinkevent(e);
  if (e->pin != NULL)
    clsh_array_unref(e->pin);
  e->pin = NULL;
}

/* Copies the times of an ended command and releases its handle. */
static void settle(Event *e) {
  cl_ulong stamp[4];
  e->command = commandtype(e);
  e->stamped = e->queue->profiled && e->status == CL_COMPLETE &&
               clsh_poll_times(e->handle, e->stamp);
  if (e->stamped && e->first != NULL) {
    e->stamped = clsh_poll_times(e->first, stamp);
    memcpy(e->stamp, stamp, 3 * sizeof *stamp);
  }
  if (e->first != NULL)
    clReleaseEvent(e->first);
  clReleaseEvent(e->handle);
  e->handle = e->first = NULL;
  if (e->mark != 0)
    clsh_timeline_ended(e);
  end(e);
}

/*
** Ends an event that stands for several commands, all of which have ended.
** `stamp`: the times of the whole, or NULL.
*/
void clsh_event_join(Event *e, cl_command_type command, cl_int status,
                     const cl_ulong *stamp) {
  assert(e->handle == NULL);
  e->command = command;
  e->status = status;
  e->stamped = e->queue->profiled && status == CL_COMPLETE && stamp != NULL;
  if (e->stamped)
    memcpy(e->stamp, stamp, sizeof e->stamp);
  if (e->mark != 0)
    clsh_timeline_ended(e);
  end(e);
}

/*
** Waits for the command of the event at `arg`; a failed command raises. A
** status alone does not make memory visible. clWaitForEvents does, and then
** returns at once. Where OpenCL fails to tell that the command has ended, the
** event keeps its memory, and the next wait asks again.
*/
void clsh_event_wait(lua_State *L, int arg) {
  Event *e = clsh_event_check(L, arg);
  clsh_event_checkwait(L, e);
  if (e->handle != NULL) {
    Context *c = e->context;
    clsh_context_alive(L, c);
    if (e->queue == NULL)
      clsh_error(L, "this wait would never end: Event:complete must set the "
                    "Event first");
    int64_t begin = clsh_timeline_on ? clsh_timeline_now() : 0;
    clsh_context_checkcommand(L, c, clsh_queue_flush(e->queue), "clFlush");
    clsh_context_checkcommand(
        L, c, clsh_poll_event(L, e->handle, c->device, &e->status),
        "clGetEventInfo");
    cl_int err =
        e->status == CL_COMPLETE ? clWaitForEvents(1, &e->handle) : CL_SUCCESS;
    if (err == GIVENUP && c->failed) /* Intel's driver tells it here alone */
      e->status = err;
    else
      clsh_context_checkcommand(L, c, err, "clWaitForEvents");
    settle(e);
    if (begin != 0)
      clsh_timeline_span(L, WAITED, begin, NULL, e, CL_SUCCESS);
  }
  if (e->status < 0)
    commandfailed(L, e);
}

/*
** Adds the event at `arg` to a wait list, unless its command has ended: behind
** a failed event a queue of PoCL would stand still.
*/
static void addafter(lua_State *L, int arg, Context *c, After *a) {
  Event *e = clsh_class_test(L, arg, &clsh_event_class);
  if (e == NULL) {
    const char *name = clsh_class_name(L, arg);
    bool closed = strcmp(name, clsh_event_class.name) == 0;
    clsh_error(L, "after: must be an Event or a list of Events; got %s%s",
               closed ? "a closed " : "", name);
  }
  if (!clsh_context_shares(e->context, c))
    clsh_error(L, "after: an Event of another context");
  if (e->recorded)
    clsh_event_checkwait(L, e);
  c->failed = c->failed || e->context != c; /* which may fail it later */
  cl_int status =
      e->handle != NULL && c->failed ? clsh_poll_status(e->handle) : e->status;
  if (status < 0)
    clsh_error(L, "after: this Event has failed, and the command would too");
  if (e->handle == NULL)
    return;
  if (a->n == MAXEVENTS)
    clsh_error(L, "after: more than %d events; join them by a marker",
               MAXEVENTS);
  clsh_context_alive(L, c);
  if (e->queue != NULL)
    clsh_queue_flush(e->queue); /* else the wait may never end */
  a->events[a->n++] = e->handle;
  a->list = a->events;
}

/* Gathers the `after` value at `arg`: nil, an Event or a list of them. */
void clsh_event_after(lua_State *L, int arg, Context *c, After *a) {
  a->n = 0;
  a->list = NULL;
  arg = lua_absindex(L, arg);
  if (lua_isnoneornil(L, arg))
    return;
  if (lua_type(L, arg) != LUA_TTABLE) {
    addafter(L, arg, c, a);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, arg);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, arg, i);
    addafter(L, -1, c, a);
    lua_pop(L, 1);
  }
}

/* The event at 1, ended, with time stamps. */
static Event *checkstamped(lua_State *L) {
  Event *e = clsh_event_check(L, 1);
  clsh_event_wait(L, 1);
  if (!e->stamped)
    clsh_error(L, e->queue == NULL
                      ? "no time stamps: no command sets this Event"
                      : "no time stamps: the Event's queue is not profiled "
                        "(cl.queue{profiling = true})");
  return e;
}

static lua_Number milliseconds(lua_State *L) {
  Event *e = checkstamped(L);
  if (e->stamp[3] < e->stamp[2])
    clsh_error(L, "the driver's event timer runs backwards: START %I, END %I",
               (LUAI_UACINT)e->stamp[2], (LUAI_UACINT)e->stamp[3]);
  return (lua_Number)(e->stamp[3] - e->stamp[2]) * 1e-6;
}

static int event_ms(lua_State *L) {
  lua_pushnumber(L, milliseconds(L));
  return 1;
}

/* ev.events: {ev}, as the span of several events has its list */
static int event_events(lua_State *L) {
  lua_createtable(L, 1, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  return 1;
}

/* ev.queued, ev.submit, ev.start, ev.stop */
static int event_stamp(lua_State *L) {
  const Event *e = checkstamped(L);
  const char *name = clsh_class_field(L);
  int i = 0;
  while (i < 3 && strcmp(name, stamps[i]) != 0)
    i++;
  lua_pushinteger(L, (lua_Integer)e->stamp[i]);
  return 1;
}

/* Pushes a rate; nil where the timer saw no time pass. */
static int pushrate(lua_State *L, lua_Number amount) {
  lua_Number ms = milliseconds(L);
  if (ms > 0)
    lua_pushnumber(L, amount / (ms * 1e6));
  else
    lua_pushnil(L);
  return 1;
}

/* The amount at 2, or the command's own. */
static lua_Number amount(lua_State *L, lua_Number own, const char *name) {
  if (lua_isnoneornil(L, 2) && !(own > 0))
    clsh_error_arg(L, 2, "the %s are not known; see Launch:work", name);
  return luaL_optnumber(L, 2, own);
}

/** Event:gflops([flop]) -> number
 * GFLOPS of a command that did `flop` floating-point operations, from
 * START to END on the device; nil if the timer saw no time pass. `flop` is by
 * default the number that the launch has: see Launch:work.
 * Example:
 * local n = 256
 * local A, B = matrix.random(n), matrix.random(n)
 * local C, event = gemm(A, B)
 * print(event:gflops(2 * n ^ 3)) -- GFLOPS
 */
static int event_gflops(lua_State *L) {
  const Event *e = clsh_event_check(L, 1);
  return pushrate(L, amount(L, e->flop, "operations"));
}

/** Event:gbs([bytes]) -> number
 * GB/s (10^9 bytes) of a command that moved `bytes` bytes, by default the
 * number that the launch has.
 * Example:
 * local b = cl.buffer("float", 2 ^ 20)
 * local event = b:fill(0)
 * print(event:gbs(b.bytes)) -- GB/s
 */
static int event_gbs(lua_State *L) {
  const Event *e = clsh_event_check(L, 1);
  return pushrate(L, amount(L, e->bytes, "bytes"));
}

/* ev.flop, ev.bytes: an integer where it is one; nil for 0. */
static int event_amount(lua_State *L) {
  const Event *e = clsh_event_check(L, 1);
  lua_Number x = *clsh_class_field(L) == 'f' ? e->flop : e->bytes;
  lua_Integer n;
  if (!(x > 0))
    lua_pushnil(L);
  else if (lua_numbertointeger(x, &n) && (lua_Number)n == x)
    lua_pushinteger(L, n);
  else
    lua_pushnumber(L, x);
  return 1;
}

static const char *statusname(cl_int status) {
  static const char *const names[] = {"complete", "running", "submitted",
                                      "queued", "unknown"};
  return status < 0 || status > STATUS_UNKNOWN ? "failed" : names[status];
}

static int event_status(lua_State *L) {
  Event *e = clsh_event_check(L, 1);
  if (e->handle != NULL) {
    clsh_context_alive(L, e->context);
    if (e->queue != NULL)
      clsh_queue_flush(e->queue); /* or the status may never change */
  }
  if (e->recorded)
    lua_pushliteral(L, "recorded");
  else
    lua_pushstring(L,
                   statusname(e->handle != NULL ? clsh_poll_status(e->handle)
                                                : e->status));
  return 1;
}

static int event_command(lua_State *L) {
  Event *e = clsh_event_check(L, 1);
  if (e->queue == NULL) {
    e->command = CL_COMMAND_USER;
  } else if (e->handle != NULL) {
    clsh_context_alive(L, e->context);
    e->command = commandtype(e);
  }
  lua_pushstring(L, clsh_timeline_commandname(e->command));
  return 1;
}

/** Event:info() -> table
 * command ("kernel", "read" ...), status ("queued", "submitted", "running",
 * "complete", "failed"; "unknown" where the driver does not tell; "recorded":
 * see cl.record), and, once it has ended on a profiled queue, queued, submit,
 * start, stop in nanoseconds. Fields of the event itself: `ev.ms` (START to
 * END, waits for the end), `ev.queued`, `ev.submit`, `ev.start`, `ev.stop`,
 * `ev.status`, `ev.command`, and `ev.flop`, `ev.bytes` where the launch knows
 * them.
 * Example:
 * local event = cl.buffer("float", 1000):fill(0)
 * local info = event:wait():info()
 * print(info.command, info.stop - info.start) -- nanoseconds
 */
static int event_info(lua_State *L) {
  Event *e = clsh_event_check(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  event_command(L);
  lua_setfield(L, 2, "command");
  event_status(L);
  lua_setfield(L, 2, "status");
  for (int i = 0; i < 4 && e->stamped; i++) {
    lua_pushinteger(L, (lua_Integer)e->stamp[i]);
    lua_setfield(L, 2, stamps[i]);
  }
  return 1;
}

static int event_tostring(lua_State *L) {
  Event *e = clsh_class_any(L, 1, &clsh_event_class);
  if (e->head.closed)
    lua_pushliteral(L, "Event (closed)");
  else if (e->recorded)
    lua_pushliteral(L, "Event recorded");
  else if (e->stamped && e->stamp[3] >= e->stamp[2])
    lua_pushfstring(L, "Event %s %f ms", clsh_timeline_commandname(e->command),
                    (lua_Number)(e->stamp[3] - e->stamp[2]) * 1e-6);
  else
    lua_pushfstring(L, "Event %s",
                    statusname(e->handle != NULL && !clsh_driver_handsoff()
                                   ? clsh_poll_status(e->handle)
                                   : e->status));
  return 1;
}

/* Enqueues a marker or barrier over {after = ...}, or over everything. */
static int enqueuemark(lua_State *L, bool barrier) {
  After after;
  Queue *q = clsh_queue_check(L, 1);
  Context *c = q->context;
  clsh_context_alive(L, c);
  clsh_option_check(L, 2, "after", barrier ? "q:barrier" : "q:marker");
  lua_settop(L, 2);
  clsh_option_push(L, 2, "after");
  Event *e = clsh_event_new(L, 1);
  cl_command_queue handle = clsh_queue_handle(L, q);
  clsh_event_after(L, 3, c, &after);
  e->waits = after.n > 0;
  cl_int err = barrier ? clEnqueueBarrierWithWaitList(handle, after.n,
                                                      after.list, &e->handle)
                       : clEnqueueMarkerWithWaitList(handle, after.n,
                                                     after.list, &e->handle);
  clsh_context_checkcommand(L, c, err,
                            barrier ? "clEnqueueBarrierWithWaitList"
                                    : "clEnqueueMarkerWithWaitList");
  clsh_timeline_enqueued(L, e);
  return 1;
}

/** Queue:marker([opts]) -> Event
 * An event that completes after the given events, or, without `after`, after
 * all commands that the queue has now.
 * Options:
 *   after  all so far  a list of events
 * Example:
 * local q = cl.context().queue
 * local b = cl.buffer("float", 1000)
 * local first = b:fill(1, {async = true})
 * q:marker{after = {first}}:wait()
 * print(first.status) --> complete
 */
static int queue_marker(lua_State *L) {
  return enqueuemark(L, false);
}

/** Queue:barrier([opts]) -> Event
 * Like a marker; later commands of the queue start after it.
 * Options as for Queue:marker.
 * Example:
 * local q <close> = cl.queue{out_of_order = true}
 * local b = cl.buffer("float", 1000)
 * b:fill(1, {queue = q, async = true})
 * q:barrier() -- what follows waits for the fill
 * b:fill(2, {queue = q, async = true, first = 1, count = 10})
 * q:finish()
 * print(b:read()[1], b:read()[11]) --> 2.0 1.0
 */
static int queue_barrier(lua_State *L) {
  return enqueuemark(L, true);
}

/** cl.user_event([opts]) -> Event
 * An event that the script sets: commands with it in their `after` list start
 * after `e:complete()`, and fail after `e:fail()`; NVIDIA's driver then also
 * fails the later commands of their in-order Queue. A user event that is
 * closed or collected before, or at the program's end, fails: keep it in a
 * variable.
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
  clsh_option_check(L, 1, "context", "cl.user_event");
  lua_settop(L, 1);
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  Event *e = newevent(L, 3, clsh_context_check(L, 3), NULL);
  cl_event handle = clCreateUserEvent(clsh_context_handle(L, c), &err);
  if (err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clCreateUserEvent",
                    "the driver has no user events, start commands in their "
                    "order instead");
  clsh_error_check(L, err, "clCreateUserEvent");
  e->handle = handle;
  return 1;
}

/* Sets the user event at 1 and returns it. */
static int set(lua_State *L, cl_int status) {
  Event *e = clsh_event_check(L, 1);
  if (e->queue != NULL)
    return clsh_error_arg(L, 1,
                          "must be an Event of cl.user_event; a command "
                          "sets this one");
  if (e->handle == NULL)
    return clsh_error_arg(L, 1, "this Event has been set already");
  clsh_context_alive(L, e->context);
  clsh_error_check(L, setuser(e, status), "clSetUserEventStatus");
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
 * it fail without a run, and waits for these commands raise. A wait for the
 * Event itself raises `code`, an integer below 0, -59 by default
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

static const luaL_Reg methods[] = {
    {"complete", event_complete}, {"fail", event_fail}, {"gbs", event_gbs},
    {"gflops", event_gflops},     {"info", event_info}, {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"bytes", event_amount},  {"command", event_command},
    {"events", event_events}, {"flop", event_amount},
    {"ms", event_ms},         {"queued", event_stamp},
    {"span_ms", event_ms},    {"start", event_stamp},
    {"status", event_status}, {"stop", event_stamp},
    {"submit", event_stamp},  {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", event_tostring}, {NULL, NULL}};
const Class clsh_event_class = {"Event", sizeof(Event), methods,      fields,
                                meta,    NULL,          event_release};

void clsh_event_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"user_event", cl_userevent},
                                       {NULL, NULL}};
  static const luaL_Reg queue[] = {
      {"barrier", queue_barrier}, {"marker", queue_marker}, {NULL, NULL}};
  lua_pushcfunction(L, launches);
  clsh_hook_set(L, "launches");
  lua_pushcfunction(L, gated);
  clsh_hook_set(L, "gated");
  clsh_class_define(L, &clsh_event_class);
  clsh_class_add(L, "Queue", queue, NULL);
  luaL_setfuncs(L, functions, 0);
}
