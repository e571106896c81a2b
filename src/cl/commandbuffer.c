/*
** commandbuffer.c - class CommandBuffer: launches recorded once, to be run as
** a whole any number of times. Each launch has a kernel object of its own,
** whose arguments stay: PoCL 3.1 reads the arguments of a command buffer at
** its run. A run enqueues the first launch by itself: its event tells START on
** every driver, the event of a command buffer does not. The launches behind it
** follow as the driver's command buffer (cl_khr_command_buffer), or else one
** by one.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "flight.h"
#include "kernel.h"
#include "program.h"
#include "timeline.h"

/* of cl_khr_command_buffer */
#define CAPABILITIES 0x12A9 /* CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR */
#define NEEDED 0x12AA       /* ..._REQUIRED_QUEUE_PROPERTIES_KHR */
#define SIMULTANEOUS ((cl_bitfield)1 << 2) /* capability */
#define FLAGS 0x1293                       /* CL_COMMAND_BUFFER_FLAGS_KHR */
#define FLAG_SIMULTANEOUS 1
#define INCOMPATIBLE_QUEUE (-1140) /* CL_INCOMPATIBLE_COMMAND_QUEUE_KHR */

/*
** The functions that all versions of the extension have alike, with the
** driver's command buffer as void *. Headers declare it in several ways.
*/
typedef void *(CL_API_CALL *Creator)(cl_uint, const cl_command_queue *,
                                     const cl_ulong *, cl_int *);
typedef cl_int(CL_API_CALL *Ender)(void *);
typedef cl_int(CL_API_CALL *Recorder)(void *, cl_command_queue,
                                      const cl_ulong *, cl_kernel, cl_uint,
                                      const size_t *, const size_t *,
                                      const size_t *, cl_uint, const cl_uint *,
                                      cl_uint *, void *);
typedef cl_int(CL_API_CALL *Enqueuer)(cl_uint, cl_command_queue *, void *,
                                      cl_uint, const cl_event *, cl_event *);
typedef struct Functions {
  Creator create;
  Ender finalize, release;
  Recorder kernel;
  Enqueuer enqueue;
} Functions;

/* A recorded launch: a userdata without a metatable. */
typedef struct Step {
  struct Step *next;
  cl_kernel handle;
  const Kernel *kernel;
  Range range;
  int nobjects;
  const Object *objects[]; /* its arguments that may be closed */
} Step;

/*
** User values: the Context, and the list of {Launch, arguments ..., n = their
** number, step = the Step, uses = a list of Buffers}.
*/
enum { CONTEXT = 1, CALLS, USERVALUES = 2 };

typedef struct CommandBuffer {
  Object head;
  Context *context; /* NULL: nothing was recorded yet */
  Step *first, *last;
  int n;
  cl_kernel spare; /* of the launch being recorded */
  void *native;    /* the driver's, without the first launch; NULL: none */
  cl_command_queue queue; /* the queue of `native` */
  Functions call;
  lua_Number flop, bytes;
  bool prints;
} CommandBuffer;

static void dropspare(CommandBuffer *b) {
  if (b->spare != NULL)
    clReleaseKernel(b->spare);
  b->spare = NULL;
}

static void commandbuffer_release(Object *o) {
  CommandBuffer *b = (CommandBuffer *)o;
  if (clsh_driver_handsoff())
    return;
  dropspare(b);
  if (b->native != NULL) {
    b->call.release(b->native);
    clReleaseCommandQueue(b->queue);
  }
  for (Step *s = b->first; s != NULL; s = s->next)
    clReleaseKernel(s->handle);
  b->native = NULL;
  b->first = NULL;
}

static const Class class;

static CommandBuffer *checkbuffer(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

/* A kernel object of the same kernel as `kernel`, without arguments. */
static cl_kernel newkernel(lua_State *L, int kernel) {
  cl_int err;
  const Kernel *k = clsh_kernel_check(L, kernel);
  lua_getiuservalue(L, kernel, KERNEL_PROGRAM);
  const Program *p = lua_touserdata(L, -1);
  if (p->head.closed)
    clsh_error(L,
               "cl.record: %s: the Program of the kernel is closed; keep "
               "it open until the recording is over",
               k->name);
  lua_pop(L, 1);
  cl_kernel handle = clCreateKernel(p->handle, k->name, &err);
  clsh_error_check(L, err, "clCreateKernel");
  return handle;
}

/* Pushes a Step of the values from 2 on. */
static Step *newstep(lua_State *L, const Kernel *k, const Range *r,
                     int nargs) {
  size_t size = (size_t)nargs * sizeof(Object *);
  Step *s = lua_newuserdatauv(L, sizeof *s + size, 0);
  memset(s, 0, sizeof *s);
  s->kernel = k;
  s->range = *r;
  return s;
}

/* Pushes the table of a call of the launch at 1. */
static void newcall(lua_State *L, int nargs) {
  lua_createtable(L, nargs + 1, 3);
  for (int i = 1; i <= nargs + 1; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, i);
  }
  clsh_field_integer(L, "n", nargs);
}

/* Takes the Context of the Kernel at `kernel`, which all launches share. */
static void checkcontext(lua_State *L, CommandBuffer *b, int kernel) {
  const Kernel *k = clsh_kernel_check(L, kernel);
  if (b->context == k->context)
    return;
  if (b->context != NULL)
    clsh_error(L,
               "cl.record: %s is of another context (device) than the "
               "launches before; make a recording for each",
               k->name);
  lua_getiuservalue(L, kernel, KERNEL_CONTEXT);
  lua_setiuservalue(L, -2, CONTEXT);
  b->context = k->context;
}

/*
** Adds the launch at 1 with its arguments to the recording under way. It
** counts once everything is set: a script may catch an error of it.
*/
void clsh_commandbuffer_add(lua_State *L, int kernel, const Range *r,
                            int nargs) {
  Kernel *k = clsh_kernel_check(L, kernel), own = *k;
  clsh_hook_push(L, "recording");
  CommandBuffer *b = checkbuffer(L, -1);
  checkcontext(L, b, kernel);
  lua_getiuservalue(L, -1, CALLS);
  int calls = lua_gettop(L);
  newcall(L, nargs);
  Step *s = newstep(L, k, r, nargs);
  lua_setfield(L, calls + 1, "step");
  dropspare(b);
  own.handle = b->spare = newkernel(L, kernel);
  clsh_kernel_copyuses(L, kernel, own.handle);
  lua_setfield(L, calls + 1, "uses");
  clsh_flight_begin(L, k->name, NULL);
  clsh_arg_set(L, &own, NULL, 2, nargs);
  for (int i = 0; i < nargs; i++) {
    const Object *o = clsh_arg_object(L, i + 2);
    if (o != NULL)
      s->objects[s->nobjects++] = o;
  }
  lua_rawseti(L, calls, b->n + 1);
  s->handle = b->spare;
  b->spare = NULL;
  *(b->n++ == 0 ? &b->first : &b->last->next) = s;
  b->last = s;
  b->flop += r->flop;
  b->bytes += r->bytes;
  b->prints = b->prints || k->prints;
  lua_settop(L, calls - 2);
}

/* Raises where an argument was closed since the recording. */
static void checkopen(lua_State *L, const CommandBuffer *b) {
  int n = 0;
  for (const Step *s = b->first; s != NULL; s = s->next) {
    n++;
    for (int i = 0; i < s->nobjects; i++)
      if (s->objects[i]->closed)
        clsh_error(L,
                   "launch %d of the recording, %s, takes a closed %s; keep "
                   "it open as long as the recording is run",
                   n, s->kernel->name, s->objects[i]->class->name);
  }
}

static bool find(cl_platform_id platform, const char *name, void *f) {
  void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
  memcpy(f, &found, sizeof found);
  return found != NULL;
}

/* Whether the driver has command buffers that the default queue can run. */
static bool offered(lua_State *L, const Context *c, Functions *f) {
  cl_platform_id p = NULL;
  cl_command_queue_properties needed = 0;
  clGetDeviceInfo(c->device, NEEDED, sizeof needed, &needed, NULL);
  return clsh_device_offers(L, c->device, "cl_khr_command_buffer") &&
         (needed & ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE) == 0 &&
         clGetDeviceInfo(c->device, CL_DEVICE_PLATFORM, sizeof p, &p, NULL) ==
             CL_SUCCESS &&
         find(p, "clCreateCommandBufferKHR", &f->create) &&
         find(p, "clFinalizeCommandBufferKHR", &f->finalize) &&
         find(p, "clReleaseCommandBufferKHR", &f->release) &&
         find(p, "clCommandNDRangeKernelKHR", &f->kernel) &&
         find(p, "clEnqueueCommandBufferKHR", &f->enqueue);
}

/*
** Makes the driver's command buffer of the launches behind the first. It has
** no sync points, as the queue is in order and PoCL 3.1 gets them wrong.
*/
static void makenative(CommandBuffer *b, cl_command_queue queue) {
  const Functions *f = &b->call;
  cl_bitfield has = 0;
  cl_ulong flags[] = {FLAGS, FLAG_SIMULTANEOUS, 0};
  cl_int err;
  clGetDeviceInfo(b->context->device, CAPABILITIES, sizeof has, &has, NULL);
  void *native =
      f->create(1, &queue, (has & SIMULTANEOUS) != 0 ? flags : NULL, &err);
  if (err != CL_SUCCESS)
    return;
  for (const Step *s = b->first->next; s != NULL && err == CL_SUCCESS;
       s = s->next) {
    const Range *r = &s->range;
    err = f->kernel(native, NULL, NULL, s->handle, r->dims,
                    r->hasoffset ? r->offset : NULL, r->global,
                    r->haslocal ? r->local : NULL, 0, NULL, NULL, NULL);
  }
  if (err == CL_SUCCESS)
    err = f->finalize(native);
  if (err != CL_SUCCESS) {
    f->release(native);
    return;
  }
  clRetainCommandQueue(queue);
  b->native = native;
  b->queue = queue;
}

/* Completes the recording at 2, whose function has returned. */
static void complete(lua_State *L, CommandBuffer *b, bool native) {
  dropspare(b);
  if (b->n == 0)
    clsh_error(L, "cl.record: the function has launched no kernel; call "
                  "k:range(n)(...) in it");
  native = native && b->n > 1 && offered(L, b->context, &b->call);
  lua_getiuservalue(L, 2, CONTEXT);
  Queue *q = clsh_queue_push(L, -1);
  checkopen(L, b);
  if (native)
    makenative(b, clsh_queue_handle(L, q));
}

/* Sets the recording thread, NULL: none, and its CommandBuffer, which it pops
** from the top. */
static void setrecorder(lua_State *L, lua_State *thread) {
  clsh_hook_set(L, "recording");
  if (thread != NULL)
    lua_pushthread(thread);
  else
    lua_pushnil(L);
  clsh_hook_set(L, "recorder");
  clsh_event_record(thread);
}

/*
** Ends the recording of a CommandBuffer, upvalue 1, which an error closes. It
** may be over, and another recording under way: see clsh_event_recording.
*/
static int guard_close(lua_State *L) {
  if (!lua_isnoneornil(L, 2))
    clsh_class_close(lua_touserdata(L, lua_upvalueindex(1)));
  clsh_hook_push(L, "recording");
  if (lua_rawequal(L, -1, lua_upvalueindex(1))) {
    lua_pushnil(L);
    setrecorder(L, NULL);
  }
  return 0;
}

/* Begins the recording of the CommandBuffer at the top; pushes its guard. */
static void begin(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, guard_close, 1);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -2);
  setrecorder(L, L);
  lua_toclose(L, -1);
}

/** cl.record(f [, opts]) -> CommandBuffer
 * Calls f() and records the launches that it makes, in their order, with the
 * arguments that they have then; no launch is enqueued. `steps()` runs them
 * all in one call, any number of times, and gives one Event. Expressions and
 * families are recorded as their launches: `y:set(2 * x)`,
 * `gemm(A, B, {C = C})`, `s = x:dot(y, 1)`. All launches are of one device,
 * without queues and `after` lists of their own. Other commands raise in f:
 * reads (numbers as of `x:sum()`, too), writes, fills, copies, waits.
 * `y:slice(1, -1):set(0)` fills, and `y:set(x)` copies, by a launch. Numbers
 * are fixed; each run reads the Buffers anew; Program:rebuild changes nothing.
 * The CommandBuffer keeps its Buffers; a run refuses a Buffer that was closed.
 * `#steps` is the number of launches, `steps.native` whether the launches
 * behind the first are a command buffer of the driver (cl_khr_command_buffer).
 * Elsewhere they are enqueued one by one, in C.
 * Options:
 *   native  true  whether to take the driver's command buffers
 * Example:
 * local k = cl.kernel [[
 * kernel void halve(global float *x, float least) {
 *   int i = get_global_id(0);
 *   x[i] = max(x[i] / 2, least);
 * }]]
 * local x, y = cl.buffer("float", 100, 64), cl.buffer("float", 100)
 * local steps = cl.record(function()
 *   k:range(100)(x, 1)
 *   y:set(x + 1)
 * end)
 * for _ = 1, 3 do
 *   steps()
 * end
 * print(#steps, x:read()[1], y:read()[1]) --> 2 8.0 9.0
 */
static int cl_record(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 2);
  clsh_option_check(L, 2, "native", "cl.record");
  bool native = clsh_option_flag(L, 2, "native", true);
  lua_settop(L, 1);
  if (clsh_event_recording())
    return clsh_error(L, "cl.record: a recording is under way already; end "
                         "the function of that recording first");
  CommandBuffer *b = clsh_class_new(L, &class, USERVALUES);
  lua_newtable(L);
  lua_setiuservalue(L, 2, CALLS);
  begin(L);
  lua_pushvalue(L, 1);
  lua_call(L, 0, 0);
  clsh_event_record(NULL);
  complete(L, b, native);
  lua_settop(L, 2); /* closes the guard */
  return 1;
}

/*
** Enqueues the launches behind the first one by one, each after the launch
** before where the queue does not keep the order. Sets the event of the last.
*/
static cl_int enqueuerest(const CommandBuffer *b, cl_command_queue q,
                          bool wanted, bool chained, Event *e) {
  cl_int err = CL_SUCCESS;
  cl_event before = NULL;
  for (const Step *s = b->first->next; s != NULL && err == CL_SUCCESS;
       s = s->next) {
    cl_event event = NULL;
    After after = {.n = chained, .list = before != NULL ? &before : &e->first};
    after.list = chained ? after.list : NULL;
    err = clsh_kernel_enqueue(s->handle, &s->range, q, &after,
                              chained || (wanted && s->next == NULL) ? &event
                                                                     : NULL);
    if (before != NULL)
      clReleaseEvent(before);
    before = event;
  }
  e->handle = before;
  return err;
}

static cl_int enqueueall(const CommandBuffer *b, cl_command_queue q,
                         const After *after, bool wanted, bool chained,
                         Event *e) {
  cl_event *slot = b->n > 1 ? &e->first : &e->handle;
  cl_int err = clsh_kernel_enqueue(b->first->handle, &b->first->range, q,
                                   after, wanted ? slot : NULL);
  if (err != CL_SUCCESS || b->n == 1)
    return err;
  bool native = b->native != NULL && !chained;
  if (native)
    do
      err = b->call.enqueue(1, &q, b->native, 0, NULL, &e->handle);
    while (clsh_heldmemory_retry(err));
  if (!native || err == CL_INVALID_OPERATION ||
      err == INCOMPATIBLE_QUEUE) /* of other properties, or it still runs */
    err = enqueuerest(b, q, wanted, chained, e);
  return err;
}

/* Notes the run for messages, as "axpy and 2 more". */
static void note(lua_State *L, const CommandBuffer *b, const Queue *q,
                 Event *e) {
  char name[MAXNAME];
  snprintf(name, sizeof name, "%.24s and %d more", b->first->kernel->name,
           b->n - 1);
  const char *text = b->n > 1 ? name : b->first->kernel->name;
  clsh_event_setkernel(e, text);
  clsh_flight_begin(L, text, q->out_of_order ? NULL : q);
  e->flight = clsh_kernel_note(&b->first->range);
  e->flop = b->flop;
  e->bytes = b->bytes;
}

/*
** On a simulator: calls each Launch, so that cl.launched is told of it. The
** simulator runs one command after the other, whatever the queue. The Queue
** is at 3, the `after` value at 4. Pushes the last Event.
*/
static void callall(lua_State *L, const CommandBuffer *b) {
  lua_getiuservalue(L, 1, CALLS);
  for (int i = 1; i <= b->n; i++) {
    lua_settop(L, 5);
    lua_rawgeti(L, 5, i);
    lua_getfield(L, 6, "n");
    int nargs = (int)lua_tointeger(L, -1);
    luaL_checkstack(L, nargs + 5, "too many arguments");
    lua_rawgeti(L, 6, 1);
    lua_getfield(L, -1, "on");
    lua_insert(L, -2);
    lua_pushvalue(L, 3);
    lua_newtable(L);
    if (i == 1) {
      lua_pushvalue(L, 4);
      lua_setfield(L, -2, "after");
    }
    lua_call(L, 3, 1);
    for (int j = 2; j <= nargs + 1; j++)
      lua_rawgeti(L, 6, j);
    lua_call(L, nargs, 1);
  }
}

/* Pushes the queue of a run: from its options at 2, or the default queue. */
static Queue *pushqueue(lua_State *L, const CommandBuffer *b) {
  if (clsh_option_push(L, 2, "queue") == LUA_TNIL) {
    lua_getiuservalue(L, 1, CONTEXT);
    clsh_queue_push(L, -1);
    lua_replace(L, 3);
    lua_settop(L, 3);
  }
  Queue *q = clsh_queue_option(L, 3);
  if (q->context != b->context)
    clsh_error(L, "queue: the Queue is of another context (device) than the "
                  "recording");
  return q;
}

/** CommandBuffer:run([opts]) -> Event
 * Runs the launches of a `cl.record`, in their order; does not wait, unless a
 * source calls printf. The Event's times go from the START of the first launch
 * to the END of the last; a first build by the driver in between counts. Its
 * work is the sum of the launches' work (Launch:work). `steps()` is the same;
 * as a statement it makes no Event.
 * Options:
 *   queue  the default  the Queue to run on, of the same Context
 *   after  none         a list of events to wait for
 * Example:
 * local k = cl.kernel "kernel void one(global int *x) { x[0] += 1; }"
 * local x = cl.buffer("int", 1, 0)
 * local steps = cl.record(function()
 *   k:range(1)(x)
 *   k:range(1)(x)
 * end)
 * local q = cl.queue()
 * local first = steps:run{queue = q}
 * local last = steps:run{after = first} -- on the default queue
 * print(last:wait().status, x:read()[1], last.ms > 0) --> complete 4 true
 */
static int commandbuffer_run(lua_State *L) {
  After after;
  CommandBuffer *b = checkbuffer(L, 1);
  clsh_option_check(L, 2, "queue after", "steps:run");
  lua_settop(L, 2);
  Queue *q = pushqueue(L, b);
  clsh_option_push(L, 2, "after");
  Event none = {.handle = NULL}, *e = &none;
  bool wanted = clsh_results_taken(L, 0, 1) || q->out_of_order || b->prints ||
                b->native != NULL || b->context->limits.simulated ||
                clsh_timeline_on;
  if (wanted)
    e = clsh_event_new(L, 3); /* first: the next calls run no script */
  else
    clsh_event_spare(L, 3, b->first->kernel->name, NULL);
  checkbuffer(L, 1);
  checkopen(L, b);
  if (b->context->limits.simulated) {
    lua_settop(L, 4);
    callall(L, b);
    return 1;
  }
  fflush(stdout); /* before the kernels' own printf */
  cl_command_queue handle = clsh_queue_handle(L, q);
  clsh_event_after(L, 4, b->context, &after);
  e->waits = after.n > 0;
  note(L, b, q, e);
  cl_int err = enqueueall(b, handle, &after, wanted, q->out_of_order, e);
  if (err != CL_SUCCESS && e->first == NULL)
    clsh_flight_drop();
  clsh_context_checkcommand(L, b->context, err, "steps:run");
  clsh_timeline_enqueued(L, e);
  if (b->prints)
    clsh_event_wait(L, 5);
  return wanted;
}

static int commandbuffer_native(lua_State *L) {
  lua_pushboolean(L, checkbuffer(L, 1)->native != NULL);
  return 1;
}

static int commandbuffer_len(lua_State *L) {
  lua_pushinteger(L, checkbuffer(L, 1)->n);
  return 1;
}

/** CommandBuffer:info() -> table
 * kernels (the list of the launches' kernel names), native, and device (its
 * name). `steps.native`, `steps.context` and `#steps` are there as well.
 * Example:
 * local k = cl.kernel "kernel void one(global int *x) { x[0] += 1; }"
 * local x = cl.buffer("int", 1, 0)
 * local steps = cl.record(function() k:range(1)(x) end)
 * print(steps:info().kernels[1], steps:info().native) --> one false
 */
static int commandbuffer_info(lua_State *L) {
  const CommandBuffer *b = checkbuffer(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(L, "native");
  clsh_context_setdevice(L);
  lua_createtable(L, b->n, 0);
  int n = 0;
  for (const Step *s = b->first; s != NULL; s = s->next) {
    lua_pushstring(L, s->kernel->name);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, 2, "kernels");
  return 1;
}

static int commandbuffer_tostring(lua_State *L) {
  const CommandBuffer *b = clsh_class_any(L, 1, &class);
  lua_pushfstring(L, "CommandBuffer of %d launch%s%s%s", b->n,
                  b->n == 1 ? "" : "es", b->native != NULL ? ", native" : "",
                  b->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {
    {"info", commandbuffer_info}, {"run", commandbuffer_run}, {NULL, NULL}};
static const luaL_Reg fields[] = {{"native", commandbuffer_native},
                                  {NULL, NULL}};
static const Field plain[] = {{"context", 'u', CONTEXT}, {0}};
static const luaL_Reg meta[] = {{"__call", commandbuffer_run},
                                {"__len", commandbuffer_len},
                                {"__tostring", commandbuffer_tostring},
                                {NULL, NULL}};
static const Class class = {
    "CommandBuffer",      sizeof(CommandBuffer), methods, fields, meta, NULL,
    commandbuffer_release};

void clsh_commandbuffer_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"record", cl_record}, {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_addfields(L, &class, plain);
  luaL_setfuncs(L, functions, 0);
}
