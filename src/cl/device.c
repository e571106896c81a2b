/*
** device.c - class Device: the devices of all platforms and their values.
** OpenCL does not count root devices, so they are never released.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "device.h"
#include "object.h"
#include "process.h"

#define MAXPLATFORMS 32
#define NOPLATFORM (-1001) /* CL_PLATFORM_NOT_FOUND_KHR */
#define MAXDEVICES 64      /* of one platform */
#define LIST "cl.devices"  /* registry: all devices, in flat order */

typedef struct Device {
  Object head;
  cl_device_id id;
  cl_platform_id platform;
  int index; /* place in cl.devices() */
} Device;

static void device_release(Object *o) {
  ((Device *)o)->id = NULL;
}

static cl_int getdevice(void *id, cl_uint q, size_t n, void *p, size_t *r) {
  return clGetDeviceInfo((cl_device_id)id, q, n, p, r);
}

static cl_int getplatform(void *id, cl_uint q, size_t n, void *p, size_t *r) {
  return clGetPlatformInfo((cl_platform_id)id, q, n, p, r);
}

static const Info platforminfo[] = {
    {"name", CL_PLATFORM_NAME, 's', NULL},
    {"vendor", CL_PLATFORM_VENDOR, 's', NULL},
    {"version", CL_PLATFORM_VERSION, 's', NULL},
    {"profile", CL_PLATFORM_PROFILE, 's', NULL},
    {"extensions", CL_PLATFORM_EXTENSIONS, 's', NULL},
    {NULL, 0, 0, NULL}};

/* Whether the device offers an extension: a word of its list. */
static bool hasextension(lua_State *L, cl_device_id id, const char *name) {
  const Info i = {"extensions", CL_DEVICE_EXTENSIONS, 's', NULL};
  clsh_info_push(L, getdevice, id, &i);
  lua_pushfstring(L, " %s ", luaL_optstring(L, -1, ""));
  lua_pushfstring(L, " %s ", name);
  bool found =
      *name != '\0' && strstr(lua_tostring(L, -2), lua_tostring(L, -1));
  lua_pop(L, 3);
  return found;
}

static const Class class;

static Device *checkdevice(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

cl_device_id clsh_device_check(lua_State *L, int arg) {
  return checkdevice(L, arg)->id;
}

bool clsh_device_is(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class) != NULL;
}

/* Pushes the value of one info name; nil where the device has none. */
static void pushdeviceinfo(lua_State *L, Device *d, const Info *i) {
  if (i->extension != NULL && !hasextension(L, d->id, i->extension))
    lua_pushnil(L);
  else
    clsh_info_push(L, getdevice, d->id, i);
}

/* dev.name: an info name, `compute_units` for short, or nil. */
static int device_index(lua_State *L) {
  Device *d = checkdevice(L, 1);
  const char *key = lua_tostring(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(key, "compute_units") == 0)
    key = "max_compute_units";
  const Info *i = lua_type(L, 2) == LUA_TSTRING
                      ? clsh_info_find(clsh_info_device, key)
                      : NULL;
  if (i == NULL)
    lua_pushnil(L);
  else
    pushdeviceinfo(L, d, i);
  return 1;
}

/* Whether a name is that of a value, for cl.extend. */
static int device_named(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_pushboolean(L, strcmp(name, "compute_units") == 0 ||
                         clsh_info_find(clsh_info_device, name) != NULL);
  return 1;
}

/** Device:info() -> table
 * Every value of clGetDeviceInfo that the device answers, by lower-case
 * name without the CL_DEVICE_ prefix: sizes in bytes, clocks in MHz, flags
 * as lists of names. NVIDIA's and AMD's own attributes (nv_warp_size,
 * nv_registers_per_block, amd_wavefront_width ...) are there where the
 * driver offers them. One value: `dev.local_mem_size`.
 */
static int device_info(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_newtable(L);
  for (const Info *i = clsh_info_device; i->name != NULL; i++) {
    pushdeviceinfo(L, d, i);
    lua_setfield(L, -2, i->name);
  }
  return 1;
}

/* The keys of a device besides methods and fields, for cl.members. */
static int device_names(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_newtable(L);
  lua_pushliteral(L, "compute_units");
  lua_rawseti(L, -2, 1);
  for (const Info *i = clsh_info_device; i->name != NULL; i++)
    if (i->extension == NULL || hasextension(L, d->id, i->extension)) {
      lua_pushstring(L, i->name);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  return 1;
}

/** Device:has(extension) -> boolean
 * Whether the device offers an OpenCL extension: `dev:has "cl_khr_fp64"`.
 */
static int device_has(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_pushboolean(L, hasextension(L, d->id, luaL_checkstring(L, 2)));
  return 1;
}

static int device_platform(lua_State *L) {
  clsh_info_push(L, getplatform, checkdevice(L, 1)->platform, platforminfo);
  return 1;
}

static int device_number(lua_State *L) {
  lua_pushinteger(L, checkdevice(L, 1)->index);
  return 1;
}

static int device_tostring(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_getfield(L, 1, "name");
  lua_getfield(L, 1, "platform");
  lua_getfield(L, 1, "type");
  lua_pushfstring(L, "Device %d: %s (%s, %s)", d->index, lua_tostring(L, -3),
                  lua_tostring(L, -1), lua_tostring(L, -2));
  return 1;
}

static int device_eq(lua_State *L) {
  Device *a = clsh_class_test(L, 1, &class);
  Device *b = clsh_class_test(L, 2, &class);
  lua_pushboolean(L, a != NULL && b != NULL && a->id == b->id);
  return 1;
}

/* Nothing is held, so nothing is given up: the session goes on with it. */
/** Device:close()
 * Does nothing, as devices belong to their drivers; allows
 * `local d <close> = cl.device()`.
 */
static int device_close(lua_State *L) {
  checkdevice(L, 1);
  return 0;
}

static const luaL_Reg methods[] = {{"close", device_close},
                                   {"has", device_has},
                                   {"info", device_info},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"index", device_number}, {"platform", device_platform}, {NULL, NULL}};
static const luaL_Reg meta[] = {
    {"__close", device_close},       {"__eq", device_eq},
    {"__named", device_named},       {"__names", device_names},
    {"__tostring", device_tostring}, {NULL, NULL}};
static const Class class = {"Device", sizeof(Device), methods,       fields,
                            meta,     device_index,   device_release};

/* The number of devices that a platform gives, not the one it tells of. */
static cl_uint getdevices(cl_platform_id p, cl_device_id ids[MAXDEVICES]) {
  cl_uint n = 0, given = 0;
  memset(ids, 0, MAXDEVICES * sizeof *ids);
  clsh_process_block(); /* it may start its threads */
  cl_int err = clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, MAXDEVICES, ids, &n);
  clsh_process_unblock();
  while (err == CL_SUCCESS && given < n && given < MAXDEVICES &&
         ids[given] != NULL)
    given++;
  return given;
}

/*
** Appends the devices of one platform that have the type at `rank` to the
** list at the top: GPUs first, then accelerators, CPUs, and all others.
*/
static void adddevices(lua_State *L, cl_platform_id p, int rank) {
  static const cl_device_type order[] = {
      CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
  cl_device_id ids[MAXDEVICES];
  cl_uint n = getdevices(p, ids);
  for (cl_uint i = 0; i < n; i++) {
    cl_device_type type = 0;
    clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
    int r = 0;
    while (r < 3 && (type & order[r]) == 0)
      r++;
    if (r != rank)
      continue;
    Device *d = clsh_class_new(L, &class, 0);
    d->id = ids[i];
    d->platform = p;
    d->index = (int)lua_rawlen(L, -2) + 1;
    lua_rawseti(L, -2, d->index);
  }
}

/* The number of platforms that the loader gives. */
static cl_uint getplatforms(lua_State *L, cl_platform_id list[MAXPLATFORMS]) {
  cl_uint n = 0, given = 0;
  memset(list, 0, MAXPLATFORMS * sizeof *list);
  clsh_process_touch();
  clsh_process_block();
  cl_int err = clGetPlatformIDs(MAXPLATFORMS, list, &n);
  clsh_process_unblock();
  if (err == NOPLATFORM)
    return 0;
  clsh_error_check(L, err, "clGetPlatformIDs");
  while (given < n && given < MAXPLATFORMS && list[given] != NULL)
    given++;
  return given;
}

/* Pushes the list of all devices, made at the first call. */
void clsh_device_pushall(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, LIST) == LUA_TTABLE)
    return;
  lua_pop(L, 1);
  cl_platform_id platforms[MAXPLATFORMS];
  cl_uint n = getplatforms(L, platforms);
  lua_newtable(L);
  for (int rank = 0; rank <= 3; rank++)
    for (cl_uint i = 0; i < n; i++)
      adddevices(L, platforms[i], rank);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, LIST);
}

/** cl.devices() -> list of Device
 * All devices of all platforms: GPUs first, then accelerators, then CPUs.
 * The place in this list is the device's `index`, which `cl.use`,
 * `--device` and CLSHELL_DEVICE take.
 */
static int cl_devices(lua_State *L) {
  lua_newtable(L);
  clsh_device_pushall(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -3, i);
  }
  lua_pop(L, 1);
  return 1;
}

/** cl.platforms() -> list of tables
 * The OpenCL platforms (drivers) the loader finds: name, vendor, version,
 * profile, extensions and `devices`, their number.
 */
static int cl_platforms(lua_State *L) {
  cl_platform_id platforms[MAXPLATFORMS];
  cl_uint n = getplatforms(L, platforms);
  lua_newtable(L);
  for (cl_uint i = 0; i < n; i++) {
    lua_newtable(L);
    for (const Info *f = platforminfo; f->name != NULL; f++) {
      clsh_info_push(L, getplatform, platforms[i], f);
      lua_setfield(L, -2, f->name);
    }
    cl_device_id ids[MAXDEVICES];
    lua_pushinteger(L, getdevices(platforms[i], ids));
    lua_setfield(L, -2, "devices");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void clsh_device_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"devices", cl_devices}, {"platforms", cl_platforms}, {NULL, NULL}};
  clsh_class_define(L, &class);
  luaL_setfuncs(L, functions, 0);
}
