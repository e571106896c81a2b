/*
** imageformat.c - the formats of images by name, "rgba float": an order of
** channels and a type of them, and those that a device offers.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "device.h"
#include "image.h"

/* OpenCL's names of orders, and the channels that a pixel has. */
static const struct {
  const char *name;
  cl_channel_order code;
  int channels;
} orders[] = {{"rgba", CL_RGBA, 4},
              {"bgra", CL_BGRA, 4},
              {"argb", CL_ARGB, 4},
              {"abgr", 0x10C3, 4},
              {"srgba", 0x10C1, 4},
              {"sbgra", 0x10C2, 4},
              {"rg", CL_RG, 2},
              {"ra", CL_RA, 2},
              {"r", CL_R, 1},
              {"a", CL_A, 1},
              {"intensity", CL_INTENSITY, 1},
              {"luminance", CL_LUMINANCE, 1}};

/* OpenCL's names of channel types, and the element type on the host. */
static const struct {
  const char *name;
  cl_channel_type code;
  const char *type;
} channels[] = {{"float", CL_FLOAT, "float"},
                {"half_float", CL_HALF_FLOAT, "half"},
                {"unorm_int8", CL_UNORM_INT8, "uchar"},
                {"unorm_int16", CL_UNORM_INT16, "ushort"},
                {"snorm_int8", CL_SNORM_INT8, "char"},
                {"snorm_int16", CL_SNORM_INT16, "short"},
                {"signed_int8", CL_SIGNED_INT8, "char"},
                {"signed_int16", CL_SIGNED_INT16, "short"},
                {"signed_int32", CL_SIGNED_INT32, "int"},
                {"unsigned_int8", CL_UNSIGNED_INT8, "uchar"},
                {"unsigned_int16", CL_UNSIGNED_INT16, "ushort"},
                {"unsigned_int32", CL_UNSIGNED_INT32, "uint"}};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool find(const char *order, size_t len, const char *channel,
                 Format *f) {
  char type[16];
  size_t i = 0, j = 0;
  while (i < COUNT(orders) && (strlen(orders[i].name) != len ||
                               memcmp(orders[i].name, order, len) != 0))
    i++;
  while (j < COUNT(channels) && strcmp(channels[j].name, channel) != 0)
    j++;
  if (i == COUNT(orders) || j == COUNT(channels))
    return false;
  strcpy(type, channels[j].type);
  if (orders[i].channels > 1)
    strcat(type, orders[i].channels == 2 ? "2" : "4");
  f->code = (cl_image_format){orders[i].code, channels[j].code};
  f->order = orders[i].name;
  f->channel = channels[j].name;
  f->type = clsh_type_find(type, strlen(type));
  return true;
}

static const char *pushnames(lua_State *L, const char *first, size_t count,
                             size_t stride) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < count; i++) {
    const char *const *name = (const void *)(first + i * stride);
    luaL_addstring(&b, i > 0 ? ", " : "");
    luaL_addstring(&b, *name);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Reads the format at `idx`: "rgba float", which nil stands for. */
void clsh_imageformat_check(lua_State *L, int idx, Format *f) {
  const char *name = "rgba float";
  if (!lua_isnoneornil(L, idx)) {
    if (lua_type(L, idx) != LUA_TSTRING)
      clsh_error(L,
                 "format: must be the name of a format, such as \"rgba "
                 "float\"; got %s",
                 clsh_class_name(L, idx));
    name = lua_tostring(L, idx);
  }
  size_t len = strcspn(name, " ");
  if (name[len] == '\0' || !find(name, len, name + len + 1, f))
    clsh_error(
        L,
        "format: must be an order and a type of channels, such as "
        "\"rgba float\"; got '%s'; orders are %s; types are %s",
        name,
        pushnames(L, (const char *)orders, COUNT(orders), sizeof *orders),
        pushnames(L, (const char *)channels, COUNT(channels),
                  sizeof *channels));
}

const char *clsh_imageformat_push(lua_State *L, const Format *f) {
  return lua_pushfstring(L, "%s %s", f->order, f->channel);
}

/* The type of four channels that a fill takes. */
const Type *clsh_imageformat_color(const Format *f) {
  const char *name = strncmp(f->channel, "signed", 6) == 0     ? "int4"
                     : strncmp(f->channel, "unsigned", 8) == 0 ? "uint4"
                                                               : "float4";
  return clsh_type_find(name, strlen(name));
}

/* Pushes the list that the driver gives; returns its length. */
static size_t pushoffered(lua_State *L, Context *c, cl_mem_flags flags,
                          cl_mem_object_type what) {
  cl_uint n = 0;
  cl_context handle = clsh_context_handle(L, c);
  cl_int err = clGetSupportedImageFormats(handle, flags, what, 0, NULL, &n);
  clsh_context_checkcommand(L, c, err, "clGetSupportedImageFormats");
  size_t bytes = clsh_info_size(n * sizeof(cl_image_format));
  n = (cl_uint)(bytes / sizeof(cl_image_format));
  void *list = lua_newuserdatauv(L, bytes + 1, 0);
  memset(list, 0, bytes);
  if (n > 0)
    err = clGetSupportedImageFormats(clsh_context_handle(L, c), flags, what, n,
                                     list, NULL);
  clsh_context_checkcommand(L, c, err, "clGetSupportedImageFormats");
  return n;
}

static bool isoffered(const cl_image_format *list, size_t n, const Format *f) {
  for (size_t i = 0; i < n; i++)
    if (memcmp(&list[i], &f->code, sizeof f->code) == 0)
      return true;
  return false;
}

/*
** Raises unless the device has images of a kind in the format. It names the
** types that the device has with this order of channels, or its orders.
*/
void clsh_imageformat_offered(lua_State *L, Context *c, cl_mem_flags flags,
                              cl_mem_object_type what, const Format *f) {
  Format other;
  size_t n = pushoffered(L, c, flags, what);
  const cl_image_format *list = lua_touserdata(L, -1);
  if (isoffered(list, n, f)) {
    lua_pop(L, 1);
    return;
  }
  luaL_Buffer b;
  const char *comma = "";
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < COUNT(orders); i++)
    for (size_t j = 0; j < COUNT(channels); j++) {
      find(orders[i].name, strlen(orders[i].name), channels[j].name, &other);
      bool same = other.order == f->order || other.channel == f->channel;
      if (!same || !isoffered(list, n, &other))
        continue;
      luaL_addstring(&b, comma);
      luaL_addstring(&b, other.order);
      luaL_addchar(&b, ' ');
      luaL_addstring(&b, other.channel);
      comma = ", ";
    }
  luaL_pushresult(&b);
  clsh_imageformat_push(L, f);
  clsh_error_call(L, CL_IMAGE_FORMAT_NOT_SUPPORTED, "clCreateImage",
                  "the device has no such images in format '%s'; of that "
                  "order or type it has: %s",
                  lua_tostring(L, -1),
                  *comma != '\0' ? lua_tostring(L, -2) : "none");
}

/* Pushes a list of the formats that the device has of a kind of images. */
void clsh_imageformat_pushlist(lua_State *L, Context *c, cl_mem_flags flags,
                               cl_mem_object_type what) {
  Format f;
  lua_Integer count = 0;
  size_t n = pushoffered(L, c, flags, what);
  const cl_image_format *list = lua_touserdata(L, -1);
  lua_newtable(L);
  for (size_t i = 0; i < COUNT(orders); i++)
    for (size_t j = 0; j < COUNT(channels); j++)
      if (find(orders[i].name, strlen(orders[i].name), channels[j].name, &f) &&
          isoffered(list, n, &f)) {
        clsh_imageformat_push(L, &f);
        lua_rawseti(L, -2, ++count);
      }
  lua_remove(L, -2);
}
