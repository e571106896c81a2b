/*
** ndrange.c - whether a kernel can run over the sizes of a launch: checked
** before the driver sees them, as its own words for it have no numbers.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdio.h>

#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "launch.h"
#include "object.h"

#define ITEMBITS 48 /* 2^48 work-items at 10^12 a second take 5 minutes */
#define MAXITEMS ((cl_ulong)1 << ITEMBITS)

/* "64x16" */
const char *clsh_pushsizes(lua_State *L, const size_t *s, cl_uint n) {
  char text[80];
  snprintf(text, sizeof text,
           n == 1   ? "%zu"
           : n == 2 ? "%zux%zu"
                    : "%zux%zux%zu",
           s[0], s[1], s[2]);
  return lua_pushstring(L, text);
}

/*
** Reads a size for each dimension: a number or a list of 1 to 3. `least`
** is 1 for sizes, 0 for offsets. Returns how many there are.
*/
cl_uint clsh_checksizes(lua_State *L, int arg, const char *what,
                        lua_Integer least, size_t *s) {
  cl_uint n = 1;
  bool list = lua_istable(L, arg);
  if (list && (lua_rawlen(L, arg) < 1 || lua_rawlen(L, arg) > 3))
    clsh_argerror(L, arg, "%s: 1 to 3 dimensions expected, got %d", what,
                  (int)lua_rawlen(L, arg));
  if (list)
    n = (cl_uint)lua_rawlen(L, arg);
  for (cl_uint i = 0; i < n; i++) {
    int ok;
    if (list)
      lua_rawgeti(L, arg, i + 1);
    else
      lua_pushvalue(L, arg);
    lua_Integer v = lua_tointegerx(L, -1, &ok);
    if (!ok || lua_type(L, -1) != LUA_TNUMBER)
      clsh_argerror(L, arg, "%s: dimension %d is %s, no whole number", what,
                    (int)i + 1, luaL_tolstring(L, -1, NULL));
    if (v < least)
      clsh_argerror(L, arg, "%s: dimension %d is %I, at least %I expected",
                    what, (int)i + 1, (LUAI_UACINT)v, (LUAI_UACINT)least);
    s[i] = (size_t)v;
    lua_pop(L, 1);
  }
  return n;
}

/* Raises CL_INVALID_WORK_GROUP_SIZE with all the numbers. */
static void badgroup(lua_State *L, const Launch *l, const char *text) {
  clsh_fail(L, CL_INVALID_WORK_GROUP_SIZE, "clEnqueueNDRangeKernel",
            "%s: local %s over global %s: %s", clsh_kernelname(l->kernel),
            clsh_pushsizes(L, l->local, l->dims),
            clsh_pushsizes(L, l->global, l->dims), text);
}

static void checkrequired(lua_State *L, const Launch *l) {
  const size_t *required;
  clsh_kernelgroup(l->kernel, &required);
  for (cl_uint i = 0; required != NULL && i < 3; i++)
    if (required[i] != (i < l->dims ? l->local[i] : 1))
      badgroup(L, l,
               lua_pushfstring(L, "the kernel requires %s",
                               clsh_pushsizes(L, required, 3)));
}

/* Checks the local size against the device, the kernel and the range. */
static void checklocal(lua_State *L, const Launch *l) {
  const Limits *limits = clsh_limits(clsh_kernelcontext(l->kernel));
  const size_t *required;
  size_t most = clsh_kernelgroup(l->kernel, &required);
  size_t items = 1;
  bool cut = limits->nonuniform && clsh_kernelnonuniform(l->kernel);
  for (cl_uint i = 0; i < l->dims; i++) {
    if (l->local[i] > limits->item[i])
      badgroup(L, l,
               lua_pushfstring(L, "the device allows %I in dimension %d",
                               (LUAI_UACINT)limits->item[i], (int)i + 1));
    items = items > SIZE_MAX / l->local[i] ? SIZE_MAX : items * l->local[i];
  }
  if (items > limits->group)
    badgroup(L, l,
             lua_pushfstring(L, "%I work-items, the device allows %I",
                             (LUAI_UACINT)items, (LUAI_UACINT)limits->group));
  if (items > most)
    badgroup(L, l,
             lua_pushfstring(L,
                             "%I work-items, this kernel allows %I on the "
                             "device, which allows %I",
                             (LUAI_UACINT)items, (LUAI_UACINT)most,
                             (LUAI_UACINT)limits->group));
  for (cl_uint i = 0; i < l->dims && !cut; i++)
    if (l->global[i] % l->local[i] != 0)
      badgroup(
          L, l,
          lua_pushfstring(
              L,
              "%I does not divide %I, which the device "
              "wants; round the range up to %I and test "
              "the index in the kernel",
              (LUAI_UACINT)l->local[i], (LUAI_UACINT)l->global[i],
              (LUAI_UACINT)((l->global[i] - 1) / l->local[i] * l->local[i] +
                            l->local[i])));
  checkrequired(L, l);
}

/* Checks the global size, with its offset, and the kernel's own needs. */
static void checkglobal(lua_State *L, const Launch *l) {
  Context *c = clsh_kernelcontext(l->kernel);
  cl_ulong own = clsh_kernellocal(l->kernel), items = 1;
  for (cl_uint i = 0; i < l->dims; i++) {
    if (l->offset[i] > SIZE_MAX - l->global[i])
      clsh_argerror(L, 4, "offset and global size overflow");
    if (l->global[i] > MAXITEMS / items)
      clsh_argerror(L, 2, "global %s: more than 2^%d work-items",
                    clsh_pushsizes(L, l->global, l->dims), ITEMBITS);
    items *= l->global[i];
  }
  if (own > clsh_localroom(c, own))
    clsh_error(L,
               "%s: the kernel has %I bytes of local memory, the device "
               "%I",
               clsh_kernelname(l->kernel), (LUAI_UACINT)own,
               (LUAI_UACINT)clsh_limits(c)->local_mem);
}

/* Checks the sizes against the kernel as it is now. */
void clsh_checkrange(lua_State *L, Launch *l) {
  checkglobal(L, l);
  if (l->haslocal)
    checklocal(L, l);
  l->revision = clsh_kernelrevision(l->kernel);
}
