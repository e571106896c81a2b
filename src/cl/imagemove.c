/*
** imagemove.c - the methods of class Image that move pixels: from and to the
** host, Buffers and other images.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>

#include "buffer.h"
#include "image.h"
#include "queue.h"

/* A box of pixels; beyond the image's dimensions 0 and 1. */
typedef struct Box {
  size_t origin[3], size[3];
} Box;

/* Reads a number for each dimension of the image; false: none are given. */
static bool checklist(lua_State *L, const Image *img, int opts,
                      const char *name, lua_Integer least, size_t v[3]) {
  int n = img->kind->ndims;
  int type = clsh_option_push(L, opts, name);
  bool fine = type == LUA_TTABLE && (int)lua_rawlen(L, -1) == n;
  if (n == 1 && type == LUA_TNUMBER)
    fine = clsh_option_whole(L, -1, least, &v[0]);
  for (int i = 0; i < n && fine && type == LUA_TTABLE; i++) {
    lua_rawgeti(L, -1, i + 1);
    fine = clsh_option_whole(L, -1, least, &v[i]);
    lua_pop(L, 1);
  }
  if (!fine && type != LUA_TNIL)
    clsh_error(L, "%s: must be a list of %d whole number%s >= %I%s", name, n,
               n == 1 ? "" : "s", least,
               type != LUA_TTABLE
                   ? lua_pushfstring(L, "; got %s", clsh_option_got(L, -1))
                   : "");
  lua_pop(L, 1);
  return type != LUA_TNIL;
}

/* Pushes "640x480". */
static const char *pushsizes(lua_State *L, const Image *img, const size_t *v) {
  lua_pushliteral(L, "");
  for (int i = 0; i < img->kind->ndims; i++) {
    lua_pushfstring(L, i > 0 ? "x%I" : "%I", (LUAI_UACINT)v[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

/* Raises where a box leaves the image. */
static void checkbox(lua_State *L, const Image *img, const Box *b) {
  for (int i = 0; i < 3; i++)
    if (b->origin[i] > img->size[i] ||
        b->size[i] > img->size[i] - b->origin[i])
      clsh_error(L, "region %s at %s leaves the image of %s",
                 pushsizes(L, img, b->size), pushsizes(L, img, b->origin),
                 pushsizes(L, img, img->size));
}

/* The part that options origin and region name; all of the image if none. */
static void checkpart(lua_State *L, const Image *img, int opts, Box *b) {
  for (int i = 0; i < 3; i++)
    b->origin[i] = 0, b->size[i] = 1;
  checklist(L, img, opts, "origin", 0, b->origin);
  if (!checklist(L, img, opts, "region", 1, b->size))
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
  return t == own ||
         (t->kind == own->kind && t->unit == own->unit && t->width != 3);
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
                     Move *m) {
  checkarray(L, img, b, clsh_array_check(L, 2));
  Event *e = clsh_move_begin(L, &img->head, m);
  void *host = clsh_move_pin(L, e, 2);
  assert(e->pin->bytes >= boxbytes(img, b));
  cl_int err = write
                   ? clEnqueueWriteImage(m->handle, img->handle, CL_FALSE,
                                         b->origin, b->size, 0, 0, host,
                                         m->waits.n, m->waits.list, &e->handle)
                   : clEnqueueReadImage(m->handle, img->handle, CL_FALSE,
                                        b->origin, b->size, 0, 0, host,
                                        m->waits.n, m->waits.list, &e->handle);
  clsh_move_end(L, m, err,
                write ? "clEnqueueWriteImage" : "clEnqueueReadImage");
}

/*
** Refuses an image that is memory of a Buffer: not every driver fills and
** copies such images.
*/
static void checkown(lua_State *L, const Image *img, const char *method) {
  if (img->kind->what == CL_MEM_OBJECT_IMAGE1D_BUFFER)
    clsh_error(L,
               "%s: an Image of kind 1d_buffer is memory of a Buffer; %s "
               "that, img.buffer",
               method, method);
}

static const char *const mapoptions[] = {"queue", "after", "origin", "region",
                                         NULL};
static const char *const partoptions[] = {"queue",  "async",  "after",
                                          "origin", "region", NULL};
static const char *const writeoptions[] = {
    "queue", "async", "after", "origin", "region", "first", NULL};
static const char *const copyoptions[] = {"queue",  "async", "after", "origin",
                                          "region", "to",    NULL};

/** Image:read([dst] [, opts]) -> Array
 * Copies the image, or a part of it, to host memory: into Array `dst`, of
 * pixels or of their channels, or a new one. It waits for the data; with
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
  Move m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  if (lua_istable(L, 2)) { /* dst was left out */
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
  clsh_move_check(L, img->context, 3, partoptions, &m);
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
** The byte of the Buffer's memory where a box begins: behind the element that
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

/* All is checked before: what the driver calls invalid, it cannot do. */
static void checkcopy(lua_State *L, cl_int err, const char *call) {
  if (err == CL_INVALID_VALUE)
    clsh_error_call(L, err, call,
                    "the driver takes no such copy, as NVIDIA's none of 1-D "
                    "arrays; go through the host: read, then write");
}

static int copyfrombuffer(lua_State *L, const Image *img, const Box *box,
                          Move *m) {
  const Buffer *b = clsh_buffer_check(L, 2);
  size_t offset = checkplace(L, img, box, b, 3, "first");
  Event *e = clsh_move_begin(L, &img->head, m);
  clsh_buffer_use(clsh_buffer_check(L, 2), clsh_queue_any(L, m->queue));
  cl_int err = clEnqueueCopyBufferToImage(
      m->handle, b->handle, img->handle, offset, box->origin, box->size,
      m->waits.n, m->waits.list, &e->handle);
  checkcopy(L, err, "clEnqueueCopyBufferToImage");
  clsh_move_end(L, m, err, "clEnqueueCopyBufferToImage");
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
  Move m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  clsh_move_check(L, img->context, 3, writeoptions, &m);
  checkpart(L, img, 3, &b);
  if (clsh_buffer_test(L, 2) != NULL)
    return copyfrombuffer(L, img, &b, &m);
  if (clsh_option_push(L, 3, "first") != LUA_TNIL)
    return clsh_error(L, "first: only a Buffer has elements to begin at");
  if (clsh_array_test(L, 2) == NULL) {
    clsh_image_shape(img, b.size, &s);
    clsh_arrayinit_set(L, clsh_array_new(L, img->format.type, &s), 2);
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
  Move m;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  const char *wrong =
      clsh_type_convert(L, 2, clsh_imageformat_color(&img->format), color);
  if (wrong != NULL)
    return clsh_error_arg(L, 2, "%s", wrong);
  checkown(L, img, "fill");
  clsh_move_check(L, img->context, 3, partoptions, &m);
  checkpart(L, img, 3, &b);
  Event *e = clsh_move_begin(L, &img->head, &m);
  cl_int err = clEnqueueFillImage(m.handle, img->handle, color, b.origin,
                                  b.size, m.waits.n, m.waits.list, &e->handle);
  clsh_move_end(L, &m, err, "clEnqueueFillImage");
  return 1;
}

static int copytobuffer(lua_State *L, const Image *img, const Box *box,
                        Move *m) {
  const Buffer *b = clsh_buffer_check(L, 2);
  size_t offset = checkplace(L, img, box, b, 3, "to");
  Event *e = clsh_move_begin(L, &img->head, m);
  clsh_buffer_use(clsh_buffer_check(L, 2), clsh_queue_any(L, m->queue));
  cl_int err = clEnqueueCopyImageToBuffer(
      m->handle, img->handle, b->handle, box->origin, box->size, offset,
      m->waits.n, m->waits.list, &e->handle);
  checkcopy(L, err, "clEnqueueCopyImageToBuffer");
  clsh_move_end(L, m, err, "clEnqueueCopyImageToBuffer");
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
  Move m;
  const Image *img = clsh_image_check(L, 1);
  lua_settop(L, 3);
  checkown(L, img, "copy");
  clsh_move_check(L, img->context, 3, copyoptions, &m);
  checkpart(L, img, 3, &b);
  if (clsh_buffer_test(L, 2) != NULL)
    return copytobuffer(L, img, &b, &m);
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
    const char *from = clsh_imageformat_push(L, &img->format);
    return clsh_error(L, "copy: the formats must agree; got %s and %s", from,
                      clsh_imageformat_push(L, &d->format));
  }
  checklist(L, d, 3, "to", 0, to.origin);
  for (int i = 0; i < 3; i++)
    to.size[i] = b.size[i];
  checkbox(L, d, &to);
  if (d == img && meet(&b, &to))
    return clsh_error_call(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyImage",
                           "source and target share pixels");
  Event *e = clsh_move_begin(L, &img->head, &m);
  clsh_image_check(L, 2);
  cl_int err =
      clEnqueueCopyImage(m.handle, img->handle, d->handle, b.origin, to.origin,
                         b.size, m.waits.n, m.waits.list, &e->handle);
  clsh_move_end(L, &m, err, "clEnqueueCopyImage");
  return 1;
}

/** Image:map([mode] [, opts]) -> Array
 * The image's memory, or a part, as a host Array of `img.type`, in the shape
 * that img:read gives. `mode`: "read_write", "read" or "write" (the old
 * content is not needed). Without a copy where the device shares memory with
 * the host and the rows lie without gaps, as those of a whole image mostly do;
 * else the Array is a copy, which goes back when it is unmapped. Until the
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
  Move m;
  Shape s;
  const Image *img = clsh_image_check(L, 1);
  if (lua_istable(L, 2)) { /* mode was left out */
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
  cl_map_flags flags = clsh_mapping_flags(L, 2);
  checkown(L, img, "map");
  clsh_move_check(L, img->context, 3, mapoptions, &m);
  checkpart(L, img, 3, &b);
  clsh_image_shape(img, b.size, &s);
  Array *a = clsh_array_box(L, img->format.type, &s);
  Event *e = clsh_move_begin(L, &img->head, &m);
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
  clsh_move_end(L, &m, err, "clEnqueueMapImage");
  if (img->kind->what == CL_MEM_OBJECT_IMAGE1D_ARRAY)
    r.pitch = r.slice; /* of its images, which are rows here */
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

void clsh_imagemove_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"copy", image_copy}, {"fill", image_fill},   {"map", image_map},
      {"read", image_read}, {"unmap", image_unmap}, {"write", image_write},
      {NULL, NULL}};
  clsh_class_add(L, "Image", methods, NULL);
  clsh_option_declare(L, "Image:copy", copyoptions);
  clsh_option_declare(L, "Image:fill", partoptions);
  clsh_option_declare(L, "Image:map", mapoptions);
  clsh_option_declare(L, "Image:read", partoptions);
  clsh_option_declare(L, "Image:write", writeoptions);
}
