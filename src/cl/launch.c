/*
** launch.c - class Launch: a kernel over an NDRange, ready to be called.
** A call sets every argument and enqueues, in one step: no state is left
** that a later call could trip over.
** SPDX-License-Identifier: MIT
*/
#include "launch.h"
#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "object.h"
#include "queue.h"

enum { KERNEL = 1, QUEUE, AFTER, USERVALUES = 3 };

static void launch_release(Object *o) {
  (void)o;
}

static const Class class;

static Launch *checklaunch(lua_State *L, int arg) {
  return clsh_checkobject(L, arg, &class);
}

/** Kernel:range(global [, local [, offset]]) -> Launch
 * The kernel over an NDRange, to be called with its arguments. `global`: a
 * number of work-items, or a list of up to three, work-item dimension 0
 * first. `local`: the local size (work-group) in the same form; without it
 * the driver chooses. `offset`: the first global id, 0 by default. A local
 * size that the device or the kernel does not allow, or that does not
 * divide the global size on a device that wants it to: an error with the
 * numbers. Calling the result sets every argument and enqueues:
 * `local ev = k:range({n, m}, {16, 16})(2.0, x, y)`.
 */
int clsh_kernelrange(lua_State *L) {
  Kernel *k = clsh_checkkernel(L, 1);
  lua_settop(L, 4);
  Launch *l = clsh_newobject(L, &class, USERVALUES);
  l->kernel = k;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 5, KERNEL);
  l->dims = clsh_checksizes(L, 2, "global", 1, l->global);
  l->haslocal = !lua_isnil(L, 3);
  l->hasoffset = !lua_isnil(L, 4);
  if (l->dims > clsh_limits(clsh_kernelcontext(k))->dims)
    return clsh_argerror(L, 2, "the device has %d dimensions",
                         (int)clsh_limits(clsh_kernelcontext(k))->dims);
  if (l->haslocal && clsh_checksizes(L, 3, "local", 1, l->local) != l->dims)
    return clsh_argerror(L, 3,
                         "global has %d dimensions, local another "
                         "number",
                         (int)l->dims);
  if (l->hasoffset && clsh_checksizes(L, 4, "offset", 0, l->offset) != l->dims)
    return clsh_argerror(L, 4,
                         "global has %d dimensions, offset another "
                         "number",
                         (int)l->dims);
  clsh_checkrange(L, l);
  return 1;
}

static const char *const on_options[] = {"after", NULL};

/* Pushes a copy of the launch at 1. */
static Launch *clone(lua_State *L) {
  const Launch *l = checklaunch(L, 1);
  Launch *n = clsh_newobject(L, &class, USERVALUES);
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
  Queue *q = lua_isnoneornil(L, 2) ? NULL : clsh_checkqueue(L, 2);
  lua_settop(L, 3);
  clsh_checkoptions(L, 3, on_options, "l:on");
  if (q != NULL && clsh_queuecontext(q) != clsh_kernelcontext(l->kernel))
    return clsh_argerror(L, 2, "the Queue is of another context (device)");
  Launch *n = clone(L);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 4, QUEUE);
  if (lua_isnil(L, 3))
    lua_pushnil(L);
  else
    lua_getfield(L, 3, "after");
  clsh_checkafter(L, -1, clsh_kernelcontext(l->kernel), &after);
  n->hasafter = !lua_isnil(L, -1);
  lua_setiuservalue(L, 4, AFTER);
  return 1;
}

/* A field of the options at 2: a number, 0 and up; 0 where there is none. */
static lua_Number checkamount(lua_State *L, const char *name) {
  if (lua_getfield(L, 2, name) != LUA_TNIL &&
      !(lua_isnumber(L, -1) && lua_tonumber(L, -1) >= 0))
    clsh_argerror(L, 2, "%s: a number from 0 up expected", name);
  return lua_tonumber(L, -1);
}

static const char *const work_options[] = {"flop", "bytes", NULL};

/** Launch:work(opts) -> Launch
 * The same launch, which knows its work: `ev.flop`, `ev.bytes` and rates.
 * Options:
 *   flop   0  floating-point operations that it does
 *   bytes  0  bytes that it moves
 */
static int launch_work(lua_State *L) {
  checklaunch(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  clsh_checkoptions(L, 2, work_options, "l:work");
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
    clsh_pushkernelcontext(L, -1);
    return clsh_pushqueue(L, -1);
  }
  return clsh_anyqueue(L, -1);
}

/* Raises for a launch that the driver refused. */
static void launchfailed(lua_State *L, const Launch *l, cl_int err) {
  const size_t *required;
  if (err == CL_INVALID_COMMAND_QUEUE || err < -1100)
    clsh_setlost(clsh_kernelcontext(l->kernel), err, "clEnqueueNDRangeKernel");
  clsh_pushnotice(L);
  const char *notice = lua_tostring(L, -1);
  clsh_fail(L, err, "clEnqueueNDRangeKernel",
            "%s: global %s, local %s; this kernel allows %I work-items in a "
            "group%s%s",
            clsh_kernelname(l->kernel), clsh_pushsizes(L, l->global, l->dims),
            l->haslocal ? clsh_pushsizes(L, l->local, l->dims)
                        : "left to the "
                          "driver",
            (LUAI_UACINT)clsh_kernelgroup(l->kernel, &required),
            *notice != '\0' ? "; the driver says: " : "", notice);
}

/* launch(args...) -> Event */
static int launch_call(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  int nargs = lua_gettop(L) - 1;
  After after = {.n = 0};
  Kernel *k = l->kernel;
  Queue *q = pushqueue(L, 1);
  Event *e = clsh_newevent(L, -1); /* first: what follows runs no script */
  if (((Object *)k)->closed)
    return clsh_error(L, "%s: this Kernel is closed", clsh_kernelname(k));
  if (l->revision != clsh_kernelrevision(k)) {
    lua_getiuservalue(L, 1, KERNEL);
    clsh_checkkernel(L, -1);
    lua_pop(L, 1);
    clsh_checkrange(L, l);
  }
  cl_command_queue handle = clsh_queuehandle(L, q);
  if (l->hasafter) {
    lua_getiuservalue(L, 1, AFTER);
    clsh_checkafter(L, -1, clsh_kernelcontext(k), &after);
    lua_pop(L, 1);
  }
  clsh_setargs(L, k, 2, nargs);
  cl_int err = clEnqueueNDRangeKernel(
      handle, clsh_kernelhandle(k), l->dims, l->hasoffset ? l->offset : NULL,
      l->global, l->haslocal ? l->local : NULL, after.n,
      after.n > 0 ? after.list : NULL, clsh_eventslot(e));
  if (err != CL_SUCCESS)
    launchfailed(L, l, err);
  clsh_setwork(e, l->flop, l->bytes);
  return 1;
}

static int pushlist(lua_State *L, const size_t *s, cl_uint n) {
  lua_createtable(L, (int)n, 0);
  for (cl_uint i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)s[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int launch_global(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  return pushlist(L, l->global, l->dims);
}

static int launch_local(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  return l->haslocal ? pushlist(L, l->local, l->dims) : 0;
}

static int launch_offset(lua_State *L) {
  Launch *l = checklaunch(L, 1);
  return pushlist(L, l->offset, l->dims);
}

static int launch_kernel(lua_State *L) {
  checklaunch(L, 1);
  lua_getiuservalue(L, 1, KERNEL);
  return 1;
}

/** Launch:info() -> table
 * kernel (its name), global, localsize (nil: the driver's choice), offset,
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
  lua_pushstring(L, clsh_kernelname(l->kernel));
  lua_setfield(L, 2, "kernel");
  return 1;
}

static int launch_tostring(lua_State *L) {
  Launch *l = clsh_anyobject(L, 1, &class);
  if (l->kernel == NULL)
    return lua_pushliteral(L, "Launch"), 1;
  lua_pushfstring(L, "Launch %s over %s, local %s%s",
                  clsh_kernelname(l->kernel),
                  clsh_pushsizes(L, l->global, l->dims),
                  l->haslocal ? clsh_pushsizes(L, l->local, l->dims)
                              : "left to the driver",
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
static const Class class = {"Launch", sizeof(Launch), methods,       fields,
                            meta,     NULL,           launch_release};

void clsh_openlaunch(lua_State *L) {
  clsh_newclass(L, &class);
  clsh_declare(L, "Launch:on", on_options);
  clsh_declare(L, "Launch:work", work_options);
}
