/*
** launch.c - class Launch: a kernel over an NDRange, ready to be called.
** A call sets every argument and enqueues, in one step: no state is left
** for a later call to trip over.
** SPDX-License-Identifier: MIT
*/
#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "object.h"
#include "queue.h"

enum { KERNEL = 1, QUEUE, AFTER, USERVALUES = 3 };

static const Class class;

static Launch *checklaunch(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

static void checkdims(lua_State *L, const Launch *l, int arg, const char *name,
                      cl_uint dims) {
  if (dims != l->dims)
    clsh_error_arg(L, arg, "%s must have %d dimensions, as global; got %d",
                   name, (int)l->dims, (int)dims);
}

/** Kernel:range(global [, local [, offset]]) -> Launch
 * The kernel over an NDRange, to be called with its arguments. `global`: a
 * number of work-items, or a list of up to three, work-item dimension 0
 * first. `local`: the local size (work-group) in the same form; without it
 * the driver chooses. `offset`: the first global id, 0 by default. The
 * device and the kernel must allow the local size, and it must divide the
 * global size where the device requires that; else an error gives the
 * numbers. Calling the result sets every argument and enqueues:
 * `local ev = k:range({n, m}, {16, 16})(2.0, x, y)`.
 */
static int kernel_range(lua_State *L) {
  Kernel *k = clsh_kernel_check(L, 1);
  lua_settop(L, 4);
  Launch *l = clsh_class_new(L, &class, USERVALUES);
  l->kernel = k;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 5, KERNEL);
  l->dims = clsh_ndrange_sizes(L, 2, "global", 1, l->global);
  l->haslocal = !lua_isnil(L, 3);
  l->hasoffset = !lua_isnil(L, 4);
  if (l->dims > clsh_context_limits(k->context)->dims)
    return clsh_error_arg(L, 2, "the device has %d dimensions",
                          (int)clsh_context_limits(k->context)->dims);
  if (l->haslocal)
    checkdims(L, l, 3, "local",
              clsh_ndrange_sizes(L, 3, "local", 1, l->local));
  if (l->hasoffset)
    checkdims(L, l, 4, "offset",
              clsh_ndrange_sizes(L, 4, "offset", 0, l->offset));
  clsh_ndrange_check(L, l);
  return 1;
}

static const char *const on_options[] = {"after", NULL};

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
 */
static int launch_on(lua_State *L) {
  After after;
  Launch *l = checklaunch(L, 1);
  Queue *q = lua_isnoneornil(L, 2) ? NULL : clsh_queue_check(L, 2);
  lua_settop(L, 3);
  clsh_option_check(L, 3, on_options, "l:on");
  if (q != NULL && clsh_queue_context(q) != l->kernel->context)
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

static const char *const work_options[] = {"flop", "bytes", NULL};

/** Launch:work(opts) -> Launch
 * The same launch with its work, for `ev.flop`, `ev.bytes` and rates.
 * Options:
 *   flop   0  floating-point operations of the kernel
 *   bytes  0  bytes that the kernel moves
 */
static int launch_work(lua_State *L) {
  checklaunch(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  clsh_option_check(L, 2, work_options, "l:work");
  lua_Number flop = checkamount(L, "flop"), bytes = checkamount(L, "bytes");
  Launch *n = clone(L);
  n->flop = flop;
  n->bytes = bytes;
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

static const char *pushlocal(lua_State *L, const Launch *l) {
  return l->haslocal ? clsh_ndrange_push(L, l->local, l->dims)
                     : lua_pushliteral(L, "left to the driver");
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
      l->kernel->name, clsh_ndrange_push(L, l->global, l->dims),
      pushlocal(L, l), (LUAI_UACINT)l->kernel->group,
      *notice != '\0' ? "; the driver says: " : "", notice);
}

/* launch(args...) -> Event */
static int launch_call(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  int nargs = lua_gettop(L) - 1;
  After after = {.n = 0};
  Kernel *k = l->kernel;
  Queue *q = pushqueue(L, 1);
  Event *e = clsh_event_new(L, -1); /* first: what follows runs no script */
  if (k->head.closed)
    return clsh_error(L, "%s: this Kernel is closed", k->name);
  if (l->revision != k->revision) {
    lua_getiuservalue(L, 1, KERNEL);
    clsh_kernel_check(L, -1);
    lua_pop(L, 1);
    clsh_ndrange_check(L, l);
  }
  cl_command_queue handle = clsh_queue_handle(L, q);
  if (l->hasafter) {
    lua_getiuservalue(L, 1, AFTER);
    clsh_event_after(L, -1, k->context, &after);
    lua_pop(L, 1);
  }
  clsh_arg_set(L, k, 2, nargs);
  cl_int err = clEnqueueNDRangeKernel(
      handle, k->handle, l->dims, l->hasoffset ? l->offset : NULL, l->global,
      l->haslocal ? l->local : NULL, after.n, after.n > 0 ? after.list : NULL,
      clsh_event_slot(e));
  if (err != CL_SUCCESS)
    launchfailed(L, l, err);
  clsh_event_setwork(e, l->flop, l->bytes);
  return 1;
}

static int launch_global(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  clsh_kernel_pushsizes(L, l->global, l->dims);
  return 1;
}

static int launch_local(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  if (!l->haslocal)
    return 0;
  clsh_kernel_pushsizes(L, l->local, l->dims);
  return 1;
}

static int launch_offset(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  clsh_kernel_pushsizes(L, l->offset, l->dims);
  return 1;
}

static int launch_kernel(lua_State *L) {
  checklaunch(L, 1);
  lua_getiuservalue(L, 1, KERNEL);
  return 1;
}

/** Launch:info() -> table
 * kernel (its name), global, localsize (nil: the driver chooses), offset,
 * as lists of sizes. Each is a field too; `l.kernel` is the Kernel.
 */
static int launch_info(lua_State *L) {
  static const char *const names[] = {"global", "localsize", "offset", NULL};
  Launch *l = checklaunch(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; names[i] != NULL; i++) {
    lua_getfield(L, 1, names[i]);
    lua_setfield(L, 2, names[i]);
  }
  lua_pushstring(L, l->kernel->name);
  lua_setfield(L, 2, "kernel");
  return 1;
}

static int launch_tostring(lua_State *L) {
  Launch *l = clsh_class_any(L, 1, &class);
  if (l->kernel == NULL)
    return lua_pushliteral(L, "Launch"), 1;
  lua_pushfstring(L, "Launch %s over %s, local %s%s", l->kernel->name,
                  clsh_ndrange_push(L, l->global, l->dims), pushlocal(L, l),
                  l->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"info", launch_info},
                                   {"on", launch_on},
                                   {"work", launch_work},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {{"global", launch_global},
                                  {"kernel", launch_kernel},
                                  {"localsize", launch_local},
                                  {"offset", launch_offset},
                                  {NULL, NULL}};
static const luaL_Reg meta[] = {
    {"__call", launch_call}, {"__tostring", launch_tostring}, {NULL, NULL}};
static const Class class = {"Launch", sizeof(Launch), methods, fields,
                            meta,     NULL,           NULL};

void clsh_launch_open(lua_State *L) {
  static const luaL_Reg kernel_methods[] = {{"range", kernel_range},
                                            {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_add(L, "Kernel", kernel_methods, NULL);
  clsh_option_declare(L, "Launch:on", on_options);
  clsh_option_declare(L, "Launch:work", work_options);
}
