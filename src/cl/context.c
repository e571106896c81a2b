/*
** context.c - class Context: a device's memory and programs, its limits,
** and whether it can still be used (after fork, after a lost device).
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "device.h"
#include "driver.h"
#include "memory.h"

#define MAXSHARED 64 /* devices with memory in common */

#define NVCAPABILITY 0x4000 /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV */
#define NONUNIFORM 0x1065   /* CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT */
#define OBJECT 3072         /* bytes of a new object that count, at least */
#define NVRESERVE 1024 /* local memory that CUDA keeps in each work-group */

/* The remedies for a lost device. NVIDIA's driver refuses all later calls of
   the process. */
#define NVIDIALOST                                                            \
  "it takes no command from this process any more; at the prompt %restart "   \
  "begins anew and restores the session, a script has to be started again"
#define LOST                                                                  \
  "everything on it is gone; new buffers and programs try to open it anew, "  \
  "%restart at the prompt begins anew, and cl.use() takes another device"

/* The driver's text of its last error, written from any thread. */
typedef struct Notice {
  pthread_mutex_t lock;
  char text[1280];
} Notice;

static Notice notice = {PTHREAD_MUTEX_INITIALIZER, ""};

static void CL_CALLBACK onnotice(const char *text, const void *data,
                                 size_t size, void *user) {
  (void)data, (void)size, (void)user;
  pthread_mutex_lock(&notice.lock);
  snprintf(notice.text, sizeof notice.text, "%.*s",
           (int)sizeof notice.text - 1, text != NULL ? text : "");
  pthread_mutex_unlock(&notice.lock);
}

/* Pushes the driver's last notice, or "", and forgets it. */
void clsh_context_pushnotice(lua_State *L) {
  char text[sizeof notice.text];
  pthread_mutex_lock(&notice.lock);
  memcpy(text, notice.text, sizeof text);
  notice.text[0] = '\0';
  pthread_mutex_unlock(&notice.lock);
  lua_pushstring(L, text);
}

static void context_release(Object *o) {
  Context *c = (Context *)o;
  bool ours = c->handle != NULL && !clsh_driver_handsoff();
  for (int i = 0; ours && i < SAMPLERS; i++)
    if (c->samplers[i] != NULL)
      clReleaseSampler(c->samplers[i]);
  clsh_heldmemory_empty(&c->hold);
  if (c->pool != NULL)
    clsh_pinned_free(c->pool, ours);
  c->pool = NULL;
  if (ours)
    clReleaseContext(c->handle);
  c->handle = NULL;
}

/*
** Reads the limits of a device; where a driver does not know the question, the
** least that OpenCL demands. Returns other errors of the first five.
*/
static cl_int getlimits(cl_device_id d, Limits *l) {
  const struct {
    cl_device_info query;
    size_t size;
    void *value;
  } list[] = {
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof l->group, &l->group},
      {CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof l->item, l->item},
      {CL_DEVICE_LOCAL_MEM_SIZE, sizeof l->local_mem, &l->local_mem},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof l->max_alloc, &l->max_alloc},
      {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof l->global_mem, &l->global_mem},
      {CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, sizeof l->dims, &l->dims},
      {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof l->constant_mem,
       &l->constant_mem},
      {CL_DEVICE_MAX_CONSTANT_ARGS, sizeof l->constant_args,
       &l->constant_args}};
  l->dims = 3;
  l->item[0] = l->item[1] = l->item[2] = 1;
  l->group = (size_t)clsh_info_least(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  l->local_mem = clsh_info_least(CL_DEVICE_LOCAL_MEM_SIZE);
  l->max_alloc = clsh_info_least(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  l->global_mem = clsh_info_least(CL_DEVICE_GLOBAL_MEM_SIZE);
  for (int i = 0; i < 8; i++) {
    cl_int err =
        clsh_device_ask(d, list[i].query, list[i].size, list[i].value, NULL);
    if (err != CL_SUCCESS && err != CL_INVALID_VALUE && i < 5)
      return err;
  }
  return CL_SUCCESS;
}

/* Derives the other limits, from the text of the version among others. */
static void derivelimits(cl_device_id d, const char *version, Limits *l) {
  int major, minor;
  cl_uint align = 0, capability;
  cl_bool nonuniform = CL_FALSE, shared = CL_FALSE;
  if (sscanf(version, "OpenCL %1d.%1d", &major, &minor) != 2)
    major = 1, minor = 2;
  l->pretended = clsh_device_pretends();
  l->version = major * 100 + minor * 10;
  l->simulated = strstr(version, "Oclgrind") != NULL;
  if (clGetDeviceInfo(d, NVCAPABILITY, sizeof capability, &capability, NULL) ==
      CL_SUCCESS)
    l->reserve = NVRESERVE;
  if (clGetDeviceInfo(d, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align, &align,
                      NULL) != CL_SUCCESS)
    align = 1024;
  l->align = align >= 8 ? align / 8 : 1;
  if (l->version >= 300)
    clGetDeviceInfo(d, NONUNIFORM, sizeof nonuniform, &nonuniform, NULL);
  clGetDeviceInfo(d, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared, &shared,
                  NULL);
  l->shared = shared != CL_FALSE;
  l->nonuniform = l->version >= 300 ? nonuniform : l->version >= 200;
}

/* Pushes a context for the device at `arg` without a handle. */
static Context *pushbox(lua_State *L, int arg) {
  arg = lua_absindex(L, arg);
  cl_device_id device = clsh_device_check(L, arg);
  if (clsh_driver_child())
    clsh_error(L, "OpenCL was used before fork(); start a new process "
                  "(io.popen, os.execute) instead");
  Context *c =
      clsh_class_newowned(L, &clsh_context_class, 2, arg); /* its Device */
  c->device = device;
  clsh_error_check(L, getlimits(device, &c->limits), "clGetDeviceInfo");
  lua_getfield(L, arg, "version");
  derivelimits(device, luaL_optstring(L, -1, ""), &c->limits);
  lua_pop(L, 1);
  return c;
}

static cl_context newhandle(lua_State *L, cl_uint n, const cl_device_id *list,
                            cl_int *err) {
  cl_context handle;
  int tries = 0;
  do {
    clsh_driver_block();
    handle = clCreateContext(NULL, n, list, onnotice, NULL, err);
    clsh_driver_unblock();
  } while (clsh_error_retry(L, *err, &tries));
  return handle;
}

/*
** Pushes a new context for the device at `arg`, to replace `lost` unless that
** is NULL: a failure then raises the loss of the device.
*/
static Context *newcontext(lua_State *L, int arg, Context *lost) {
  cl_int err;
  Context *c = pushbox(L, arg);
  c->handle = newhandle(L, 1, &c->device, &err);
  if (err != CL_SUCCESS && lost != NULL)
    clsh_context_alive(L, lost);
  clsh_error_check(L, err, "clCreateContext");
  return c;
}

/*
** Pushes the one context of the device at `device`, which holds it as user
** value 2. A closed or lost context is replaced.
*/
static Context *pushdevicecontext(lua_State *L, int device) {
  device = lua_absindex(L, device);
  clsh_device_check(L, device);
  lua_getiuservalue(L, device, 2);
  Context *c = clsh_class_test(L, -1, &clsh_context_class);
  if (c != NULL && c->lost == CL_SUCCESS)
    return c;
  lua_pop(L, 1);
  c = newcontext(L, device, c);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, device, 2);
  return c;
}

/*
** Pushes the context of the option at `ctxarg`, or the session's where that is
** nil (0: there is no option).
*/
Context *clsh_context_push(lua_State *L, int ctxarg) {
  if (ctxarg != 0 && !lua_isnoneornil(L, ctxarg)) {
    lua_pushvalue(L, ctxarg);
    return clsh_class_option(L, -1, &clsh_context_class, "context");
  }
  clsh_device_push(L);
  Context *c = pushdevicecontext(L, -1);
  lua_remove(L, -2);
  return c;
}

/* Whether two contexts have their memory and their events in common. */
bool clsh_context_shares(const Context *a, const Context *b) {
  return a == b || (a->handle != NULL && a->handle == b->handle);
}

/* Whether anything can be done in this context. */
bool clsh_context_usable(const Context *c) {
  return !clsh_driver_handsoff() && !c->head.closed && c->lost == CL_SUCCESS;
}

/* Raises if nothing can be done in this context any more. */
void clsh_context_alive(lua_State *L, Context *c) {
  if (clsh_driver_child())
    clsh_error(L, "OpenCL was used before fork(): drivers do not survive "
                  "it; start a new process instead");
  if (clsh_driver_abandoned())
    clsh_error(L, "the program ends while the device is at work");
  if (c->head.closed)
    clsh_error(L, "its Context is closed");
  if (c->lost == CL_SUCCESS)
    return;
  lua_pushfstring(L, "the device is lost: %s gave %s (%d) before this call",
                  c->lostcall, clsh_error_name(c->lost), (int)c->lost);
  clsh_context_raiselost(L, c, c->lostcall, lua_tostring(L, -1));
}

/* Raises for the loss of the device, with a message and the remedy. */
void clsh_context_raiselost(lua_State *L, const Context *c, const char *call,
                            const char *message) {
  clsh_error_push(L, c->lost, call, message);
  clsh_field_string(L, "hint", c->limits.reserve != 0 ? NVIDIALOST : LOST);
  lua_error(L);
}

void clsh_context_setlost(Context *c, cl_int code, const char *call) {
  c->lost = code;
  c->lostcall = call;
}

/*
** Raises for a command that the driver refused. An invalid queue and errors
** beyond the standard's mean that the device is lost; so do, on NVIDIA, two
** commands in a row without resources.
*/
void clsh_context_checkcommand(lua_State *L, Context *c, cl_int err,
                               const char *call) {
  c->refused = err == CL_OUT_OF_RESOURCES ? c->refused + 1 : 0;
  if (err == CL_INVALID_COMMAND_QUEUE || err < -1100 ||
      (c->refused >= 2 && c->limits.reserve != 0))
    clsh_context_setlost(c, err, call);
  clsh_error_check(L, err, call);
}

cl_context clsh_context_handle(lua_State *L, Context *c) {
  clsh_context_alive(L, c);
  return c->handle;
}

/*
** The function `name` of OpenCL `version` (210 for 2.1), which an older loader
** or driver lacks: a driver's table of functions ends with its version. Raises
** where it is missing; `instead` tells the remedy. `f` points to a pointer to
** a function.
*/
void clsh_context_function(lua_State *L, const Context *c, int version,
                           const char *name, const char *instead, void *f) {
  if (c->limits.version < version)
    clsh_error_call(L, CL_INVALID_OPERATION, name,
                    "this needs OpenCL %d.%d; the device has %d.%d; %s",
                    version / 100, version / 10 % 10, c->limits.version / 100,
                    c->limits.version / 10 % 10, instead);
  if (!clsh_driver_function(RTLD_DEFAULT, name, f))
    clsh_error_call(L, CL_INVALID_OPERATION, name,
                    "this needs a loader (libOpenCL) of OpenCL %d.%d; %s",
                    version / 100, version / 10 % 10, instead);
}

/*
** The local memory that a kernel and its arguments may take together. `own` is
** the kernel's part, as the driver says; `most` is its program's limit, 0: the
** device's. NVIDIA's driver adds its reserve to `own`, though not to the
** device's local memory; kernels that really need too much fail when they are
** built.
*/
cl_ulong clsh_context_localroom(const Context *c, cl_ulong own,
                                cl_ulong most) {
  const Limits *l = &c->limits;
  cl_ulong room = most != 0 ? most : l->local_mem;
  return room + (own < l->reserve ? own : l->reserve);
}

/*
** Counts a new object of so many bytes of the device, see clsh_class_pressure.
** Objects of more than OBJECT bytes count as so many, or by their share of the
** device's memory: 2^28 bytes of garbage on a device of 2^36 are no reason to
** collect, which takes longer than a small kernel.
*/
void clsh_context_press(lua_State *L, const Context *c, size_t bytes) {
  size_t most = bytes / (size_t)(1 + (c->limits.global_mem >> 28));
  most = most > OBJECT ? most : OBJECT;
  clsh_class_pressure(L, bytes < most ? bytes : most);
}

/*
** Raises for memory that the device cannot hold, for `call`, in one `thing`.
** Drivers promise more memory than there is and fail later, or not at all, so
** the sum is kept here.
*/
void clsh_context_reserve(lua_State *L, Context *c, size_t bytes,
                          const char *call, const char *thing) {
  const Limits *l = &c->limits;
  if (bytes > l->max_alloc)
    clsh_error_call(L, CL_INVALID_BUFFER_SIZE, call,
                    "asked for %I bytes in one %s, the device allows %I; "
                    "keep the parts in several",
                    (LUAI_UACINT)bytes, thing, (LUAI_UACINT)l->max_alloc);
  if (c->used + c->hold.bytes + bytes > l->global_mem)
    clsh_heldmemory_empty(&c->hold);
  if (c->used + bytes > l->global_mem)
    clsh_error_reclaim(L);
  if (c->used + bytes > l->global_mem)
    clsh_error_call(L, CL_MEM_OBJECT_ALLOCATION_FAILURE, call,
                    "asked for %I bytes, %I of the device's %I are in buffers "
                    "already; close some with b:close()",
                    (LUAI_UACINT)bytes, (LUAI_UACINT)c->used,
                    (LUAI_UACINT)l->global_mem);
  if (l->shared && !clsh_memory_fits(bytes)) {
    clsh_error_reclaim(L);
    if (!clsh_memory_fits(bytes))
      clsh_error_call(L, CL_MEM_OBJECT_ALLOCATION_FAILURE, call,
                      "asked for %I bytes; the device works in host memory, "
                      "of which %I are left; close some with b:close()",
                      (LUAI_UACINT)bytes, (LUAI_UACINT)clsh_memory_left());
  }
  clsh_context_press(L, c, bytes);
}

/* Counts memory that buffers and images take, and give back. */
void clsh_context_take(Context *c, size_t bytes) {
  c->used += bytes;
  if (c->limits.shared)
    clsh_memory_take(bytes);
}

void clsh_context_give(Context *c, size_t bytes) {
  assert(bytes <= c->used);
  c->used -= bytes;
  if (c->limits.shared)
    clsh_memory_give(bytes);
}

/*
** Holds the memory of a closed Buffer for others. False: the caller keeps it,
** as it is too much, or the device takes no commands any more or is a
** simulator, which finds reads of memory without content.
*/
bool clsh_context_keep(Context *c, cl_mem mem, size_t bytes) {
  cl_ulong most = c->limits.global_mem / SHARE;
  if (c->limits.simulated || bytes > most || !clsh_context_usable(c))
    return false;
  assert(bytes <= c->used);
  c->used -= bytes;
  c->hold.shared = c->limits.shared;
  clsh_heldmemory_keep(&c->hold, mem, bytes, most);
  return true;
}

/* Held memory of `bytes` bytes for a Buffer; NULL: there is none. */
cl_mem clsh_context_takeheld(Context *c, size_t bytes) {
  cl_mem mem = clsh_heldmemory_take(&c->hold, bytes);
  if (mem != NULL)
    c->used += bytes;
  return mem;
}

/** Context:trim() -> integer
 * Gives the memory that is held for new Buffers back to the driver, `c.held`
 * bytes, and returns that number. An allocation that fails, and closing the
 * context, do so too.
 * Example:
 * cl.buffer("float", 1000, 1):close()
 * print(cl.context().held) -- 4000; 0 on a simulator
 * cl.context():trim()
 * print(cl.context().held) --> 0
 */
static int context_trim(lua_State *L) {
  Context *c = clsh_context_check(L, 1);
  clsh_context_alive(L, c);
  lua_pushinteger(L, (lua_Integer)c->hold.bytes);
  clsh_heldmemory_empty(&c->hold);
  return 1;
}

/*
** Sets field device of the table at the top: the name of the device of the
** Context that user value 1 of the object at 1 holds.
*/
void clsh_context_setdevice(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  lua_getfield(L, -1, "device");
  lua_getfield(L, -1, "name");
  lua_setfield(L, -4, "device");
  lua_pop(L, 2);
}

/** Context:info() -> table
 * device (its name), used_bytes (in open buffers and images), held_bytes (held
 * for new Buffers: see Context:trim), max_bytes (the device's global memory)
 * and lost (the error that ended it, or nil).
 * Example:
 * local info = cl.context():info()
 * print(info.used_bytes <= info.max_bytes) --> true
 */
static int context_info(lua_State *L) {
  Context *c = clsh_context_check(L, 1);
  lua_newtable(L);
  lua_getiuservalue(L, 1, 1);
  lua_getfield(L, -1, "name");
  lua_setfield(L, -3, "device");
  lua_pop(L, 1);
  clsh_field_integer(L, "used_bytes", c->used);
  clsh_field_integer(L, "held_bytes", c->hold.bytes);
  clsh_field_integer(L, "max_bytes", c->limits.global_mem);
  if (c->lost != CL_SUCCESS)
    clsh_field_string(L, "lost", clsh_error_name(c->lost));
  return 1;
}

static int context_tostring(lua_State *L) {
  Context *c = clsh_class_any(L, 1, &clsh_context_class);
  lua_getiuservalue(L, 1, 1);
  lua_getfield(L, -1, "name");
  lua_pushfstring(L, "Context on %s%s", lua_tostring(L, -1),
                  c->head.closed ? " (closed)" : "");
  return 1;
}

/** cl.context([device]) -> Context
 * The context of a device, or of the session's device. Each device has one
 * context, made at the first need. Buffers, queues and programs are made in
 * the context of the session's device, or in {context = c}. `c.device`,
 * `c.queue` (its in-order, profiled default queue), `c.used` (bytes in open
 * buffers and images). `c.held`: bytes of closed Buffers, kept for the next
 * Buffers of the same sizes, as a driver may take longer to allocate memory
 * than to use it. Only commands of the default queue have used them, and have
 * ended, or the first command of the next Buffer comes behind them. At most a
 * 16th of the device's memory is held; none on a simulator.
 * Example:
 * local context = cl.context()
 * print(context.device.name, context.used)
 */
static int cl_context_(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    clsh_context_push(L, 0);
    return 1;
  }
  clsh_device_check(L, 1);
  pushdevicecontext(L, 1);
  return 1;
}

/** cl.contexts(devices) -> list of Context
 * A Context for each Device of a list, of one platform or of parts of one
 * device, with Buffers and Events in common: kernels on all of them take a
 * Buffer of any of them, and commands on the queue of one Context wait for
 * events of another: only events order them. A Program is built for each:
 * `cl.build(source, {context = c})`, with a log of its own.
 * Example:
 * local fine, parts = pcall(cl.device().partition, cl.device(), {equally = 1})
 * local list = cl.contexts(fine and parts or {cl.device()})
 * local b = cl.buffer("int", 1000, 7, {context = list[1]})
 * print(b:read{queue = list[#list].queue}[1]) --> 7
 */
static int cl_contexts(lua_State *L) {
  cl_device_id ids[MAXSHARED];
  cl_int err;
  if (!lua_istable(L, 1))
    return clsh_error_arg(L, 1, "must be a list of Devices; got %s",
                          luaL_typename(L, 1));
  size_t n = lua_rawlen(L, 1);
  if (n == 0 || n > MAXSHARED)
    return clsh_error_arg(L, 1, "the list must hold 1 to %d Devices; got %I",
                          MAXSHARED, (LUAI_UACINT)n);
  lua_settop(L, 1);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    if (!clsh_device_is(L, -1))
      return clsh_error_arg(L, 1, "element %d must be a Device; got %s",
                            (int)i + 1, clsh_class_name(L, -1));
    ids[i] = pushbox(L, -1)->device;
    lua_rawseti(L, 2, (lua_Integer)i + 1);
    lua_settop(L, 2);
  }
  cl_context handle = newhandle(L, (cl_uint)n, ids, &err);
  if (err != CL_SUCCESS)
    return clsh_error_call(L, err, "clCreateContext",
                           "the %d devices have no context in common; each "
                           "has its own, cl.context(device), and data goes by "
                           "src:copy(dst)",
                           (int)n);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    ((Context *)lua_touserdata(L, -1))->handle = handle;
    if (i > 0)
      clRetainContext(handle);
    lua_pop(L, 1);
  }
  return 1;
}

static const luaL_Reg methods[] = {
    {"info", context_info}, {"trim", context_trim}, {NULL, NULL}};
static const Field plain[] = {{"device", 'u', 1},
                              {"held", 'n', offsetof(Context, hold.bytes)},
                              {"used", 'n', offsetof(Context, used)},
                              {0}};
static const luaL_Reg meta[] = {{"__tostring", context_tostring},
                                {NULL, NULL}};
const Class clsh_context_class = {
    "Context", sizeof(Context), methods, NULL, meta, NULL, context_release};

void clsh_context_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"context", cl_context_}, {"contexts", cl_contexts}, {NULL, NULL}};
  clsh_class_define(L, &clsh_context_class);
  clsh_class_addfields(L, &clsh_context_class, plain);
  luaL_setfuncs(L, functions, 0);
}
