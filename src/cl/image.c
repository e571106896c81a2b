/*
** image.c - classes Image and Sampler: device memory of pixels, and how
** kernels read it. A format is an order of channels and a type of them, "rgba
** float". Pixels go from and to the host, Buffers and other images.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <string.h>

#include "buffer.h"
#include "device.h"
#include "driver.h"
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

static bool findformat(const char *order, size_t len, const char *channel,
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
static void checkformat(lua_State *L, int idx, Format *f) {
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
  if (name[len] == '\0' || !findformat(name, len, name + len + 1, f))
    clsh_error(
        L,
        "format: must be an order and a type of channels, such as "
        "\"rgba float\"; got '%s'; orders are %s; types are %s",
        name,
        pushnames(L, (const char *)orders, COUNT(orders), sizeof *orders),
        pushnames(L, (const char *)channels, COUNT(channels),
                  sizeof *channels));
}

static const char *pushformat(lua_State *L, const Format *f) {
  return lua_pushfstring(L, "%s %s", f->order, f->channel);
}

/* The type of four channels that a fill takes. */
static const Type *colortype(const Format *f) {
  const char *name = strncmp(f->channel, "signed", 6) == 0     ? "int4"
                     : strncmp(f->channel, "unsigned", 8) == 0 ? "uint4"
                                                               : "float4";
  return clsh_type_find(name, strlen(name));
}

/* Pushes the driver's list of formats; returns its length. */
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
** Pushes the list of the device's formats for a kind of images: all, or those
** with the order or the type of `own`, unless NULL. Returns whether `own` is
** one of them.
*/
static bool pushformats(lua_State *L, Context *c, cl_mem_flags flags,
                        cl_mem_object_type what, const Format *own) {
  Format f;
  lua_Integer count = 0;
  size_t n = pushoffered(L, c, flags, what);
  const cl_image_format *list = lua_touserdata(L, -1);
  bool found = own != NULL && isoffered(list, n, own);
  lua_newtable(L);
  for (size_t i = 0; i < COUNT(orders); i++)
    for (size_t j = 0; j < COUNT(channels); j++) {
      findformat(orders[i].name, strlen(orders[i].name), channels[j].name, &f);
      bool alike =
          own == NULL || f.order == own->order || f.channel == own->channel;
      if (!alike || !isoffered(list, n, &f))
        continue;
      pushformat(L, &f);
      lua_rawseti(L, -2, ++count);
    }
  lua_remove(L, -2);
  return found;
}

/* Raises unless the device has images of a kind in the format. */
static void checkoffered(lua_State *L, Context *c, cl_mem_flags flags,
                         cl_mem_object_type what, const Format *f) {
  bool found = pushformats(L, c, flags, what, f);
  int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
  lua_pushstring(L, n == 0 ? "none" : "");
  for (int i = 1; i <= n && !found; i++) {
    lua_pushstring(L, i > 1 ? ", " : "");
    lua_rawgeti(L, list, i);
    lua_concat(L, 3);
  }
  if (!found)
    clsh_error_call(L, CL_IMAGE_FORMAT_NOT_SUPPORTED, "clCreateImage",
                    "the device has no such images in format '%s'; of that "
                    "order or type it has: %s",
                    pushformat(L, f), lua_tostring(L, list + 1));
  lua_settop(L, list - 1);
}

static const Kind kinds[] = {
    {"1d", "image1d_t", CL_MEM_OBJECT_IMAGE1D, 1, false},
    {"2d", "image2d_t", CL_MEM_OBJECT_IMAGE2D, 2, false},
    {"3d", "image3d_t", CL_MEM_OBJECT_IMAGE3D, 3, false},
    {"1d_array", "image1d_array_t", CL_MEM_OBJECT_IMAGE1D_ARRAY, 2, true},
    {"2d_array", "image2d_array_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, 3, true},
    {"1d_buffer", "image1d_buffer_t", CL_MEM_OBJECT_IMAGE1D_BUFFER, 1, false}};
enum { IMAGE1D, IMAGE2D, IMAGE3D, IMAGE1DARRAY, IMAGE2DARRAY, IMAGE1DBUFFER };

static void image_release(Object *o) {
  Image *img = (Image *)o;
  if (img->handle == NULL)
    return;
  if (!clsh_driver_handsoff())
    clReleaseMemObject(img->handle);
  clsh_context_give(img->context, img->bytes);
  img->handle = NULL;
}

/* The kind of a parameter "read_only image2d_t"; NULL: no kind of these. */
const Kind *clsh_image_kind(const char *param) {
  const char *word = strrchr(param, ' ');
  word = word != NULL ? word + 1 : param;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(word, kinds[i].param) == 0)
      return &kinds[i];
  return NULL;
}

/* The shape on the host of a part of `size` pixels: row-major. */
void clsh_image_shape(const Image *img, const size_t size[3], Shape *s) {
  s->ndims = img->kind->ndims;
  s->count = 1;
  for (int i = 0; i < s->ndims; i++) {
    s->dim[s->ndims - 1 - i] = size[i];
    s->count *= size[i];
  }
}

/* The name of dimension i: of option, field and message. */
static const char *dimension(const Kind *k, int i) {
  return i == 0                          ? "width"
         : k->array && i == k->ndims - 1 ? "array_size"
         : i == 1                        ? "height"
                                         : "depth";
}

static bool given(lua_State *L, const char *option) {
  bool is = clsh_option_push(L, 1, option) != LUA_TNIL;
  lua_pop(L, 1);
  return is;
}

/* The kind of image for the sizes that the options at 1 give. */
static const Kind *checkkind(lua_State *L) {
  bool height = given(L, "height"), depth = given(L, "depth");
  bool array = given(L, "array_size"), buffer = given(L, "buffer");
  if (buffer && (height || depth || array))
    clsh_error(L, "buffer: an image of a Buffer has a width alone");
  if (depth && (array || !height))
    clsh_error(L, "depth: an image with a depth has a width and a height, "
                  "and no array_size");
  return &kinds[buffer            ? IMAGE1DBUFFER
                : depth           ? IMAGE3D
                : array && height ? IMAGE2DARRAY
                : array           ? IMAGE1DARRAY
                : height          ? IMAGE2D
                                  : IMAGE1D];
}

/* Pushes the name of the field of the Device that limits dimension i. */
static const char *pushlimit(lua_State *L, const Kind *k, int i) {
  if (k == &kinds[IMAGE1DBUFFER])
    return lua_pushliteral(L, "image_max_buffer_size");
  if (k->array && i == k->ndims - 1)
    return lua_pushliteral(L, "image_max_array_size");
  return lua_pushfstring(L, "image%cd_max_%s",
                         k == &kinds[IMAGE3D] ? '3' : '2', dimension(k, i));
}

/* Refuses a size in dimension i that the device does not allow. */
static void checklimit(lua_State *L, int ctx, const Image *img, int i) {
  const char *limit = pushlimit(L, img->kind, i);
  lua_getiuservalue(L, ctx, 1);
  lua_getfield(L, -1, limit);
  if (lua_isinteger(L, -1) &&
      img->size[i] > (lua_Unsigned)lua_tointeger(L, -1))
    clsh_error(L, "%s: the device allows %I (%s); got %I",
               dimension(img->kind, i), lua_tointeger(L, -1), limit,
               (LUAI_UACINT)img->size[i]);
  lua_pop(L, 3);
}

/* Reads the sizes that options at 1 give; checks them and their product. */
static void checksize(lua_State *L, int ctx, Image *img) {
  size_t bytes = img->format.type->size;
  for (int i = 0; i < 3; i++) {
    img->size[i] = 1;
    if (i >= img->kind->ndims)
      continue;
    const char *name = dimension(img->kind, i);
    clsh_option_push(L, 1, name);
    img->size[i] = clsh_option_count(L, -1, name);
    lua_pop(L, 1);
    checklimit(L, ctx, img, i);
    if (img->size[i] > PTRDIFF_MAX / bytes)
      clsh_error(L, "%s: the bytes of the image would overflow", name);
    bytes *= img->size[i];
  }
  img->bytes = bytes;
}

/*
** Makes the pixels of the option buffer's Buffer the image's width. User value
** 2 of the image at 4 keeps the Buffer.
*/
static void checkbuffer(lua_State *L, int ctx, Image *img) {
  const Type *t = img->format.type;
  clsh_option_push(L, 1, "buffer");
  const Buffer *b = clsh_buffer_option(L, -1, "buffer");
  if (!clsh_context_shares(b->context, img->context))
    clsh_error(L, "buffer: the Buffer is of another context (device)");
  if (!clsh_type_alike(b->type, t) ||
      b->shape.count * b->type->size != b->bytes || b->bytes % t->size != 0)
    clsh_error(L, "buffer: must hold %s without gaps; got %s%s", t->name,
               b->type->name, clsh_shape_string(L, &b->shape));
  size_t n = b->bytes / t->size;
  lua_setiuservalue(L, 4, 2);
  img->size[0] = n;
  if (given(L, "width")) {
    clsh_option_push(L, 1, "width");
    img->size[0] = clsh_option_count(L, -1, "width");
    lua_pop(L, 1);
  }
  if (img->size[0] > n)
    clsh_error(L, "width: the Buffer has %I pixels; got %I", (LUAI_UACINT)n,
               (LUAI_UACINT)img->size[0]);
  checklimit(L, ctx, img, 0);
  img->size[1] = img->size[2] = 1;
}

/* The memory of the Buffer of the image at 4; NULL: there is no Buffer. */
static cl_mem bufferhandle(lua_State *L) {
  if (lua_getiuservalue(L, 4, 2) == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  Buffer *b = clsh_buffer_option(L, 5, "buffer");
  cl_mem handle = clsh_buffer_handle(L, b);
  clsh_buffer_dontkeep(b); /* the image may outlive it */
  if (handle == NULL)
    clsh_error(L, "buffer: this view begins where the device lets no image "
                  "begin; take a b:clone() of it");
  lua_pop(L, 1);
  return handle;
}

/* Raises where the driver's pixel has another size than the host's type. */
static void checkpixel(lua_State *L, const Image *img) {
  size_t size = 0;
  cl_int err = clGetImageInfo(img->handle, CL_IMAGE_ELEMENT_SIZE, sizeof size,
                              &size, NULL);
  clsh_error_check(L, err, "clGetImageInfo");
  if (size != img->format.type->size)
    clsh_error(L, "the driver tells of %I bytes in a pixel of %s",
               (LUAI_UACINT)size, img->format.type->name);
}

/* Makes the memory of the image at 4, whose other fields are set. */
static void allocate(lua_State *L, Image *img, cl_mem_flags flags) {
  int tries = 0, n = img->kind->ndims;
  cl_int err;
  cl_image_desc desc = {.image_type = img->kind->what,
                        .image_width = img->size[0]};
  if (n - img->kind->array > 1)
    desc.image_height = img->size[1];
  if (n - img->kind->array > 2)
    desc.image_depth = img->size[2];
  if (img->kind->array)
    desc.image_array_size = img->size[n - 1];
  clsh_context_reserve(L, img->context, img->bytes, "clCreateImage", "image");
  do {
    cl_context context = clsh_context_handle(L, img->context);
    desc.buffer = bufferhandle(L);
    img->handle =
        clCreateImage(context, flags, &img->format.code, &desc, NULL, &err);
  } while (clsh_error_retry(L, err, &tries));
  if (err != CL_SUCCESS && desc.buffer != NULL)
    clsh_error_call(L, err, "clCreateImage",
                    "the driver makes no image of this Buffer; of a view, "
                    "take a b:clone()");
  if (err != CL_SUCCESS)
    clsh_error_call(L, err, "clCreateImage", "asked for %I bytes",
                    (LUAI_UACINT)img->bytes);
  clsh_context_take(img->context, img->bytes);
  checkpixel(L, img);
}

static bool hasimages(lua_State *L, int ctx) {
  lua_getiuservalue(L, ctx, 1);
  lua_getfield(L, -1, "image_support");
  bool has = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return has;
}

/* Raises where the device of the Context at `ctx` has no images. */
static void needimages(lua_State *L, int ctx) {
  if (!hasimages(L, ctx))
    clsh_error(L, "the device has no images (image_support is false); use a "
                  "Buffer, and vload4 in the kernel");
}

/** cl.image(opts) -> Image
 * Pixels on the device, which kernels read through a sampler:
 * `cl.image{width = 640, height = 480}`. The given sizes set the kind: a width
 * alone makes a 1-D image (image1d_t), with a height 2-D, with a depth 3-D;
 * array_size makes an array of 1-D or 2-D images, a Buffer an
 * image1d_buffer_t. On the host it is an Array with an element for each pixel,
 * `img.type` ("float4"), of shape {height, width}, {depth, height, width} or
 * {array_size, height, width}; a norm_ channel has its stored integer there. A
 * size or a format that the device does not allow raises. Fields:
 * `img.kind`, `img.format`, `img.type`, `img.shape`, `img.width`,
 * `img.height`, `img.depth`, `img.array_size`, `img.bytes`, `img.row_pitch`,
 * `img.buffer`, `#img` (pixels).
 * Options:
 *   format      rgba float  order and type of the channels: "r half_float",
 *                           "rgba unorm_int8"; see ctx:image_formats
 *   width       -           pixels
 *   height      -           rows of pixels
 *   depth       -           layers of a 3-D image
 *   array_size  -           images in an array of them
 *   buffer      -           the Buffer whose memory the image is
 *   data        -           the content, as img:write takes it
 *   access      read_write  "read_only" or "write_only": what kernels do
 *   host        false       true: memory that maps fast
 *   context     session's   the Context of another device
 * Example:
 * local img = cl.image{format = "r float", width = 4, height = 2,
 *   data = {{1, 2, 3, 4}, {5, 6, 7, 8}}}
 * print(img, img.type, img.bytes) --> Image 2d r float 4x2 float 32
 */
static int cl_image(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_istable(L, 1))
    return clsh_error(L,
                      "cl.image takes a table, cl.image{width = 64, height = "
                      "64}; got %s",
                      clsh_class_name(L, 1));
  clsh_option_check(
      L, 1,
      "format width height depth array_size buffer data access host context",
      "cl.image");
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  needimages(L, 3);
  Image *img = clsh_class_newowned(L, &clsh_image_class, 2, 3);
  img->context = c;
  img->kind = checkkind(L);
  clsh_option_push(L, 1, "format");
  checkformat(L, 5, &img->format);
  cl_mem_flags flags = clsh_buffer_flags(L, 1);
  lua_settop(L, 4);
  img->access = flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR;
  if (img->kind == &kinds[IMAGE1DBUFFER]) {
    checkbuffer(L, 3, img);
    flags = img->access;
  } else {
    checksize(L, 3, img);
  }
  checkoffered(L, c, img->access, img->kind->what, &img->format);
  allocate(L, img, flags);
  if (clsh_option_push(L, 1, "data") != LUA_TNIL) {
    lua_getfield(L, 4, "write");
    lua_pushvalue(L, 4);
    lua_pushvalue(L, -3);
    lua_call(L, 2, 0);
  }
  lua_settop(L, 4);
  return 1;
}

/** Context:image_formats([opts]) -> list of strings
 * The formats that images of this device may have, such as "rgba float": an
 * order of channels and their type. Empty for a device without images.
 * Options:
 *   kind    2d          "1d", "3d", "1d_array", "2d_array" or "1d_buffer"
 *   access  read_write  "read_only" or "write_only": what kernels do
 * Example:
 * for _, format in ipairs(cl.context():image_formats{kind = "3d"}) do
 *   if format == "rgba float" then
 *     print(format) --> rgba float
 *   end
 * end
 */
static int context_imageformats(lua_State *L) {
  static const char *const names[] = {
      "2d", "1d", "3d", "1d_array", "2d_array", "1d_buffer", NULL};
  static const int places[] = {IMAGE2D,      IMAGE1D,      IMAGE3D,
                               IMAGE1DARRAY, IMAGE2DARRAY, IMAGE1DBUFFER};
  Context *c = clsh_context_check(L, 1);
  lua_settop(L, 2);
  clsh_option_check(L, 2, "kind access", "ctx:image_formats");
  clsh_option_push(L, 2, "kind");
  int kind = places[clsh_option_word(L, 3, names, "kind")];
  cl_mem_flags flags =
      lua_isnil(L, 2) ? CL_MEM_READ_WRITE : clsh_buffer_flags(L, 2);
  if (hasimages(L, 1))
    pushformats(L, c, flags, kinds[kind].what, NULL);
  else
    lua_newtable(L);
  return 1;
}

/* img.kind, img.format, img.type */
static int image_word(lua_State *L) {
  const Image *img = clsh_image_check(L, 1);
  const char *name = clsh_class_field(L);
  if (*name == 'f')
    pushformat(L, &img->format);
  else
    lua_pushstring(L, *name == 'k' ? img->kind->name : img->format.type->name);
  return 1;
}

/* img.width, img.height, img.depth, img.array_size; nil: no such size */
static int image_size(lua_State *L) {
  const Image *img = clsh_image_check(L, 1);
  for (int i = 0; i < img->kind->ndims; i++)
    if (strcmp(dimension(img->kind, i), clsh_class_field(L)) == 0) {
      lua_pushinteger(L, (lua_Integer)img->size[i]);
      return 1;
    }
  return 0;
}

static int image_shape(lua_State *L) {
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  clsh_image_shape(img, img->size, &s);
  clsh_shape_push(L, &s);
  return 1;
}

/* img.bytes, #img: pixels */
static int image_count(lua_State *L) {
  const Image *img = clsh_image_check(L, 1);
  size_t n = img->size[0] * img->size[1] * img->size[2];
  const char *name = clsh_class_field(L);
  if (strcmp(name, "bytes") == 0)
    n *= img->format.type->size;
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

static cl_int getimage(void *mem, cl_uint q, size_t n, void *p, size_t *r) {
  return clGetImageInfo((cl_mem)mem, q, n, p, r);
}

/* img.row_pitch: bytes from row to row, as the driver tells */
static int image_pitch(lua_State *L) {
  static const Info pitch = {"row_pitch", CL_IMAGE_ROW_PITCH, 'z', NULL};
  const Image *img = clsh_image_check(L, 1);
  clsh_context_alive(L, img->context);
  clsh_info_push(L, getimage, img->handle, &pitch);
  return 1;
}

/* img[i] */
static int image_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING)
    return 0;
  return clsh_error(L, "the pixels of an Image are on the device; read them "
                       "first: img:read()[1]");
}

/** Image:info() -> table
 * kind, format, type, shape, width, height, depth, array_size, bytes,
 * row_pitch, and device (its name).
 * Example: print(cl.image{width = 8, height = 4}:info().kind) --> 2d
 */
static int image_info(lua_State *L) {
  clsh_image_check(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(
      L,
      "kind format type shape width height depth array_size bytes row_pitch");
  clsh_context_setdevice(L);
  return 1;
}

/* Image 2d rgba float 640x480 */
static int image_tostring(lua_State *L) {
  const Image *img = clsh_class_any(L, 1, &clsh_image_class);
  if (img->kind == NULL) /* not made in the end */
    return lua_pushliteral(L, "Image"), 1;
  lua_pushfstring(L, "Image %s ", img->kind->name);
  pushformat(L, &img->format);
  lua_pushliteral(L, " ");
  clsh_shape_pushtext(L, img->size, img->kind->ndims);
  lua_pushstring(L, img->head.closed ? " (closed)" : "");
  lua_concat(L, 5);
  return 1;
}

/* A box of pixels; beyond the image's dimensions 0 and 1. */
typedef struct Box {
  size_t origin[3], size[3];
} Box;

/* Raises where a box leaves the image. */
static void checkbox(lua_State *L, const Image *img, const Box *b) {
  int n = img->kind->ndims;
  for (int i = 0; i < 3; i++)
    if (b->origin[i] > img->size[i] ||
        b->size[i] > img->size[i] - b->origin[i])
      clsh_error(L, "region %s at %s leaves the image of %s",
                 clsh_shape_pushtext(L, b->size, n),
                 clsh_shape_pushtext(L, b->origin, n),
                 clsh_shape_pushtext(L, img->size, n));
}

/* Reads the part that options origin and region name; by default the image. */
static void checkpart(lua_State *L, const Image *img, int opts, Box *b) {
  for (int i = 0; i < 3; i++)
    b->origin[i] = 0, b->size[i] = 1;
  clsh_transfer_place(L, opts, "origin", img->kind->ndims, 0, b->origin);
  if (!clsh_transfer_place(L, opts, "region", img->kind->ndims, 1, b->size))
    for (int i = 0; i < 3; i++)
      b->size[i] =
          b->origin[i] < img->size[i] ? img->size[i] - b->origin[i] : 1;
  checkbox(L, img, b);
}

static size_t boxbytes(const Image *img, const Box *b) {
  return b->size[0] * b->size[1] * b->size[2] * img->format.type->size;
}

/* Whether elements of a type are pixels of the image, or their channels. */
static bool isalike(const Image *img, const Type *t) {
  const Type *own = img->format.type;
  return t == own || (clsh_type_alike(t, own) && t->width != 3);
}

/* Raises unless the array can take or give exactly the box. */
static void checkarray(lua_State *L, const Image *img, const Box *b,
                       const Array *a) {
  size_t bytes = boxbytes(img, b);
  if (!isalike(img, a->type))
    clsh_error(
        L,
        "the pixels of the Image are %s; got an Array of %s; convert it "
        "with h:convert",
        img->format.type->name, a->type->name);
  if (clsh_array_bytes(a) != bytes)
    clsh_error(L, "this part of the Image has %I bytes; got an Array of %I",
               (LUAI_UACINT)bytes, (LUAI_UACINT)clsh_array_bytes(a));
}

/* Moves a box from or to the Array at 2; pushes the Event. */
static void transfer(lua_State *L, bool write, const Image *img, const Box *b,
                     Transfer *m) {
  checkarray(L, img, b, clsh_array_check(L, 2));
  Event *e = clsh_transfer_begin(L, &img->head, m, boxbytes(img, b));
  void *host = clsh_transfer_pin(L, e, 2);
  assert(e->pin->bytes >= boxbytes(img, b));
  cl_int err = write
                   ? clEnqueueWriteImage(m->handle, img->handle, CL_FALSE,
                                         b->origin, b->size, 0, 0, host,
                                         m->waits.n, m->waits.list, &e->handle)
                   : clEnqueueReadImage(m->handle, img->handle, CL_FALSE,
                                        b->origin, b->size, 0, 0, host,
                                        m->waits.n, m->waits.list, &e->handle);
  clsh_transfer_end(L, m, err,
                    write ? "clEnqueueWriteImage" : "clEnqueueReadImage");
}

/*
** Raises for an image in a Buffer's memory: not every driver fills and copies
** such images.
*/
static void checkown(lua_State *L, const Image *img, const char *method) {
  if (img->kind->what == CL_MEM_OBJECT_IMAGE1D_BUFFER)
    clsh_error(L,
               "%s: an Image of kind 1d_buffer is memory of a Buffer; %s "
               "that, img.buffer",
               method, method);
}

static const char partoptions[] = "queue async after origin region";

/** Image:read([dst] [, opts]) -> Array
 * Copies the image, or a part of it, to host memory: into Array `dst`, of
 * pixels or of their channels, or a new Array. It waits for the data; with
 * {async = true} it does not, and returns an Event as well. Pixels count from
 * 0, as a kernel counts them.
 * Options:
 *   origin        all 0  the first pixel: {x, y, z}, as many as dimensions
 *   region        rest   its size: {width, height, depth}; the image in an
 *                        array of them counts as the last dimension
 *   queue, after  -      the Queue (default queue), a list of events before
 *   async         false  true: does not wait for the data
 * Example:
 * local img = cl.image{width = 8, height = 8, data = 1}
 * local corner = img:read{origin = {6, 6}, region = {2, 2}}
 * print(corner, corner:at(1, 1)[4]) --> Array float4[2][2] 1.0
 */
static int image_read(lua_State *L) {
  Box b;
  Transfer m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  clsh_transfer_shift(L);
  clsh_transfer_check(L, img->context, 3, partoptions, &m);
  checkpart(L, img, 3, &b);
  if (lua_isnil(L, 2)) {
    clsh_image_shape(img, b.size, &s);
    clsh_array_new(L, img->format.type, &s);
    lua_replace(L, 2);
  }
  transfer(L, false, img, &b, &m);
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  return m.async ? 2 : (lua_pop(L, 1), 1);
}

/*
** The byte of the Buffer's memory where a box begins: at the element that
** option `name` gives, counted from 1.
*/
static size_t checkplace(lua_State *L, const Image *img, const Box *box,
                         const Buffer *b, int opts, const char *name) {
  size_t size = b->type->size, bytes = boxbytes(img, box);
  size_t first = clsh_option_size(L, opts, name, 1);
  if (!clsh_context_shares(b->context, img->context))
    clsh_error(L, "the Image and the Buffer are of different contexts; go "
                  "through the host: read, then write");
  if (!isalike(img, b->type) || b->shape.count * size != b->bytes)
    clsh_error(L, "the Buffer must hold %s without gaps; got %s%s",
               img->format.type->name, b->type->name,
               clsh_shape_string(L, &b->shape));
  if (first > b->bytes / size || bytes > b->bytes - (first - 1) * size)
    clsh_error(L,
               "this part of the Image has %I bytes, more than the Buffer's "
               "%I from element %I on",
               (LUAI_UACINT)bytes, (LUAI_UACINT)b->bytes, (LUAI_UACINT)first);
  return b->shift + (first - 1) * size;
}

/* Copies a box to the Buffer at 2, or from it; pushes the Event. */
static int copybuffer(lua_State *L, bool write, const Image *img,
                      const Box *box, Transfer *m) {
  const Buffer *b = clsh_buffer_check(L, 2);
  const char *call =
      write ? "clEnqueueCopyBufferToImage" : "clEnqueueCopyImageToBuffer";
  size_t offset = checkplace(L, img, box, b, 3, write ? "first" : "to");
  Event *e = clsh_transfer_begin(L, &img->head, m, boxbytes(img, box));
  clsh_buffer_use(clsh_buffer_check(L, 2), clsh_queue_any(L, m->queue));
  cl_int err =
      write
          ? clEnqueueCopyBufferToImage(m->handle, b->handle, img->handle,
                                       offset, box->origin, box->size,
                                       m->waits.n, m->waits.list, &e->handle)
          : clEnqueueCopyImageToBuffer(m->handle, img->handle, b->handle,
                                       box->origin, box->size, offset,
                                       m->waits.n, m->waits.list, &e->handle);
  if (err == CL_INVALID_VALUE) /* checked before: the driver lacks it */
    clsh_error_call(L, err, call,
                    "the driver takes no such copy (NVIDIA's takes none of "
                    "1-D arrays); go through the host: read, then write");
  clsh_transfer_end(L, m, err, call);
  return 1;
}

/** Image:write(src [, opts]) -> Event
 * Copies `src` to the image: an Array of pixels or of their channels, a
 * Buffer of these (on the device), a string of bytes, a nested table of rows
 * of pixels ({r, g, b, a}), a number for all channels, or a function of the
 * indexes. It waits until `src` may change again unless {async = true}.
 * Options as for Image:read.
 * Options:
 *   first  1  of a Buffer, the element where the pixels begin
 * Example:
 * local img = cl.image{format = "rgba unorm_int8", width = 2, height = 2}
 * img:write{{{255, 0, 0, 255}, {0, 255, 0, 255}},
 *   {{0, 0, 255, 255}, {0, 0, 0, 255}}}
 * print(img:read():at(2, 1)[3]) --> 255
 */
static int image_write(lua_State *L) {
  Box b;
  Transfer m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  clsh_transfer_check(L, img->context, 3,
                      "queue async after origin region first", &m);
  checkpart(L, img, 3, &b);
  if (clsh_buffer_test(L, 2) != NULL)
    return copybuffer(L, true, img, &b, &m);
  if (clsh_option_push(L, 3, "first") != LUA_TNIL)
    return clsh_error(L, "first: only a Buffer has elements to begin at");
  if (clsh_array_test(L, 2) == NULL) {
    clsh_image_shape(img, b.size, &s);
    clsh_array_setall(L, clsh_array_new(L, img->format.type, &s), 2);
    lua_replace(L, 2);
  }
  transfer(L, true, img, &b, &m);
  return 1;
}

/** Image:fill(color [, opts]) -> Event
 * Sets every pixel to a color as a kernel's write_image takes it: a number
 * for all channels, or the list {r, g, b, a}, whatever channels the image has.
 * A norm_ format takes 0 to 1 (-1 to 1). Options as for Image:read.
 * Example:
 * local img = cl.image{format = "rgba unorm_int8", width = 4, height = 4}
 * img:fill{1, 0.2, 0, 1}
 * print(table.concat(img:read()[16], " ")) --> 255 51 0 255
 */
static int image_fill(lua_State *L) {
  char color[16];
  Box b;
  Transfer m;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  clsh_type_element(L, 2, colortype(&img->format), color);
  checkown(L, img, "fill");
  clsh_transfer_check(L, img->context, 3, partoptions, &m);
  checkpart(L, img, 3, &b);
  Event *e = clsh_transfer_begin(L, &img->head, &m, boxbytes(img, &b));
  cl_int err = clEnqueueFillImage(m.handle, img->handle, color, b.origin,
                                  b.size, m.waits.n, m.waits.list, &e->handle);
  clsh_transfer_end(L, &m, err, "clEnqueueFillImage");
  return 1;
}

static bool meet(const Box *a, const Box *b) {
  for (int i = 0; i < 3; i++)
    if (a->origin[i] >= b->origin[i] + b->size[i] ||
        b->origin[i] >= a->origin[i] + a->size[i])
      return false;
  return true;
}

/** Image:copy(dst [, opts]) -> Event
 * Copies the image, or a part, on the device: into an Image of the same
 * format, or into a Buffer of pixels or of their channels. img:write(b) copies
 * a Buffer into an image. Options as for Image:read.
 * Options:
 *   to  first  where in `dst`: {x, y, z} of an Image, an element of a Buffer
 * Example:
 * local img = cl.image{width = 4, height = 4, data = 2}
 * local b = cl.buffer("float", 64)
 * img:copy(b)
 * print(b:read()[64]) --> 2.0
 */
static int image_copy(lua_State *L) {
  Box b, to = {{0, 0, 0}, {1, 1, 1}};
  Transfer m;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  checkown(L, img, "copy");
  clsh_transfer_check(L, img->context, 3, "queue async after origin region to",
                      &m);
  checkpart(L, img, 3, &b);
  if (clsh_buffer_test(L, 2) != NULL)
    return copybuffer(L, false, img, &b, &m);
  const Image *d = clsh_image_test(L, 2);
  if (d == NULL)
    return clsh_error_arg(L, 2, "must be an open Image or Buffer; got %s",
                          clsh_class_name(L, 2));
  checkown(L, d, "copy");
  if (!clsh_context_shares(d->context, img->context))
    return clsh_error(L, "copy: Images of different contexts; go through the "
                         "host with dst:write(src:read())");
  if (d->format.order != img->format.order ||
      d->format.channel != img->format.channel) {
    const char *from = pushformat(L, &img->format);
    return clsh_error(L, "copy: the formats must agree; got %s and %s", from,
                      pushformat(L, &d->format));
  }
  clsh_transfer_place(L, 3, "to", d->kind->ndims, 0, to.origin);
  for (int i = 0; i < 3; i++)
    to.size[i] = b.size[i];
  checkbox(L, d, &to);
  if (d == img && meet(&b, &to))
    return clsh_error_call(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyImage",
                           "source and target share pixels");
  Event *e = clsh_transfer_begin(L, &img->head, &m, boxbytes(img, &b));
  clsh_image_check(L, 2);
  cl_int err =
      clEnqueueCopyImage(m.handle, img->handle, d->handle, b.origin, to.origin,
                         b.size, m.waits.n, m.waits.list, &e->handle);
  clsh_transfer_end(L, &m, err, "clEnqueueCopyImage");
  return 1;
}

/** Image:map([mode] [, opts]) -> Array
 * The image's memory, or a part, as a host Array of `img.type`, in the shape
 * that img:read gives. `mode`: "read_write", "read" or "write" (the old
 * content is not needed). There is no copy where the device shares memory with
 * the host and the rows lie without gaps, as the rows of a whole image mostly
 * do; else the Array is a copy, which goes back when it is unmapped. Until the
 * array is unmapped or closed no kernel may use that part. Options as for
 * Image:read but async.
 * Example:
 * local img = cl.image{format = "r float", width = 4, height = 2, data = 1}
 * local h <close> = img:map() -- unmapped where it is closed
 * h[8] = 5
 * img:unmap(h) -- or h:close()
 * print(img:read():at(2, 4)) --> 5.0
 */
static int image_map(lua_State *L) {
  Box b;
  Transfer m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  clsh_transfer_shift(L);
  cl_map_flags flags = clsh_mapping_flags(L, 2);
  checkown(L, img, "map");
  clsh_transfer_check(L, img->context, 3, "queue after origin region", &m);
  checkpart(L, img, 3, &b);
  clsh_image_shape(img, b.size, &s);
  Array *a = clsh_array_box(L, img->format.type, &s);
  Event *e = clsh_transfer_begin(L, &img->head, &m, boxbytes(img, &b));
  Mapping *k = clsh_mapping_new(L, a, img->handle, &m, boxbytes(img, &b));
  Rows r = {b.size[0] * img->format.type->size, b.size[1], b.size[2], 0, 0};
  cl_int err = CL_INVALID_OPERATION;
  void *mapped = clEnqueueMapImage(m.handle, img->handle, CL_FALSE, flags,
                                   b.origin, b.size, &r.pitch, &r.slice,
                                   m.waits.n, m.waits.list, &e->handle, &err);
  if (err == CL_INVALID_OPERATION)
    return clsh_error_call(L, err, "clEnqueueMapImage",
                           "the driver maps no images, or this part is mapped "
                           "already; use img:read and img:write");
  if (err == CL_SUCCESS)
    clsh_mapping_set(k, mapped);
  clsh_transfer_end(L, &m, err, "clEnqueueMapImage");
  if (img->kind->what == CL_MEM_OBJECT_IMAGE1D_ARRAY)
    r.pitch = r.slice; /* the pitch of its images, which are rows here */
  clsh_mapping_setrows(L, k, a, &r, flags);
  lua_pop(L, 1);
  return 1;
}

/** Image:unmap(array) -> Event
 * Gives the memory of a mapped array back to the device and closes the
 * array. `array:close()` does the same.
 * Example: as for Image:map
 */
static int image_unmap(lua_State *L) {
  const Image *img = clsh_image_check(L, 1);
  return clsh_mapping_unmap(L, &img->head, &img->handle);
}

static const luaL_Reg methods[] = {
    {"copy", image_copy},   {"fill", image_fill}, {"info", image_info},
    {"map", image_map},     {"read", image_read}, {"unmap", image_unmap},
    {"write", image_write}, {NULL, NULL}};
static const luaL_Reg fields[] = {{"array_size", image_size},
                                  {"bytes", image_count},
                                  {"depth", image_size},
                                  {"format", image_word},
                                  {"height", image_size},
                                  {"kind", image_word},
                                  {"row_pitch", image_pitch},
                                  {"shape", image_shape},
                                  {"type", image_word},
                                  {"width", image_size},
                                  {NULL, NULL}};
static const Field plain[] = {{"buffer", 'u', 2}, {"context", 'u', 1}, {0}};
static const luaL_Reg meta[] = {
    {"__len", image_count}, {"__tostring", image_tostring}, {NULL, NULL}};
const Class clsh_image_class = {"Image", sizeof(Image), methods,      fields,
                                meta,    image_index,   image_release};

/*
** A Sampler says how a kernel reads an image between its pixels and beyond its
** edge. There are so few settings that the context keeps the OpenCL object of
** each setting in use: a driver may let go of a sampler that a kernel still
** reads by.
*/
static const char *const addresses[] = {"clamp_to_edge",   "clamp", "repeat",
                                        "mirrored_repeat", "none",  NULL};
static const cl_addressing_mode addresscodes[] = {
    CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT,
    CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE};
static const char *const filters[] = {"nearest", "linear", NULL};
static const cl_filter_mode filtercodes[] = {CL_FILTER_NEAREST,
                                             CL_FILTER_LINEAR};
enum { REPEAT = 2, MIRRORED };

static Sampler *checksampler(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &clsh_image_samplerclass);
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
 * Example:
 * local img = cl.image{format = "r float", width = 2, data = {10, 20}}
 * local y = cl.buffer("float", 1)
 * local k = cl.kernel [[kernel void f(read_only image1d_t i, sampler_t s,
 *     global float *y) {
 *   y[0] = read_imagef(i, s, 1.0f).x; // between the middles of two pixels
 * }]]
 * k:range(1)(img, cl.sampler{filter = "linear"}, y)
 * print(y:read()[1]) --> 15.0
 */
static int cl_sampler_(lua_State *L) {
  lua_settop(L, 1);
  clsh_option_check(L, 1, "normalized address filter context", "cl.sampler");
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  needimages(L, 3);
  Sampler *s = clsh_class_newowned(L, &clsh_image_samplerclass, 1, 3);
  s->context = c;
  s->normalized = clsh_option_flag(L, 1, "normalized", false);
  s->address = wordoption(L, "address", addresses);
  s->filter = wordoption(L, "filter", filters);
  if ((s->address == REPEAT || s->address == MIRRORED) && !s->normalized)
    return clsh_error(L, "address: '%s' needs normalized = true",
                      addresses[s->address]);
  s->handle = gethandle(L, s);
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
  const Sampler *s = clsh_class_any(L, 1, &clsh_image_samplerclass);
  lua_pushfstring(L, "Sampler %s %s%s%s", addresses[s->address],
                  filters[s->filter], s->normalized ? " normalized" : "",
                  s->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg sampler_fields[] = {
    {"address", sampler_word}, {"filter", sampler_word}, {NULL, NULL}};
static const Field sampler_plain[] = {
    {"context", 'u', 1},
    {"normalized", 'b', offsetof(Sampler, normalized)},
    {0}};
static const luaL_Reg sampler_meta[] = {{"__tostring", sampler_tostring},
                                        {NULL, NULL}};
const Class clsh_image_samplerclass = {
    "Sampler", sizeof(Sampler), NULL, sampler_fields, sampler_meta, NULL,
    NULL};

void clsh_image_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"image", cl_image}, {"sampler", cl_sampler_}, {NULL, NULL}};
  static const luaL_Reg context_methods[] = {
      {"image_formats", context_imageformats}, {NULL, NULL}};
  clsh_class_define(L, &clsh_image_class);
  clsh_class_addfields(L, &clsh_image_class, plain);
  clsh_class_define(L, &clsh_image_samplerclass);
  clsh_class_addfields(L, &clsh_image_samplerclass, sampler_plain);
  clsh_class_add(L, "Context", context_methods, NULL);
  luaL_setfuncs(L, functions, 0);
}
