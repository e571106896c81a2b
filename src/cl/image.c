/*
** image.c - class Image: device memory of pixels, which kernels read through
** samplers. imageformat.c has what a pixel is, imagemove.c the methods that
** move data.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "buffer.h"
#include "device.h"
#include "image.h"
#include "process.h"

static const Kind kinds[] = {
    {"1d",
     "image1d_t",
     CL_MEM_OBJECT_IMAGE1D,
     1,
     false,
     {"image2d_max_width"}},
    {"2d",
     "image2d_t",
     CL_MEM_OBJECT_IMAGE2D,
     2,
     false,
     {"image2d_max_width", "image2d_max_height"}},
    {"3d",
     "image3d_t",
     CL_MEM_OBJECT_IMAGE3D,
     3,
     false,
     {"image3d_max_width", "image3d_max_height", "image3d_max_depth"}},
    {"1d_array",
     "image1d_array_t",
     CL_MEM_OBJECT_IMAGE1D_ARRAY,
     2,
     true,
     {"image2d_max_width", "image_max_array_size"}},
    {"2d_array",
     "image2d_array_t",
     CL_MEM_OBJECT_IMAGE2D_ARRAY,
     3,
     true,
     {"image2d_max_width", "image2d_max_height", "image_max_array_size"}},
    {"1d_buffer",
     "image1d_buffer_t",
     CL_MEM_OBJECT_IMAGE1D_BUFFER,
     1,
     false,
     {"image_max_buffer_size"}}};
enum { IMAGE1D, IMAGE2D, IMAGE3D, IMAGE1DARRAY, IMAGE2DARRAY, IMAGE1DBUFFER };

static void image_release(Object *o) {
  Image *img = (Image *)o;
  if (img->handle == NULL)
    return;
  if (!clsh_process_handsoff())
    clReleaseMemObject(img->handle);
  clsh_context_give(img->context, img->bytes);
  img->handle = NULL;
}

static const Class class;

Image *clsh_image_check(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

Image *clsh_image_test(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class);
}

/* The kind that a parameter "read_only image2d_t" takes; NULL: none here. */
const Kind *clsh_image_kind(const char *param) {
  const char *word = strrchr(param, ' ');
  word = word != NULL ? word + 1 : param;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(word, kinds[i].param) == 0)
      return &kinds[i];
  return NULL;
}

/* The shape on the host of a part of so many pixels: row-major. */
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

/* The kind that the options at 1 describe by the sizes they give. */
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

/* Refuses a size above the field of the Device that limits it. */
static void checklimit(lua_State *L, int ctx, const char *name, size_t size,
                       const char *limit) {
  lua_getiuservalue(L, ctx, 1);
  lua_getfield(L, -1, limit);
  if (lua_isinteger(L, -1) && size > (lua_Unsigned)lua_tointeger(L, -1))
    clsh_error(L, "%s: the device allows %I (%s); got %I", name,
               lua_tointeger(L, -1), limit, (LUAI_UACINT)size);
  lua_pop(L, 2);
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
    checklimit(L, ctx, name, img->size[i], img->kind->limits[i]);
    if (img->size[i] > PTRDIFF_MAX / bytes)
      clsh_error(L, "%s: the bytes of the image would overflow", name);
    bytes *= img->size[i];
  }
  img->bytes = bytes;
}

/*
** The pixels of the Buffer that option buffer gives are the image's width.
** User value 2 of the image at 4 keeps the Buffer.
*/
static void checkbuffer(lua_State *L, int ctx, Image *img) {
  const Type *t = img->format.type;
  clsh_option_push(L, 1, "buffer");
  const Buffer *b = clsh_buffer_option(L, -1, "buffer");
  if (!clsh_context_shares(b->context, img->context))
    clsh_error(L, "buffer: the Buffer is of another context (device)");
  if (b->type->kind != t->kind || b->type->unit != t->unit ||
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
  checklimit(L, ctx, "width", img->size[0], img->kind->limits[0]);
  img->size[1] = img->size[2] = 1;
}

/* The memory of the Buffer of the image at 4; NULL: it has memory of its own.
 */
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

/* Refuses a pixel of another size than the host will take it for. */
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
void clsh_image_need(lua_State *L, int ctx) {
  if (!hasimages(L, ctx))
    clsh_error(L, "the device has no images (image_support is false); use a "
                  "Buffer, and vload4 in the kernel");
}

static const char *const image_options[] = {
    "format", "width",  "height", "depth",   "array_size", "buffer",
    "data",   "access", "host",   "context", NULL};

/** cl.image(opts) -> Image
 * Pixels on the device, which kernels read through a sampler:
 * `cl.image{width = 640, height = 480}`. The sizes say of which kind: a width
 * alone is 1-D (image1d_t), with a height 2-D, with a depth 3-D; array_size
 * makes an array of 1-D or 2-D images, a Buffer an image1d_buffer_t. On the
 * host it is an Array with an element for each pixel, `img.type` ("float4"),
 * of shape {height, width}, {depth, height, width} or {array_size, height,
 * width}; of a norm_ channel it is the integer that is stored. A size that the
 * device does not allow raises, and a format that it does not have. Fields:
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
  clsh_option_check(L, 1, image_options, "cl.image");
  clsh_option_push(L, 1, "context");
  Context *c = clsh_context_push(L, 2);
  clsh_image_need(L, 3);
  Image *img = clsh_class_new(L, &class, 2);
  img->context = c;
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 4, 1);
  img->kind = checkkind(L);
  clsh_option_push(L, 1, "format");
  clsh_imageformat_check(L, 5, &img->format);
  cl_mem_flags flags = clsh_buffer_flags(L, 1);
  lua_settop(L, 4);
  img->access = flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR;
  if (img->kind == &kinds[IMAGE1DBUFFER]) {
    checkbuffer(L, 3, img);
    flags = img->access;
  } else {
    checksize(L, 3, img);
  }
  clsh_imageformat_offered(L, c, img->access, img->kind->what, &img->format);
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

static const char *const formats_options[] = {"kind", "access", NULL};

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
  clsh_option_check(L, 2, formats_options, "ctx:image_formats");
  clsh_option_push(L, 2, "kind");
  int kind = places[clsh_option_word(L, 3, names, "kind")];
  cl_mem_flags flags =
      lua_isnil(L, 2) ? CL_MEM_READ_WRITE : clsh_buffer_flags(L, 2);
  if (hasimages(L, 1))
    clsh_imageformat_pushlist(L, c, flags, kinds[kind].what);
  else
    lua_newtable(L);
  return 1;
}

/* img.kind, img.format, img.type */
static int image_word(lua_State *L) {
  const Image *img = clsh_image_check(L, 1);
  const char *name = clsh_class_field(L);
  if (*name == 'f')
    clsh_imageformat_push(L, &img->format);
  else
    lua_pushstring(L, *name == 'k' ? img->kind->name : img->format.type->name);
  return 1;
}

/* img.width, img.height, img.depth, img.array_size; nil: it has none */
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

/* img.context; img.buffer, whose memory the image is */
static int image_owner(lua_State *L) {
  clsh_image_check(L, 1);
  lua_getiuservalue(L, 1, *clsh_class_field(L) == 'c' ? 1 : 2);
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
  static const char *const names[] = {
      "kind",  "format",     "type",  "shape",     "width", "height",
      "depth", "array_size", "bytes", "row_pitch", NULL};
  clsh_image_check(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(L, names);
  clsh_context_setdevice(L);
  return 1;
}

/* Image 2d rgba float 640x480 */
static int image_tostring(lua_State *L) {
  const Image *img = clsh_class_any(L, 1, &class);
  if (img->kind == NULL) /* not made in the end */
    return lua_pushliteral(L, "Image"), 1;
  lua_pushfstring(L, "Image %s ", img->kind->name);
  clsh_imageformat_push(L, &img->format);
  for (int i = 0; i < img->kind->ndims; i++)
    lua_pushfstring(L, i == 0 ? " %I" : "x%I", (LUAI_UACINT)img->size[i]);
  lua_pushstring(L, img->head.closed ? " (closed)" : "");
  lua_concat(L, img->kind->ndims + 3);
  return 1;
}

static const luaL_Reg methods[] = {{"info", image_info}, {NULL, NULL}};
static const luaL_Reg fields[] = {{"array_size", image_size},
                                  {"bytes", image_count},
                                  {"buffer", image_owner},
                                  {"context", image_owner},
                                  {"depth", image_size},
                                  {"format", image_word},
                                  {"height", image_size},
                                  {"kind", image_word},
                                  {"row_pitch", image_pitch},
                                  {"shape", image_shape},
                                  {"type", image_word},
                                  {"width", image_size},
                                  {NULL, NULL}};
static const luaL_Reg meta[] = {
    {"__len", image_count}, {"__tostring", image_tostring}, {NULL, NULL}};
static const Class class = {"Image", sizeof(Image), methods,      fields,
                            meta,    image_index,   image_release};

void clsh_image_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"image", cl_image}, {NULL, NULL}};
  static const luaL_Reg context_methods[] = {
      {"image_formats", context_imageformats}, {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_add(L, "Context", context_methods, NULL);
  clsh_option_declare(L, "cl.image", image_options);
  clsh_option_declare(L, "Context:image_formats", formats_options);
  luaL_setfuncs(L, functions, 0);
}
