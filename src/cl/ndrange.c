/*
** ndrange.c - the sizes of a launch, checked before the driver sees them:
** the driver's own errors name no numbers.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "object.h"

#define ITEMBITS 48 /* 2^48 work-items at 10^12 a second take 5 minutes */
#define MAXITEMS ((cl_ulong)1 << ITEMBITS)

/* "64x16" */
const char *clsh_ndrange_push(lua_State *L, const size_t *s, cl_uint n) {
  static const char *const formats[] = {"%zu", "%zux%zu", "%zux%zux%zu"};
  char text[80];
  assert(n >= 1 && n <= 3);
  snprintf(text, sizeof text, formats[n - 1], s[0], s[1], s[2]);
  return lua_pushstring(L, text);
}

/*
** Reads the sizes at `arg`, a number or a list of 1 to 3 numbers from
** `least` up, and returns their count. `name` is that of the argument.
*/
cl_uint clsh_ndrange_sizes(lua_State *L, int arg, const char *name,
                           lua_Integer least, size_t *s) {
  bool list = lua_istable(L, arg);
  cl_uint n = list ? (cl_uint)lua_rawlen(L, arg) : 1;
  if (n < 1 || n > 3)
    clsh_error_arg(L, arg, "%s must have 1 to 3 dimensions; got %d", name,
                   (int)n);
  for (cl_uint i = 0; i < n; i++) {
    int whole;
    if (list)
      lua_rawgeti(L, arg, i + 1);
    else
      lua_pushvalue(L, arg);
    lua_Integer v = lua_tointegerx(L, -1, &whole);
    if (!whole || lua_type(L, -1) != LUA_TNUMBER || v < least)
      clsh_error_arg(
          L, arg, "%s: dimension %d must be a whole number >= %I; got %s",
          name, (int)i + 1, (LUAI_UACINT)least, luaL_tolstring(L, -1, NULL));
    s[i] = (size_t)v;
    lua_pop(L, 1);
  }
  return n;
}

/* Raises CL_INVALID_WORK_GROUP_SIZE with all the numbers. */
static void badgroup(lua_State *L, const Launch *l, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  clsh_error_call(L, CL_INVALID_WORK_GROUP_SIZE, "clEnqueueNDRangeKernel",
                  "%s: local %s over global %s: %s", l->kernel->name,
                  clsh_ndrange_push(L, l->local, l->dims),
                  clsh_ndrange_push(L, l->global, l->dims), text);
}

static void checkrequired(lua_State *L, const Launch *l) {
  const size_t *required = l->kernel->required;
  for (cl_uint i = 0; required[0] != 0 && i < 3; i++)
    if (required[i] != (i < l->dims ? l->local[i] : 1))
      badgroup(L, l, "the kernel requires %s",
               clsh_ndrange_push(L, required, 3));
}

/* Checks that the local size divides the global size. */
static void checkmultiple(lua_State *L, const Launch *l) {
  for (cl_uint i = 0; i < l->dims; i++) {
    size_t local = l->local[i], rest = l->global[i] % local;
    if (rest != 0)
      badgroup(L, l,
               "global size %I must be a multiple of local size %I; round it "
               "up to %I and test the index in the kernel",
               (LUAI_UACINT)l->global[i], (LUAI_UACINT)local,
               (LUAI_UACINT)(l->global[i] - rest + local));
  }
}

/* Checks the local size against the device, the kernel and the range. */
static void checklocal(lua_State *L, const Launch *l) {
  const Kernel *k = l->kernel;
  const Limits *limits = clsh_context_limits(k->context);
  size_t items = 1;
  for (cl_uint i = 0; i < l->dims; i++) {
    if (l->local[i] > limits->item[i])
      badgroup(L, l, "the device allows %I in dimension %d",
               (LUAI_UACINT)limits->item[i], (int)i + 1);
    items = items > SIZE_MAX / l->local[i] ? SIZE_MAX : items * l->local[i];
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

/* Checks the global size, with its offset, and the kernel's own needs. */
static void checkglobal(lua_State *L, const Launch *l) {
  const Kernel *k = l->kernel;
  cl_ulong own = clsh_kernel_local(k), items = 1;
  for (cl_uint i = 0; i < l->dims; i++) {
    if (l->offset[i] > SIZE_MAX - l->global[i])
      clsh_error_arg(L, 4, "offset and global size overflow");
    if (l->global[i] > MAXITEMS / items)
      clsh_error_arg(L, 2, "global %s: more than 2^%d work-items",
                     clsh_ndrange_push(L, l->global, l->dims), ITEMBITS);
    items *= l->global[i];
  }
  if (own > clsh_context_localroom(k->context, own))
    clsh_error(L, "%s: the kernel has %I bytes of local memory, the device %I",
               k->name, (LUAI_UACINT)own,
               (LUAI_UACINT)clsh_context_limits(k->context)->local_mem);
}

/* Checks the sizes against the kernel as it is now. */
void clsh_ndrange_check(lua_State *L, Launch *l) {
  checkglobal(L, l);
  if (l->haslocal)
    checklocal(L, l);
  l->revision = l->kernel->revision;
}
