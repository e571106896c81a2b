/*
** launch.c - class Launch: a kernel over an NDRange, ready to be called. Its
** sizes are checked here, as the errors of drivers name no numbers.
** A call sets every argument and enqueues, in one step: no state is left
** for a later call to trip over.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flight.h"
#include "kernel.h"
#include "timeline.h"

#define ITEMBITS 48 /* 2^48 work-items at 10^12 a second take 5 minutes */
#define MAXITEMS ((cl_ulong)1 << ITEMBITS)
#define MAXGROUPS UINT32_MAX /* of a launch: drivers count them in 32 bits */

typedef struct Launch {
  Object head;
  Kernel *kernel;
  Range r;
  bool hasafter;
  bool local;   /* the caller gave a local size */
  int revision; /* the kernel's revision at the check of sizes */
} Launch;

static const char *pushglobal(lua_State *L, const Launch *l) {
  return clsh_shape_pushtext(L, l->r.global, (int)l->r.dims);
}

static const char *pushlocal(lua_State *L, const Launch *l) {
  return l->r.haslocal ? clsh_shape_pushtext(L, l->r.local, (int)l->r.dims)
                       : lua_pushliteral(L, "left to the driver");
}

/* Raises CL_INVALID_WORK_GROUP_SIZE with all the numbers. */
static void badgroup(lua_State *L, const Launch *l, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  clsh_error_call(L, CL_INVALID_WORK_GROUP_SIZE, "clEnqueueNDRangeKernel",
                  "%s: local %s over global %s: %s", l->kernel->name,
                  pushlocal(L, l), pushglobal(L, l), text);
}

static void checkrequired(lua_State *L, const Launch *l) {
  const size_t *required = l->kernel->required;
  for (cl_uint i = 0; required[0] != 0 && i < 3; i++)
    if (required[i] != (i < l->r.dims ? l->r.local[i] : 1))
      badgroup(L, l, "the kernel requires %s",
               clsh_shape_pushtext(L, required, 3));
}

/* Checks that the local size divides the global size. */
static void checkmultiple(lua_State *L, const Launch *l) {
  for (cl_uint i = 0; i < l->r.dims; i++) {
    size_t local = l->r.local[i], rest = l->r.global[i] % local;
    if (rest != 0)
      badgroup(L, l,
               "global size %I must be a multiple of local size %I; round it "
               "up to %I and test the index in the kernel",
               (LUAI_UACINT)l->r.global[i], (LUAI_UACINT)local,
               (LUAI_UACINT)(l->r.global[i] - rest + local));
  }
}

/* Checks the local size against the device, the kernel and the range. */
static void checklocal(lua_State *L, const Launch *l) {
  const Kernel *k = l->kernel;
  const Limits *limits = &k->context->limits;
  size_t items = 1;
  for (cl_uint i = 0; i < l->r.dims; i++) {
    if (l->r.local[i] > limits->item[i])
      badgroup(L, l, "the device allows %I in dimension %d",
               (LUAI_UACINT)limits->item[i], (int)i + 1);
    items =
        items > SIZE_MAX / l->r.local[i] ? SIZE_MAX : items * l->r.local[i];
  }
  if (items > limits->group)
    badgroup(L, l, "%I work-items, the device allows %I", (LUAI_UACINT)items,
             (LUAI_UACINT)limits->group);
  if (items > k->group)
    badgroup(
        L, l,
        "%I work-items, this kernel allows %I on the device, which allows %I",
        (LUAI_UACINT)items, (LUAI_UACINT)k->group, (LUAI_UACINT)limits->group);
  if (!limits->nonuniform || !k->nonuniform)
    checkmultiple(L, l);
  checkrequired(L, l);
}

/*
** Chooses the local size on a pretended device, whose limits the driver does
** not know: sizes that divide the global size.
*/
static void chooselocal(Launch *l) {
  size_t room = l->kernel->group;
  for (cl_uint i = 0; i < l->r.dims; i++) {
    size_t n = l->r.global[i], size = n < room ? n : room;
    while (size > 1 && n % size != 0)
      size--;
    l->r.local[i] = size > 0 ? size : 1;
    room /= l->r.local[i];
  }
  l->r.haslocal = true;
}

/*
** Checks the number of work-groups; for a launch without a local size the
** number of work-items, as a driver may choose groups of 1.
*/
static void checkgroups(lua_State *L, const Launch *l) {
  cl_ulong groups = 1;
  for (cl_uint i = 0; i < l->r.dims; i++) {
    size_t local = l->r.haslocal ? l->r.local[i] : 1;
    groups *= l->r.global[i] / local + (l->r.global[i] % local != 0);
  }
  if (groups > MAXGROUPS)
    clsh_error_arg(
        L, 2,
        "global %s: a launch may have %I work-groups; got %I "
        "with the local size %s; %s",
        pushglobal(L, l), (LUAI_UACINT)MAXGROUPS, (LUAI_UACINT)groups,
        l->r.haslocal ? clsh_shape_pushtext(L, l->r.local, (int)l->r.dims)
                      : "1",
        l->r.haslocal ? "take a larger one, or several launches with "
                        "an offset"
                      : "pass one");
}

/* Checks the global size, with its offset, and the kernel's own needs. */
static void checkglobal(lua_State *L, const Launch *l) {
  const Kernel *k = l->kernel;
  cl_ulong own = clsh_kernel_local(k), items = 1;
  for (cl_uint i = 0; i < l->r.dims; i++) {
    if (l->r.offset[i] > SIZE_MAX - l->r.global[i])
      clsh_error_arg(L, 4, "offset and global size overflow");
    if (items > 0 && l->r.global[i] > MAXITEMS / items)
      clsh_error_arg(L, 2, "global %s: more than 2^%d work-items",
                     pushglobal(L, l), ITEMBITS);
    items *= l->r.global[i];
  }
  checkgroups(L, l);
  if (own > clsh_context_localroom(k->context, own, k->local_mem))
    clsh_error(L, "%s: the kernel has %I bytes of local memory, the device %I",
               k->name, (LUAI_UACINT)own,
               (LUAI_UACINT)(k->local_mem != 0
                                 ? k->local_mem
                                 : k->context->limits.local_mem));
}

/* Checks the sizes against the kernel as it is now. A required local size
** stands in for a missing one. */
static void checkrange(lua_State *L, Launch *l) {
  const size_t *required = l->kernel->required;
  l->r.haslocal = l->local || required[0] != 0;
  if (!l->local)
    memcpy(l->r.local, required, sizeof l->r.local);
  if (!l->r.haslocal && l->kernel->context->limits.pretended)
    chooselocal(l);
  checkglobal(L, l);
  if (l->r.haslocal)
    checklocal(L, l);
  l->revision = l->kernel->revision;
}

enum { KERNEL = 1, QUEUE, AFTER, USERVALUES = 3 };

static const Class class;

static Launch *checklaunch(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

/* Reads the sizes at `arg`, of as many dimensions as the global size. */
static void checkdims(lua_State *L, const Launch *l, int arg, const char *name,
                      lua_Integer least, size_t *sizes) {
  int dims = clsh_shape_sizes(L, arg, name, 3, least, sizes);
  if (dims != (int)l->r.dims)
    clsh_error_arg(L, arg, "%s must have %d dimensions, as global; got %d",
                   name, (int)l->r.dims, dims);
}

/** Kernel:range(global [, local [, offset]]) -> Launch
 * The kernel over an NDRange, to be called with its arguments. `global`: a
 * number of work-items, or a list of up to three, work-item dimension 0
 * first; over 0 work-items it runs nothing. `local`: the local size
 * (work-group) in the same form; without it the kernel's
 * reqd_work_group_size counts, and else the driver chooses.
 * `offset`: the first global id, 0 by default. The device and the kernel must
 * allow the local size, and it must divide the global size where the device
 * requires that; else an error gives the numbers. Calling the result sets
 * every argument and enqueues:
 * `local ev = k:range({n, m}, {16, 16})(2.0, x, y)`. A call whose Event nobody
 * takes, `launch(x, y)` as a statement, asks the driver for none, which makes
 * it cheaper; so do all calls that give an Event. It does not wait, unless the
 * source calls printf: its output then comes before the script's next.
 * Example:
 * local k = cl.kernel [[
 * kernel void index(global int *x, int ld) {
 *   int j = get_global_id(0), i = get_global_id(1);
 *   x[i * ld + j] = 10 * i + j;
 * }]]
 * local x = cl.buffer("int", {4, 8})
 * local launch = k:range({8, 4}, {4, 2}) -- 8 columns, 4 rows
 * launch(x, 8)
 * print(x:read():at(3, 8)) --> 27
 */
static int kernel_range(lua_State *L) {
  Kernel *k = clsh_kernel_check(L, 1);
  lua_settop(L, 4);
  Launch *l = clsh_class_newowned(L, &class, USERVALUES, 1);
  l->kernel = k;
  l->r.dims = (cl_uint)clsh_shape_sizes(L, 2, "global", 3, 0, l->r.global);
  l->local = !lua_isnil(L, 3);
  l->r.hasoffset = !lua_isnil(L, 4);
  if (l->r.dims > k->context->limits.dims)
    return clsh_error_arg(L, 2, "the device has %d dimensions",
                          (int)k->context->limits.dims);
  if (l->local)
    checkdims(L, l, 3, "local", 1, l->r.local);
  if (l->r.hasoffset)
    checkdims(L, l, 4, "offset", 0, l->r.offset);
  checkrange(L, l);
  return 1;
}

/* Pushes a copy of the launch at 1. */
static Launch *clone(lua_State *L) {
  const Launch *l = checklaunch(L, 1);
  Launch *n = clsh_class_new(L, &class, USERVALUES);
  Object head = n->head;
  *n = *l;
  n->head = head;
  for (int i = KERNEL; i <= AFTER; i++) {
    lua_getiuservalue(L, 1, i);
    lua_setiuservalue(L, -2, i);
  }
  return n;
}

/** Launch:on(queue [, opts]) -> Launch
 * The same launch on another queue (nil: the default queue), or after
 * certain events: `l:on(q, {after = {ev1, ev2}})(x, y)`.
 * Options:
 *   after  none  a list of events to wait for
 * Example:
 * local k = cl.kernel "kernel void add(global int *x) { (*x)++; }"
 * local q <close> = cl.queue{out_of_order = true}
 * local x = cl.buffer("int", 1, 0)
 * local first = k:range(1):on(q)(x)
 * local second = k:range(1):on(q, {after = {first}})(x)
 * second:wait()
 * print(x:read()[1]) --> 2
 */
static int launch_on(lua_State *L) {
  After after;
  Launch *l = checklaunch(L, 1);
  Queue *q = lua_isnoneornil(L, 2) ? NULL : clsh_queue_check(L, 2);
  lua_settop(L, 3);
  clsh_option_check(L, 3, "after", "l:on");
  if (q != NULL && q->context != l->kernel->context)
    return clsh_error_arg(L, 2, "the Queue is of another context (device)");
  Launch *n = clone(L);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 4, QUEUE);
  clsh_option_push(L, 3, "after");
  clsh_event_after(L, -1, l->kernel->context, &after);
  n->hasafter = !lua_isnil(L, -1);
  lua_setiuservalue(L, 4, AFTER);
  return 1;
}

/* The option `name` of the table at 2: a number >= 0, 0 by default. */
static lua_Number checkamount(lua_State *L, const char *name) {
  if (lua_getfield(L, 2, name) != LUA_TNIL &&
      !(lua_isnumber(L, -1) && lua_tonumber(L, -1) >= 0))
    clsh_error_arg(L, 2, "%s must be a number >= 0; got %s", name,
                   luaL_tolstring(L, -1, NULL));
  return lua_tonumber(L, -1);
}

/** Launch:work(opts) -> Launch
 * The same launch with its work, for `ev.flop`, `ev.bytes` and rates.
 * Options:
 *   flop   0  floating-point operations of the kernel
 *   bytes  0  bytes that the kernel moves
 * Example:
 * local k = cl.kernel "kernel void twice(global float *x) { *x *= 2; }"
 * local x = cl.buffer("float", 1000, 1)
 * local launch = k:range(1000):work{flop = 1000, bytes = 8000}
 * print(launch(x)) -- with GFLOPS and GB/s
 */
static int launch_work(lua_State *L) {
  checklaunch(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  clsh_option_check(L, 2, "flop bytes", "l:work");
  lua_Number flop = checkamount(L, "flop"), bytes = checkamount(L, "bytes");
  Launch *n = clone(L);
  n->r.flop = flop;
  n->r.bytes = bytes;
  return 1;
}

/* Pushes the queue of a launch: its own, or the context's default. */
static Queue *pushqueue(lua_State *L, int launch) {
  if (lua_getiuservalue(L, launch, QUEUE) == LUA_TNIL) {
    lua_getiuservalue(L, launch, KERNEL);
    lua_getiuservalue(L, -1, KERNEL_CONTEXT);
    return clsh_queue_push(L, -1);
  }
  return clsh_queue_any(L, -1);
}

/* Raises for a launch that the driver refused. */
static void launchfailed(lua_State *L, const Launch *l, cl_int err) {
  if (err == CL_INVALID_COMMAND_QUEUE || err < -1100)
    clsh_context_setlost(l->kernel->context, err, "clEnqueueNDRangeKernel");
  clsh_context_pushnotice(L);
  const char *notice = lua_tostring(L, -1);
  clsh_error_call(
      L, err, "clEnqueueNDRangeKernel",
      "%s: global %s, local %s; this kernel allows %I work-items in a "
      "group%s%s",
      l->kernel->name, pushglobal(L, l), pushlocal(L, l),
      (LUAI_UACINT)l->kernel->group,
      *notice != '\0' ? "; the driver says: " : "", notice);
}

/* Hands the launch at 1 and its arguments to the function of cl.launched. */
static void tell(lua_State *L, int nargs, int event) {
  static bool telling;
  if (telling || clsh_hook_push(L, "launched") == LUA_TNIL)
    return;
  clsh_event_wait(L, event);
  luaL_checkstack(L, nargs + 1, "too many arguments");
  for (int i = 1; i <= nargs + 1; i++)
    lua_pushvalue(L, i);
  telling = true;
  int status = lua_pcall(L, nargs + 1, 0, 0);
  telling = false;
  if (status != LUA_OK)
    lua_error(L);
}

/* Pushes the words for parameter i if the kernel may write to it, or nil. */
static void pushwritten(lua_State *L, const Kernel *k, int i) {
  const Param *p = k->head.closed || i >= k->nparams ? NULL : &k->params[i];
  if (p != NULL && p->known && p->pointer && p->space == 'g' && !p->constant)
    lua_pushfstring(L, "%s: argument %d '%s'", k->name, i + 1, p->name);
  else
    lua_pushnil(L);
}

/*
** Replaces arguments that are tables with a metamethod __buffer, expressions,
** by Buffers. It waits for them if the launch has its own queue.
*/
static void evaluate(lua_State *L, const Kernel *k) {
  int top = lua_gettop(L);
  for (int i = 2; i <= top; i++)
    if (lua_istable(L, i) && luaL_getmetafield(L, i, "__buffer") != LUA_TNIL) {
      lua_pushvalue(L, i);
      lua_pushboolean(L, lua_getiuservalue(L, 1, QUEUE) != LUA_TNIL);
      lua_remove(L, -2); /* the queue */
      pushwritten(L, k, i - 2);
      lua_call(L, 3, 1);
      lua_replace(L, i);
    }
}

/* Raises where the kernel of the launch at 1, as it is now, cannot run. */
static void checknow(lua_State *L, Launch *l) {
  if (l->kernel->head.closed)
    clsh_error(L, "%s: this Kernel is closed", l->kernel->name);
  if (l->revision == l->kernel->revision)
    return;
  lua_getiuservalue(L, 1, KERNEL);
  clsh_kernel_check(L, -1);
  lua_pop(L, 1);
  checkrange(L, l);
}

/* Adds the launch at 1 with its arguments to the recording. */
static int record(lua_State *L, Launch *l, int nargs) {
  checknow(L, l);
  if (l->hasafter || lua_getiuservalue(L, 1, QUEUE) != LUA_TNIL)
    return clsh_error(L,
                      "cl.record: %s: a recorded launch has no queue and no "
                      "events of its own; steps:run{queue = q, after = ev} "
                      "gives them to all",
                      l->kernel->name);
  lua_getiuservalue(L, 1, KERNEL);
  clsh_commandbuffer_add(L, lua_gettop(L), &l->r, nargs);
  pushqueue(L, 1);
  clsh_event_newrecorded(L, lua_gettop(L));
  return 1;
}

/* launch(args...) -> Event, which a call as a statement does without */
static int launch_call(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  Event none = {.handle = NULL}, *e = &none;
  evaluate(L, l->kernel);
  int nargs = lua_gettop(L) - 1;
  After after = {.n = 0};
  Kernel *k = l->kernel;
  if (!k->asked && !k->head.closed) {
    lua_getiuservalue(L, 1, KERNEL);
    clsh_typedef_resolve(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  if (clsh_event_recording())
    return record(L, l, nargs);
  Kernel *marked = NULL;
  if (clsh_timeline_on && !k->context->limits.simulated) {
    lua_getiuservalue(L, 1, KERNEL);
    marked = clsh_kernel_marked(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  Queue *q = pushqueue(L, 1);
  bool wanted =
      clsh_results_taken(L, 0, 1) || k->prints || k->context->limits.simulated;
  if (wanted)
    e = clsh_event_new(L, -1); /* first: the next calls run no script */
  else
    clsh_event_spare(L, -1, k->name, e);
  checknow(L, l);
  fflush(stdout); /* before the kernel's own printf */
  cl_command_queue handle = clsh_queue_handle(L, q);
  if (l->hasafter) {
    lua_getiuservalue(L, 1, AFTER);
    clsh_event_after(L, -1, k->context, &after);
    e->waits = after.n > 0;
    lua_pop(L, 1);
  }
  clsh_flight_begin(L, k->name, q->out_of_order ? NULL : q);
  clsh_arg_set(L, marked != NULL ? marked : k, q, 2, nargs);
  if (marked != NULL)
    clsh_timeline_mark(e, marked->handle, (cl_uint)nargs);
  e->flight = clsh_kernel_note(&l->r);
  cl_int err = clsh_kernel_enqueue((marked != NULL ? marked : k)->handle,
                                   &l->r, handle, &after,
                                   wanted         ? &e->handle
                                   : e->mark != 0 ? clsh_timeline_slot(e)
                                                  : NULL);
  if (err != CL_SUCCESS) {
    clsh_flight_drop();
    launchfailed(L, l, err);
  }
  if (!wanted && e->mark == 0)
    return 0;
  clsh_event_setkernel(e, k->name);
  e->flop = l->r.flop;
  e->bytes = l->r.bytes;
  if (e->mark != 0) {
    clsh_timeline_sizes(e, l->r.dims, l->r.global,
                        l->r.haslocal ? l->r.local : NULL);
    clsh_timeline_enqueued(L, e);
  }
  if (!wanted)
    return 0;
  int event = lua_gettop(L);
  if (k->prints)
    clsh_event_wait(L, event);
  if (k->context->limits.simulated)
    tell(L, nargs, event);
  lua_settop(L, event);
  return 1;
}

/* l.global, l.localsize, l.offset */
static int launch_sizes(lua_State *L) {
  const Launch *l = checklaunch(L, 1);
  const char *name = clsh_class_field(L);
  if (*name == 'l' && !l->r.haslocal)
    return 0;
  clsh_shape_pushsizes(L,
                       *name == 'g'   ? l->r.global
                       : *name == 'l' ? l->r.local
                                      : l->r.offset,
                       (int)l->r.dims);
  return 1;
}

/** Launch:info() -> table
 * kernel (its name), global, localsize (nil: the driver chooses), offset,
 * as lists of sizes. Each is a field too; `l.kernel` is the Kernel.
 * Example:
 * local launch = cl.kernel("kernel void f(void) {}"):range({8, 4}, {4, 2})
 * print(launch.global[1], launch.localsize[2]) --> 8 2
 */
static int launch_info(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(L, "global localsize offset");
  lua_pushstring(L, l->kernel->name);
  lua_setfield(L, 2, "kernel");
  return 1;
}

static int launch_tostring(lua_State *L) {
  Launch *l = clsh_class_any(L, 1, &class);
  if (l->kernel == NULL)
    return lua_pushliteral(L, "Launch"), 1;
  lua_pushfstring(L, "Launch %s over %s, local %s%s", l->kernel->name,
                  pushglobal(L, l), pushlocal(L, l),
                  l->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"info", launch_info},
                                   {"on", launch_on},
                                   {"work", launch_work},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {{"global", launch_sizes},
                                  {"localsize", launch_sizes},
                                  {"offset", launch_sizes},
                                  {NULL, NULL}};
static const Field plain[] = {{"kernel", 'u', KERNEL}, {0}};
static const luaL_Reg meta[] = {
    {"__call", launch_call}, {"__tostring", launch_tostring}, {NULL, NULL}};
static const Class class = {"Launch", sizeof(Launch), methods, fields,
                            meta,     NULL,           NULL};

void clsh_launch_open(lua_State *L) {
  static const luaL_Reg kernel_methods[] = {{"range", kernel_range},
                                            {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_addfields(L, &class, plain);
  clsh_class_add(L, "Kernel", kernel_methods, NULL);
}
