/*
** device.c - class Device: the devices of all platforms, their values, parts
** of devices, and the session's device, chosen by type, index or part of a
** name. No device is ever released: OpenCL does not count whole devices, and
** contexts and queues of PoCL (3.1) do not count their part, which its threads
** use after a command has ended. A part takes 1 KiB.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "object.h"

#define MAXPLATFORMS 32
#define NOPLATFORM (-1001)   /* CL_PLATFORM_NOT_FOUND_KHR */
#define MAXDEVICES 64        /* of one platform */
#define MAXPARTS 4096        /* of one device */
#define LIST "cl.devices"    /* registry: all devices, in flat order */
#define CHOSEN "cl.chosen"   /* registry: the session's device */
#define SELECTED "cl.select" /* registry: the value of --device */

typedef struct Device {
  Object head;
  cl_device_id id;
  cl_platform_id platform;
  int index; /* place in cl.devices(); of a part: the index of the whole */
  bool part; /* user value 1: the whole Device; user value 2: its Context */
} Device;

static void device_release(Object *o) {
  ((Device *)o)->id = NULL;
}

/* What every device pretends to be, see cl.pretend; 0: its own limit. */
static struct {
  char name[32]; /* empty: nothing */
  lua_Integer group, local_mem, constant_mem;
} pretended;

bool clsh_device_pretends(void) {
  return *pretended.name != '\0';
}

/* clGetDeviceInfo; a limit is at most the limit of the pretended device. */
cl_int clsh_device_ask(cl_device_id id, cl_uint q, size_t n, void *p,
                       size_t *r) {
  const bool items = q == CL_DEVICE_MAX_WORK_ITEM_SIZES;
  const lua_Integer most =
      items || q == CL_DEVICE_MAX_WORK_GROUP_SIZE ? pretended.group
      : q == CL_DEVICE_LOCAL_MEM_SIZE             ? pretended.local_mem
      : q == CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE   ? pretended.constant_mem
                                                  : 0;
  cl_int err = clGetDeviceInfo(id, q, n, p, r);
  if (err != CL_SUCCESS || p == NULL || most == 0)
    return err;
  size_t *sizes = p;
  cl_ulong *bytes = p;
  if (items || q == CL_DEVICE_MAX_WORK_GROUP_SIZE)
    for (size_t i = 0; i < (items ? n / sizeof *sizes : 1); i++)
      sizes[i] = sizes[i] > (size_t)most ? (size_t)most : sizes[i];
  else if (*bytes > (cl_ulong)most)
    *bytes = (cl_ulong)most;
  return err;
}

static cl_int getdevice(void *id, cl_uint q, size_t n, void *p, size_t *r) {
  return clsh_device_ask((cl_device_id)id, q, n, p, r);
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
bool clsh_device_offers(lua_State *L, cl_device_id id, const char *name) {
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
  if (i->extension != NULL && !clsh_device_offers(L, d->id, i->extension))
    lua_pushnil(L);
  else
    clsh_info_push(L, getdevice, d->id, i);
  if (i->query == CL_DEVICE_NAME && clsh_device_pretends()) {
    lua_pushfstring(L, "%s (pretends to be %s)",
                    luaL_optstring(L, -1, "unnamed"), pretended.name);
    lua_remove(L, -2);
  }
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
  if (i == NULL && clsh_device_pretends() && strcmp(key, "pretends") == 0)
    lua_pushstring(L, pretended.name);
  else if (i == NULL)
    lua_pushnil(L);
  else
    pushdeviceinfo(L, d, i);
  if (i != NULL && lua_isnil(L, -1) && i->query == CL_DEVICE_NAME)
    lua_pushliteral(L, "unnamed");
  else if (i != NULL && lua_isnil(L, -1) && clsh_info_least(i->query) > 0)
    lua_pushinteger(L, (lua_Integer)clsh_info_least(i->query));
  return 1;
}

/* Whether a value of the device has a name, for cl.extend. */
static int device_named(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_pushboolean(L, strcmp(name, "compute_units") == 0 ||
                         clsh_info_find(clsh_info_device, name) != NULL);
  return 1;
}

/** Device:info() -> table
 * Every value of clGetDeviceInfo that the device answers, by lower-case name
 * without the CL_DEVICE_ prefix: sizes in bytes, clocks in MHz, flags as lists
 * of names. NVIDIA's and AMD's own attributes (nv_warp_size,
 * nv_registers_per_block, amd_wavefront_width ...) are there where the driver
 * offers them. One value: `dev.local_mem_size`. Where a driver does not tell a
 * name, it is "unnamed"; a size of memory or a limit is then the least that
 * OpenCL demands.
 * Example:
 * local info = cl.device():info()
 * print(info.max_work_group_size, info.max_clock_frequency)
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
    if (i->extension == NULL || clsh_device_offers(L, d->id, i->extension)) {
      lua_pushstring(L, i->name);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  return 1;
}

/** Device:has(extension) -> boolean
 * Whether the device offers an OpenCL extension: `dev:has "cl_khr_fp64"`.
 * Example:
 * if cl.device():has "cl_khr_fp64" then
 *   print "double works here"
 * end
 */
static int device_has(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_pushboolean(L, clsh_device_offers(L, d->id, luaL_checkstring(L, 2)));
  return 1;
}

static int device_platform(lua_State *L) {
  clsh_info_push(L, getplatform, checkdevice(L, 1)->platform, platforminfo);
  return 1;
}

static int device_tostring(lua_State *L) {
  Device *d = checkdevice(L, 1);
  lua_getfield(L, 1, "name");
  lua_getfield(L, 1, "platform");
  lua_getfield(L, 1, "type");
  lua_pushfstring(L, "%sDevice %d: %s (%s, %s)", d->part ? "Part of " : "",
                  d->index, lua_tostring(L, -3), lua_tostring(L, -1),
                  lua_tostring(L, -2));
  return 1;
}

static int device_eq(lua_State *L) {
  Device *a = clsh_class_test(L, 1, &class);
  Device *b = clsh_class_test(L, 2, &class);
  lua_pushboolean(L, a != NULL && b != NULL && a->id == b->id);
  return 1;
}

/* Puts the compute units of each part, a list at the top, into a property. */
static cl_uint readcounts(lua_State *L, cl_device_partition_property *p,
                          cl_uint room) {
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) == 0 ||
      lua_rawlen(L, -1) > room)
    clsh_error(L, "counts: must be a list of 1 to %d numbers; got %s",
               (int)room, clsh_option_got(L, -1));
  cl_uint n = (cl_uint)lua_rawlen(L, -1);
  for (cl_uint i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    p[i] = (cl_device_partition_property)clsh_option_count(L, -1, "counts");
    lua_pop(L, 1);
  }
  return n;
}

/* Writes the partition that the options at 2 describe. */
static void readpartition(lua_State *L, cl_device_partition_property *p) {
  static const char *const words[] = {"numa", "l4",   "l3", "l2",
                                      "l1",   "next", NULL};
  bool equally = clsh_option_push(L, 2, "equally") != LUA_TNIL;
  bool counts = clsh_option_push(L, 2, "counts") != LUA_TNIL;
  bool affinity = clsh_option_push(L, 2, "affinity") != LUA_TNIL;
  if (equally + counts + affinity != 1)
    clsh_error_arg(L, 2,
                   "give one of equally = 2 (compute units each), "
                   "counts = {1, 3} and affinity = \"numa\"");
  if (equally) {
    p[0] = CL_DEVICE_PARTITION_EQUALLY;
    p[1] = (cl_device_partition_property)clsh_option_count(L, 3, "equally");
  } else if (affinity) {
    p[0] = CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN;
    p[1] = (cl_device_partition_property)1
           << clsh_option_word(L, 5, words, "affinity");
  } else {
    p[0] = CL_DEVICE_PARTITION_BY_COUNTS;
    lua_pushvalue(L, 4);
    p[1 + readcounts(L, p + 1, MAXDEVICES)] =
        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
  }
  lua_settop(L, 2);
}

/* Raises for a partition that the driver refused. */
static void checkpartition(lua_State *L, cl_int err) {
  if (err != CL_SUCCESS) {
    lua_getfield(L, 1, "compute_units");
    if (err == CL_INVALID_OPERATION)
      clsh_error_call(L, err, "clCreateSubDevices",
                      "the driver makes no parts of devices; a queue on the "
                      "whole device, and smaller launches, serve everywhere");
    clsh_error_call(L, err, "clCreateSubDevices",
                    "the device, of %s compute units, has no such parts; "
                    "see dev.partition_properties; a queue on the whole "
                    "device, and smaller launches, serve everywhere",
                    luaL_tolstring(L, -1, NULL));
  }
}

static const Class class;

/** Device:partition(opts) -> list of Device
 * Parts of the device's compute units as Devices, each with a Context and
 * queues of its own: `cl.context(part)`, `cl.use(part)`. Kernels on two parts
 * run side by side. `part.whole` is the device; a part has its `index`.
 * Drivers for CPUs have parts, most for GPUs none. One option is given.
 * Options:
 *   equally   none  compute units of each part
 *   counts    none  a list of the compute units of the parts
 *   affinity  none  what a part shares: "numa", "l4" to "l1" (cache), "next"
 * Example:
 * local fine, parts = pcall(cl.device().partition, cl.device(), {equally = 1})
 * for i, part in ipairs(fine and parts or {}) do -- drivers for GPUs have none
 *   local b = cl.buffer("int", 1000, i, {context = cl.context(part)})
 *   print(part.compute_units, b:read()[1]) -- 1 and i
 * end
 */
static int device_partition(lua_State *L) {
  cl_device_partition_property p[MAXDEVICES + 3] = {0};
  cl_uint n = 0;
  Device *whole = checkdevice(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  clsh_option_check(L, 2, "equally counts affinity", "Device:partition");
  readpartition(L, p);
  checkpartition(L, clCreateSubDevices(whole->id, p, 0, NULL, &n));
  if (n > MAXPARTS)
    clsh_error(L, "the driver tells of %I parts; there may be at most %d",
               (LUAI_UACINT)n, MAXPARTS);
  lua_createtable(L, (int)n, 0);
  cl_device_id *ids = lua_newuserdatauv(L, (n + 1) * sizeof *ids, 0);
  memset(ids, 0, (n + 1) * sizeof *ids);
  for (cl_uint i = 0; i < n; i++) {
    Device *d = clsh_class_newowned(L, &class, 2, 1);
    d->platform = whole->platform;
    d->index = whole->index;
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  clsh_driver_block();
  cl_int err = clCreateSubDevices(whole->id, p, n, ids, NULL);
  clsh_driver_unblock();
  checkpartition(L, err);
  for (cl_uint i = 0; i < n; i++) {
    lua_rawgeti(L, 3, (lua_Integer)i + 1);
    Device *d = lua_touserdata(L, -1);
    d->id = ids[i];
    d->part = true;
    lua_pop(L, 1);
  }
  lua_settop(L, 3);
  return 1;
}

/* A Device holds nothing, so close gives up nothing. */
/** Device:close()
 * Does nothing, as devices belong to their drivers; allows
 * `local d <close> = cl.device()`.
 * Example:
 * local device <close> = cl.devices()[1]
 * device:close()
 * print(device.closed) --> false
 */
static int device_close(lua_State *L) {
  checkdevice(L, 1);
  return 0;
}

static const luaL_Reg methods[] = {{"close", device_close},
                                   {"has", device_has},
                                   {"info", device_info},
                                   {"partition", device_partition},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {{"platform", device_platform}, {NULL, NULL}};
static const Field plain[] = {
    {"index", 'i', offsetof(Device, index)}, {"whole", 'u', 1}, {0}};
static const luaL_Reg meta[] = {
    {"__close", device_close},       {"__eq", device_eq},
    {"__named", device_named},       {"__names", device_names},
    {"__tostring", device_tostring}, {NULL, NULL}};
static const Class class = {"Device", sizeof(Device), methods,       fields,
                            meta,     device_index,   device_release};

/* The number of devices that a platform gives, not the number it tells. */
static cl_uint getdevices(cl_platform_id p, cl_device_id ids[MAXDEVICES]) {
  cl_uint n = 0, given = 0;
  memset(ids, 0, MAXDEVICES * sizeof *ids);
  clsh_driver_block(); /* it may start its threads */
  cl_int err = clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, MAXDEVICES, ids, &n);
  clsh_driver_unblock();
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
    Device *d = clsh_class_new(L, &class, 2);
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
  clsh_driver_touch();
  clsh_driver_block();
  cl_int err = clGetPlatformIDs(MAXPLATFORMS, list, &n);
  clsh_driver_unblock();
  if (err == NOPLATFORM)
    return 0;
  clsh_error_check(L, err, "clGetPlatformIDs");
  while (given < n && given < MAXPLATFORMS && list[given] != NULL)
    given++;
  return given;
}

/* Pushes the list of all devices, made at the first call. */
static void pushall(lua_State *L) {
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
 * Example:
 * for i, device in ipairs(cl.devices()) do
 *   print(i, device.type, device.name)
 * end
 */
static int cl_devices(lua_State *L) {
  lua_newtable(L);
  pushall(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -3, i);
  }
  lua_pop(L, 1);
  return 1;
}

/** cl.pretend(name, limits)
 * Has every device keep the limits of another, {group = (work-items of a
 * work-group), local_mem =, constant_mem = (bytes)}, where its own are not
 * lower, and tell so in its name: clshell --as M1 calls it, before a device
 * is used. `dev.pretends` is then the name. Times stay the real device's.
 * Example:
 * print(cl.device().pretends) --> nil
 */
static int cl_pretend(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  snprintf(pretended.name, sizeof pretended.name, "%s", name);
  lua_getfield(L, 2, "group");
  lua_getfield(L, 2, "local_mem");
  lua_getfield(L, 2, "constant_mem");
  pretended.group = luaL_optinteger(L, 3, 0);
  pretended.local_mem = luaL_optinteger(L, 4, 0);
  pretended.constant_mem = luaL_optinteger(L, 5, 0);
  return 0;
}

/** cl.platforms() -> list of tables
 * The OpenCL platforms (drivers) the loader finds: name, vendor, version,
 * profile, extensions and `devices`, their number.
 * Example:
 * for _, platform in ipairs(cl.platforms()) do
 *   print(platform.name, platform.version, platform.devices)
 * end
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
    clsh_field_integer(L, "devices", getdevices(platforms[i], ids));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* This process among the processes of its host, which share the devices. */
static struct {
  int rank, size;
  bool told;
} host = {0, 1, false};

/* Has the processes of one host take turns among the devices that fit. */
void clsh_device_spread(int rank, int size) {
  host.rank = rank;
  host.size = size;
}

/* Raises: there is no driver, or no driver offers a device. Advice is the
** program's. */
static int nodriver(lua_State *L) {
  const char *vendors = getenv("OCL_ICD_VENDORS");
  cl_uint drivers = 0;
  clGetPlatformIDs(0, NULL, &drivers);
  clsh_hook_push(L, "no_driver");
  const char *advice = lua_tostring(L, -1);
  lua_pushfstring(L, "no OpenCL device: %s",
                  drivers > 0 ? "the drivers here offer none"
                              : "the loader found no driver");
  if (vendors != NULL)
    lua_pushfstring(L, "%s (OCL_ICD_VENDORS is %s)", lua_tostring(L, -1),
                    vendors);
  if (advice != NULL)
    lua_pushfstring(L, "%s; %s", lua_tostring(L, -1), advice);
  clsh_error_push(L, CL_DEVICE_NOT_FOUND, "cl.use", lua_tostring(L, -1));
  return lua_error(L);
}

/* Raises: no device fits. The list of devices is at the top. */
static int nodevice(lua_State *L, const char *what, const char *asked) {
  int list = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  lua_pushfstring(L, "%s '%s'; there %s:", what, asked, n == 1 ? "is" : "are");
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_pushfstring(L, "%s\n  %s", lua_tostring(L, list + 1),
                    luaL_tolstring(L, -1, NULL));
    lua_replace(L, list + 1);
    lua_settop(L, list + 1);
  }
  clsh_hook_push(L, "no_device");
  if (lua_isstring(L, -1))
    lua_pushfstring(L, "%s\n%s", lua_tostring(L, list + 1),
                    lua_tostring(L, -1));
  else
    lua_pop(L, 1);
  clsh_error_push(L, CL_DEVICE_NOT_FOUND, "cl.use", lua_tostring(L, -1));
  return lua_error(L);
}

/* Whether the device at the top has `sel` in one of its names. */
static bool named(lua_State *L, const char *sel) {
  static const char *const names[] = {"name", "platform", "version", NULL};
  bool hit = false;
  for (int i = 0; !hit && names[i] != NULL; i++) {
    lua_getfield(L, -1, names[i]);
    hit = strcasestr(luaL_optstring(L, -1, ""), sel) != NULL;
    lua_pop(L, 1);
  }
  return hit;
}

/*
** Whether the device at the top is of the type `sel`, or named by it: by a
** part of a name, or by two parts with a comma between, as the prompt prints
** them ("pocl, AMD EPYC").
*/
static bool matches(lua_State *L, const char *sel, bool type) {
  const char *comma = strstr(sel, ", ");
  bool hit = false;
  if (type) {
    lua_getfield(L, -1, "type");
    hit = strcmp(luaL_optstring(L, -1, ""), sel) == 0;
    lua_pop(L, 1);
  } else if (named(L, sel)) {
    hit = true;
  } else if (comma != NULL && named(L, comma + 2)) {
    const char *first = lua_pushlstring(L, sel, (size_t)(comma - sel));
    lua_insert(L, -2);
    hit = named(L, first);
    lua_remove(L, -2);
  }
  return hit;
}

/* Notes once that this host has more processes than devices. */
static void tellshared(lua_Integer devices) {
  if (host.told || host.rank != 0 || devices == 0 || devices >= host.size)
    return;
  host.told = true;
  fprintf(stderr,
          "clshell: note: the %d processes of this host share %d device%s\n",
          host.size, (int)devices, devices == 1 ? "" : "s");
}

/*
** The number of the device in the list at the top that serves this process:
** its turn among the devices of a type, or with `sel` in a name; 0: none.
** Raises if a process alone names several devices.
*/
static lua_Integer finddevice(lua_State *L, const char *sel, bool type) {
  lua_Integer found = 0, fit = 0, turn = 0;
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (int pass = 0; pass < 2; pass++) {
    lua_Integer seen = 0;
    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, -1, i);
      bool hit = matches(L, sel, type);
      lua_pop(L, 1);
      if (hit && seen++ == turn)
        found = i;
    }
    fit = seen;
    turn = fit > 0 ? host.rank % fit : 0;
  }
  if (fit > 1 && !type && host.size == 1)
    nodevice(L, "more than one device matches", sel);
  tellshared(fit);
  return found;
}

static bool istype(const char *sel) {
  return strcmp(sel, "gpu") == 0 || strcmp(sel, "cpu") == 0 ||
         strcmp(sel, "accelerator") == 0;
}

/*
** Replaces the list of devices at the top by the device that `sel` names: a
** type, an index, or part of a name.
*/
static void selectdevice(lua_State *L, const char *sel) {
  char *end;
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  lua_Integer i = 0;
  if (n == 0)
    nodriver(L);
  long number = strtol(sel, &end, 10);
  if (*sel != '\0' && *end == '\0') {
    i = number >= 1 && number <= n ? number : 0;
    tellshared(1);
  } else if (*sel != '\0')
    i = finddevice(L, sel, istype(sel));
  if (i == 0)
    nodevice(L, "no device matches", sel);
  lua_rawgeti(L, -1, i);
  lua_remove(L, -2);
}

/*
** Replaces the list of devices at the top by the device of a session that
** names none: the first, or this process's turn among devices of its type.
*/
static void selectfirst(lua_State *L) {
  char type[16] = "1";
  if (host.size > 1 && lua_rawlen(L, -1) > 0) {
    lua_rawgeti(L, -1, 1);
    lua_getfield(L, -1, "type");
    snprintf(type, sizeof type, "%s", lua_tostring(L, -1));
    lua_pop(L, 2);
  }
  selectdevice(L, istype(type) ? type : "1");
}

void clsh_device_choose(lua_State *L, const char *sel) {
  lua_pushstring(L, sel);
  lua_setfield(L, LUA_REGISTRYINDEX, SELECTED);
}

/*
** Calls the function of cl.onchoice for the device on the top, which `rule`
** with `sel` chose.
*/
static void tell(lua_State *L, const char *rule, const char *sel) {
  if (clsh_hook_push(L, "onchoice") == LUA_TFUNCTION) {
    lua_pushvalue(L, -2);
    lua_pushstring(L, rule);
    lua_pushstring(L, sel);
    if (lua_pcall(L, 3, 0, 0) == LUA_OK)
      return;
  }
  lua_pop(L, 1);
}

/* Pushes the session's device, chosen at the first need. */
cl_device_id clsh_device_push(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, CHOSEN) == LUA_TNIL) {
    const char *rule = "--device";
    lua_getfield(L, LUA_REGISTRYINDEX, SELECTED);
    const char *sel = lua_tostring(L, -1);
    if (sel == NULL) {
      rule = "CLSHELL_DEVICE";
      sel = getenv(rule);
    }
    if (sel == NULL || *sel == '\0') {
      rule = "first";
      sel = "1";
    }
    pushall(L);
    if (strcmp(rule, "first") == 0)
      selectfirst(L);
    else
      selectdevice(L, sel);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, CHOSEN);
    tell(L, rule, sel);
    lua_replace(L, -3);
    lua_pop(L, 1);
  }
  return clsh_device_check(L, -1);
}

/* Pushes the Device that the value at 1, the only one, names or is. */
static void pushnamed(lua_State *L) {
  if (clsh_device_is(L, 1))
    return;
  const char *sel = luaL_checkstring(L, 1);
  pushall(L);
  selectdevice(L, sel);
}

/** cl.use(sel) -> Device
 * Chooses the session's device: "gpu", "cpu" or "accelerator" (the first of
 * that type), part of a device's or platform's name or of its version ("pocl")
 * in any letter case, two parts ("pocl, EPYC"), an index of `cl.devices()`, or
 * a Device. New objects are made there from now on. A name that fits no
 * device, or several, raises with the candidates. Of the processes that mpirun
 * starts on a host, each takes the next device of the type or with that part
 * in a name.
 * Example:
 * cl.use(cl.device().index) -- or cl.use "gpu", cl.use "nvidia"
 * print(cl.device().name)
 */
static int cl_use(lua_State *L) {
  lua_settop(L, 1);
  pushnamed(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, CHOSEN);
  return 1;
}

/** cl.device([sel]) -> Device
 * The session's device, opened at the first need: the choice of `cl.use` or
 * `--device`, else of the variable CLSHELL_DEVICE, else the first of
 * `cl.devices()`: a GPU, an accelerator or a CPU, in this order. With `sel`,
 * the device that `cl.use(sel)` would choose; the session keeps its own. Of
 * the processes that mpirun starts on a host, each takes the next device.
 * Example:
 * local device = cl.device()
 * print(device.name, device.compute_units, device.local_mem_size // 1024)
 */
static int cl_device(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1))
    clsh_device_push(L);
  else
    pushnamed(L);
  return 1;
}

void clsh_device_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"device", cl_device},
                                       {"devices", cl_devices},
                                       {"platforms", cl_platforms},
                                       {"pretend", cl_pretend},
                                       {"use", cl_use},
                                       {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_addfields(L, &class, plain);
  luaL_setfuncs(L, functions, 0);
}
