/*
** devicechoice.c - the device of the session, chosen by type, index or part of
** a name.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "object.h"

#define CHOSEN "cl.chosen"     /* registry: the session's device */
#define SELECTED "cl.select"   /* registry: what --device asked for */
#define ONCHOICE "cl.onchoice" /* registry: function to call then */
#define NODRIVER "cl.nodriver" /* registry: what to do where there is none */

/* This process among those of its host, which share the devices. */
static struct {
  int rank, size;
  bool told;
} host = {0, 1, false};

/* Has processes of one host take devices in turn, where one name fits them. */
void clsh_devicechoice_spread(int rank, int size) {
  host.rank = rank;
  host.size = size;
}

/* Raises: the loader found no driver. Advice is the program's. */
static int nodriver(lua_State *L) {
  const char *vendors = getenv("OCL_ICD_VENDORS");
  lua_getfield(L, LUA_REGISTRYINDEX, NODRIVER);
  const char *advice = lua_tostring(L, -1);
  lua_pushliteral(L, "no OpenCL device: the loader found no driver");
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
  lua_pushfstring(L, "%s '%s'; there are:", what, asked);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_pushfstring(L, "%s\n  %s", lua_tostring(L, list + 1),
                    luaL_tolstring(L, -1, NULL));
    lua_replace(L, list + 1);
    lua_settop(L, list + 1);
  }
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
** part of a name, or by two with a comma between, as the prompt prints them
** ("pocl, AMD EPYC").
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

/* Notes once that the processes of this host are more than its devices. */
static void tellshared(lua_Integer devices) {
  if (host.told || host.rank != 0 || devices >= host.size)
    return;
  host.told = true;
  fprintf(stderr,
          "clshell: note: the %d processes of this host share %d device%s\n",
          host.size, (int)devices, devices == 1 ? "" : "s");
}

/*
** The number of the device in the list at the top that serves this process:
** its turn among those of a type, or with `sel` in a name; 0: there is none.
** Of a name that fits several a process alone cannot tell which is meant.
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
** Replaces the list of devices at the top by the one that `sel` names: a
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
** Replaces the list of devices at the top by the one of a session that asks
** for none: the first, or the turn of this process among those of its type.
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

void clsh_devicechoice_set(lua_State *L, const char *sel) {
  lua_pushstring(L, sel);
  lua_setfield(L, LUA_REGISTRYINDEX, SELECTED);
}

/*
** Calls the function of cl.onchoice for the device on the top, which `rule`
** with `sel` chose.
*/
static void tell(lua_State *L, const char *rule, const char *sel) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, ONCHOICE) == LUA_TFUNCTION) {
    lua_pushvalue(L, -2);
    lua_pushstring(L, rule);
    lua_pushstring(L, sel);
    if (lua_pcall(L, 3, 0, 0) == LUA_OK)
      return;
  }
  lua_pop(L, 1);
}

/* Pushes the session's device, chosen at the first need. */
cl_device_id clsh_devicechoice_push(lua_State *L) {
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
    clsh_device_pushall(L);
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
  clsh_device_pushall(L);
  selectdevice(L, sel);
}

/** cl.use(sel) -> Device
 * Chooses the session's device: "gpu", "cpu" or "accelerator" (the first
 * of that type), part of a device's or platform's name or of its version
 * ("pocl") in any letter case, two parts ("pocl, EPYC"), an index of
 * `cl.devices()`, or a Device. New objects are made there from now on. No
 * match, or part of several names: an error with the candidates. Of the
 * processes that mpirun starts on a host, each takes the next device of the
 * type or with that part in a name.
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
 * the processes that mpirun starts on a host, each takes the next one.
 * Example:
 * local device = cl.device()
 * print(device.name, device.compute_units, device.local_mem_size // 1024)
 */
static int cl_device(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1))
    clsh_devicechoice_push(L);
  else
    pushnamed(L);
  return 1;
}

/** cl.onchoice(f)
 * Calls f(device, rule, sel) when the session's device is chosen at the first
 * need: rule is "--device" or "CLSHELL_DEVICE", with its value as `sel`, or
 * "first". The prompt prints a line then. Errors in f are ignored.
 * Example:
 * cl.onchoice(function(device, rule)
 *   print(device.name, rule == "first" and "by itself" or rule)
 * end)
 */
static int cl_onchoice(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, ONCHOICE);
  return 0;
}

void clsh_devicechoice_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"device", cl_device},
                                       {"onchoice", cl_onchoice},
                                       {"use", cl_use},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
