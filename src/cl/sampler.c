/*
** sampler.c - class Sampler: how a kernel reads an image between its pixels
** and beyond its edge. There are so few settings that the context keeps the
** OpenCL object of each one in use: a driver may let go of a sampler that a
** kernel still reads by.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>

#include "image.h"

static const char *const addresses[] = {"clamp_to_edge",   "clamp", "repeat",
                                        "mirrored_repeat", "none",  NULL};
static const cl_addressing_mode addresscodes[] = {
    CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT,
    CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE};
static const char *const filters[] = {"nearest", "linear", NULL};
static const cl_filter_mode filtercodes[] = {CL_FILTER_NEAREST,
                                             CL_FILTER_LINEAR};
enum { REPEAT = 2, MIRRORED };

static const Class class;

static Sampler *checksampler(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

Sampler *clsh_sampler_test(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class);
}

/* The context's OpenCL object of this setting, made at the first need. */
static cl_sampler gethandle(lua_State *L, const Sampler *s) {
  int tries = 0;
  cl_int err = CL_SUCCESS;
  int setting = (s->address * 2 + s->filter) * 2 + s->normalized;
  cl_sampler *handle = &s->context->samplers[setting];
  assert(setting < SAMPLERS);
  do {
    cl_context context = clsh_context_handle(L, s->context);
    if (*handle == NULL)
      *handle =
          clCreateSampler(context, s->normalized, addresscodes[s->address],
                          filtercodes[s->filter], &err);
  } while (clsh_error_retry(L, err, &tries));
  clsh_context_checkcommand(L, s->context, err, "clCreateSampler");
  return *handle;
}

static int wordoption(lua_State *L, const char *name,
                      const char *const words[]) {
  clsh_option_push(L, 1, name);
  int i = clsh_option_word(L, -1, words, name);
  lua_pop(L, 1);
  return i;
}

static const char *const sampler_options[] = {"normalized", "address",
                                              "filter", "context", NULL};

/** cl.sampler([opts]) -> Sampler
 * How read_imagef, read_imagei and read_imageui read an image: an argument for
 * a kernel's sampler_t. `s.normalized`, `s.address`, `s.filter`.
 * Options:
 *   normalized  false          true: coordinates from 0 to 1 over the image
 *   address     clamp_to_edge  beyond the edge: "clamp" (the border, 0),
 *                              "repeat" and "mirrored_repeat" (normalized
 *                              alone), "none" (the kernel never goes there)
 *   filter      nearest        "linear" interpolates (in 2-D bilinear), for
 *                              read_imagef alone
 *   context     session's      the Context of another device
 */
static int cl_sampler_(lua_State *L) {
  lua_settop(L, 1);
  clsh_option_check(L, 1, sampler_options, "cl.sampler");
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  clsh_image_need(L, 3);
  Sampler *s = clsh_class_new(L, &class, 1);
  s->context = c;
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 4, 1);
  s->normalized = clsh_option_flag(L, 1, "normalized", false);
  s->address = wordoption(L, "address", addresses);
  s->filter = wordoption(L, "filter", filters);
  if ((s->address == REPEAT || s->address == MIRRORED) && !s->normalized)
    return clsh_error(L, "address: '%s' needs normalized = true",
                      addresses[s->address]);
  s->handle = gethandle(L, s);
  return 1;
}

/* s.normalized */
static int sampler_normalized(lua_State *L) {
  lua_pushboolean(L, checksampler(L, 1)->normalized);
  return 1;
}

/* s.address, s.filter */
static int sampler_word(lua_State *L) {
  const Sampler *s = checksampler(L, 1);
  lua_pushstring(L, *clsh_class_field(L) == 'a' ? addresses[s->address]
                                                : filters[s->filter]);
  return 1;
}

static int sampler_tostring(lua_State *L) {
  const Sampler *s = clsh_class_any(L, 1, &class);
  lua_pushfstring(L, "Sampler %s %s%s%s", addresses[s->address],
                  filters[s->filter], s->normalized ? " normalized" : "",
                  s->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg fields[] = {{"address", sampler_word},
                                  {"context", clsh_class_owner},
                                  {"filter", sampler_word},
                                  {"normalized", sampler_normalized},
                                  {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", sampler_tostring},
                                {NULL, NULL}};
static const Class class = {
    "Sampler", sizeof(Sampler), NULL, fields, meta, NULL, NULL};

void clsh_sampler_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"sampler", cl_sampler_}, {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_option_declare(L, "cl.sampler", sampler_options);
  luaL_setfuncs(L, functions, 0);
}
