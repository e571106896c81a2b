/*
** transfer.c - the methods of class Buffer that move data.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "process.h"
#include "queue.h"

/*
** A part of a buffer, in bytes: `rows` pieces of `width` bytes, `pitch` apart.
** One piece stands for any contiguous part. Every size is checked here,
** overflow-safe, before the driver sees it.
*/
typedef struct Region {
  size_t offset, width, rows, pitch; /* offset from the handle's beginning */
  Shape shape;                       /* the same in elements */
} Region;

/* Two numbers {a, b} of option `name`, each at least 1. */
static bool checkpair(lua_State *L, int opts, const char *name, size_t *a,
                      size_t *b) {
  if (clsh_option_push(L, opts, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
    clsh_error(L, "%s: must be a list of two numbers", name);
  lua_rawgeti(L, -1, 1);
  *a = clsh_option_count(L, -1, name);
  lua_rawgeti(L, -2, 2);
  *b = clsh_option_count(L, -1, name);
  lua_pop(L, 3);
  return true;
}

/* A rectangle of a two-dimensional buffer from {row, col}, {rows, cols}. */
static void rectangle(lua_State *L, const Buffer *b, size_t row, size_t col,
                      size_t rows, size_t cols, Region *r) {
  const Shape *s = &b->shape;
  if (row > s->dim[0] || col > s->dim[1] || rows > s->dim[0] - row + 1 ||
      cols > s->dim[1] - col + 1)
    clsh_error(L, "rectangle %Ix%I at (%I, %I) leaves the buffer of %Ix%I",
               (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)row,
               (LUAI_UACINT)col, (LUAI_UACINT)s->dim[0],
               (LUAI_UACINT)s->dim[1]);
  size_t size = b->type->size;
  r->offset = b->shift + ((row - 1) * b->ld + (col - 1)) * size;
  r->width = cols * size;
  r->rows = rows;
  r->pitch = b->ld * size;
  r->shape = (Shape){2, {rows, cols}, rows * cols};
  if (rows > 1 && r->width == r->pitch) { /* whole rows without gaps */
    r->width *= rows;
    r->rows = 1;
  }
}

/* Elements first .. first + count - 1 in memory order. */
static void linear(lua_State *L, const Buffer *b, size_t first, size_t count,
                   Region *r) {
  size_t n = b->bytes / b->type->size;
  if (first > n || count > n - first + 1)
    clsh_error(L, "%I elements from %I on leave the buffer's 1..%I",
               (LUAI_UACINT)count, (LUAI_UACINT)first, (LUAI_UACINT)n);
  *r = (Region){.offset = b->shift + (first - 1) * b->type->size,
                .width = count * b->type->size,
                .rows = 1,
                .pitch = count * b->type->size,
                .shape = {1, {count}, count}};
}

/* The elements that first and count name; false if neither is given. */
static bool checkelements(lua_State *L, const Buffer *b, int opts, Region *r) {
  size_t n = b->bytes / b->type->size;
  size_t first = clsh_option_size(L, opts, "first", 0);
  size_t count = clsh_option_size(L, opts, "count", 0);
  size_t from = first != 0 ? first : 1;
  size_t rest = from <= n ? n - from + 1 : 1;
  linear(L, b, from, count != 0 ? count : rest, r);
  return first != 0 || count != 0;
}

/* The part that first/count or from/size name; the whole buffer if none. */
static void checkregion(lua_State *L, const Buffer *b, int opts, Region *r) {
  const Shape *s = &b->shape;
  size_t row = 1, col = 1, rows = 1, cols = 1;
  bool from = checkpair(L, opts, "from", &row, &col);
  bool size = checkpair(L, opts, "size", &rows, &cols);
  bool elements = checkelements(L, b, opts, r);
  if (elements && (from || size))
    clsh_error(L, "first/count and from/size name two different parts");
  if (elements)
    return;
  if ((from || size) && s->ndims != 2)
    clsh_error(L, "from, size: a rectangle needs two dimensions, not %d",
               s->ndims);
  if (s->ndims != 2) {
    r->shape = *s;
    return;
  }
  if (!size) {
    rows = row <= s->dim[0] ? s->dim[0] - row + 1 : 1;
    cols = col <= s->dim[1] ? s->dim[1] - col + 1 : 1;
  }
  rectangle(L, b, row, col, rows, cols, r);
}

/* The part of `d` that takes a copy of region `r`: option `to`. */
static void checktarget(lua_State *L, const Buffer *d, int opts,
                        const Region *r, Region *to) {
  size_t row = 1, col = 1;
  int type = clsh_option_push(L, opts, "to");
  if (type == LUA_TNUMBER) {
    linear(L, d, clsh_option_count(L, -1, "to"), r->shape.count, to);
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  checkpair(L, opts, "to", &row, &col);
  if (d->shape.ndims == 2 && r->shape.ndims == 2)
    rectangle(L, d, row, col, r->shape.dim[0], r->shape.dim[1], to);
  else if (type != LUA_TNIL)
    clsh_error(L, "to: {row, column} needs a rectangle of a Buffer with two "
                  "dimensions in one with two");
  else if (d->ld == d->shape.dim[d->shape.ndims - 1])
    linear(L, d, 1, r->shape.count, to);
  else
    clsh_error(L, "to: a matrix with gaps takes rectangles, not a list");
}

/* Whether two regions of one piece of memory meet (bounding ranges). */
static bool meet(const Buffer *b, const Region *r, const Buffer *d,
                 const Region *to) {
  size_t a1 = b->offset - b->shift + r->offset;
  size_t b1 = d->offset - d->shift + to->offset;
  size_t a2 = a1 + (r->rows - 1) * r->pitch + r->width;
  size_t b2 = b1 + (to->rows - 1) * to->pitch + to->width;
  return b->root == d->root && a1 < b2 && b1 < a2;
}

/* Enqueues a read or a write between a region and dense host memory. */
static cl_int enqueue(bool write, const Move *m, cl_mem mem, const Region *r,
                      void *host, cl_event *slot) {
  const cl_event *list = m->waits.list;
  size_t b[3] = {r->offset % r->pitch, r->offset / r->pitch, 0};
  size_t h[3] = {0, 0, 0};
  size_t region[3] = {r->width, r->rows, 1};
  if (r->rows == 1)
    return write ? clEnqueueWriteBuffer(m->handle, mem, CL_FALSE, r->offset,
                                        r->width, host, m->waits.n, list, slot)
                 : clEnqueueReadBuffer(m->handle, mem, CL_FALSE, r->offset,
                                       r->width, host, m->waits.n, list, slot);
  return write ? clEnqueueWriteBufferRect(m->handle, mem, CL_FALSE, b, h,
                                          region, r->pitch, 0, r->width, 0,
                                          host, m->waits.n, list, slot)
               : clEnqueueReadBufferRect(m->handle, mem, CL_FALSE, b, h,
                                         region, r->pitch, 0, r->width, 0,
                                         host, m->waits.n, list, slot);
}

/* Raises unless the array can take or give exactly the region. */
static void checkfit(lua_State *L, const Buffer *b, const Region *r,
                     const Array *a) {
  if (a->type != b->type)
    clsh_error(L,
               "the Buffer is of %s, the Array of %s; convert it with "
               "h:convert(\"%s\")",
               b->type->name, a->type->name, b->type->name);
  if (a->shape.count != r->shape.count)
    clsh_error(L, "the part of the Buffer has %I elements, the Array %I",
               (LUAI_UACINT)r->shape.count, (LUAI_UACINT)a->shape.count);
}

/* Moves a region from or to the array at `arr`; pushes the Event. */
static void transfer(lua_State *L, bool write, Buffer *b, const Region *r,
                     int arr, Move *m) {
  Event *e = clsh_move_begin(L, &b->head, m);
  void *host = clsh_move_pin(L, e, arr);
  assert(e->pin->bytes >= r->width * r->rows);
  clsh_move_end(L, m, enqueue(write, m, b->handle, r, host, &e->handle),
                write         ? r->rows > 1 ? "clEnqueueWriteBufferRect"
                                            : "clEnqueueWriteBuffer"
                : r->rows > 1 ? "clEnqueueReadBufferRect"
                              : "clEnqueueReadBuffer");
}

static const char *const moveoptions[] = {"queue", "async", "after", "first",
                                          "count", "from",  "size",  NULL};
static const char *const filloptions[] = {"queue", "async", "after",
                                          "first", "count", NULL};
static const char *const copyoptions[] = {
    "queue", "async", "after", "first", "count", "from", "size", "to", NULL};
static const char *const mapoptions[] = {"queue", "after", "first", "count",
                                         NULL};

/* The optional argument at 2 was left out before a table of options. */
static void shiftoptions(lua_State *L) {
  if (lua_istable(L, 2)) {
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
}

/** Buffer:read([dst] [, opts]) -> Array
 * Copies the buffer, or a part of it, to host memory: into Array `dst`, or
 * a new one. Gaps between rows stay behind. It waits for the data; with
 * {async = true} it does not, and returns an Event as well.
 * Options:
 *   first, count  all    elements in memory order
 *   from, size    all    a rectangle: {row, col}, {rows, cols}
 *   queue, after  -      the Queue (default queue), a list of events before
 *   async         false  true: does not wait for the data
 */
static int buffer_read(lua_State *L) {
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  shiftoptions(L);
  clsh_move_check(L, b->context, 3, moveoptions, &m);
  checkregion(L, b, 3, &r);
  if (lua_isnil(L, 2)) {
    clsh_array_new(L, b->type, &r.shape);
    lua_replace(L, 2);
  }
  checkfit(L, b, &r, clsh_array_check(L, 2));
  transfer(L, false, b, &r, 2, &m);
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  return m.async ? 2 : (lua_pop(L, 1), 1);
}

/* Makes the value at `src` an Array of the region's type and shape. */
static void toarray(lua_State *L, const Buffer *b, const Region *r, int src) {
  if (clsh_array_test(L, src) != NULL)
    return;
  Array *a = clsh_array_new(L, b->type, &r->shape);
  clsh_arrayinit_set(L, a, src);
  lua_replace(L, src);
}

/** Buffer:write(src [, opts]) -> Event
 * Copies `src` to the buffer: an Array of the same type and number of
 * elements, a nested table, a number, or a function of the indexes. It
 * waits until `src` may change again unless {async = true}. Options as for
 * Buffer:read.
 */
static int buffer_write(lua_State *L) {
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 3);
  clsh_move_check(L, b->context, 3, moveoptions, &m);
  checkregion(L, b, 3, &r);
  toarray(L, b, &r, 2);
  checkfit(L, b, &r, clsh_array_check(L, 2));
  transfer(L, true, b, &r, 2, &m);
  return 1;
}

/*
** Fills `width` bytes. Oclgrind would count them as never written, so that it
** gets them as a transfer.
*/
static cl_int fillrow(const Move *m, const Buffer *b, const char *pattern,
                      size_t offset, size_t width, cl_event *slot) {
  const size_t size = b->type->size;
  if (!b->context->limits.simulated)
    return clEnqueueFillBuffer(m->handle, b->handle, pattern, size, offset,
                               width, m->waits.n, m->waits.list, slot);
  char *data = malloc(width);
  if (data == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  for (size_t i = 0; i < width; i += size)
    memcpy(data + i, pattern, size);
  cl_int err =
      clEnqueueWriteBuffer(m->handle, b->handle, CL_TRUE, offset, width, data,
                           m->waits.n, m->waits.list, slot);
  free(data);
  return err;
}

/*
** Fills the rows of a view, whose gaps belong to others: a command for each
** row, and a marker that ends after all of them.
*/
static cl_int fillrows(const Move *m, const Buffer *b, const char *pattern,
                       const Region *r, cl_event *slot) {
  cl_int err = CL_SUCCESS;
  for (size_t i = 0; i < r->rows && err == CL_SUCCESS; i++)
    err = fillrow(m, b, pattern, r->offset + i * r->pitch, r->width,
                  r->rows == 1 ? slot : NULL);
  if (r->rows > 1 && err == CL_SUCCESS)
    err = clEnqueueMarkerWithWaitList(m->handle, 0, NULL, slot);
  return err;
}

/** Buffer:fill(value [, opts]) -> Event
 * Sets every element, gaps between rows included but for a view, to a value
 * of the buffer's type. Options as for Buffer:read but from, size.
 */
static int buffer_fill(lua_State *L) {
  char pattern[128];
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 3);
  const char *wrong = clsh_type_convert(L, 2, b->type, pattern);
  if (wrong != NULL)
    return clsh_error_arg(L, 2, "%s", wrong);
  clsh_move_check(L, b->context, 3, filloptions, &m);
  if (b->view)
    checkregion(L, b, 3, &r);
  else
    checkelements(L, b, 3, &r);
  Event *e = clsh_move_begin(L, &b->head, &m);
  cl_int err = fillrows(&m, b, pattern, &r, &e->handle);
  clsh_move_end(L, &m, err, "clEnqueueFillBuffer");
  return 1;
}

static cl_int enqueuecopy(const Move *m, const Buffer *b, const Region *r,
                          const Buffer *d, const Region *to, cl_event *slot) {
  if (r->rows == 1 && to->rows == 1)
    return clEnqueueCopyBuffer(m->handle, b->handle, d->handle, r->offset,
                               to->offset, r->width, m->waits.n, m->waits.list,
                               slot);
  size_t rows = r->rows > to->rows ? r->rows : to->rows;
  size_t width = r->rows > 1 ? r->width : to->width;
  size_t sp = r->rows > 1 ? r->pitch : width;
  size_t dp = to->rows > 1 ? to->pitch : width;
  size_t from[3] = {r->offset % sp, r->offset / sp, 0};
  size_t dest[3] = {to->offset % dp, to->offset / dp, 0};
  size_t region[3] = {width, rows, 1};
  return clEnqueueCopyBufferRect(m->handle, b->handle, d->handle, from, dest,
                                 region, sp, 0, dp, 0, m->waits.n,
                                 m->waits.list, slot);
}

/** Buffer:copy(dst [, opts]) -> Event
 * Copies the buffer, or a part, into Buffer `dst` on the device. Types must
 * agree; parts must not overlap. Options as for Buffer:read.
 * Options:
 *   to  1  where in `dst`: an element, or {row, col} of a rectangle
 */
static int buffer_copy(lua_State *L) {
  Region r, to;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  Buffer *d = clsh_buffer_check(L, 2);
  lua_settop(L, 3);
  if (b->type != d->type)
    return clsh_error(L, "copy: from %s to %s", b->type->name, d->type->name);
  if (b->context != d->context)
    return clsh_error(L, "copy: Buffers of different contexts; go through "
                         "the host with dst:write(src:read())");
  clsh_move_check(L, b->context, 3, copyoptions, &m);
  checkregion(L, b, 3, &r);
  checktarget(L, d, 3, &r, &to);
  if (meet(b, &r, d, &to))
    return clsh_error_call(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyBuffer",
                           "source and target share memory");
  Event *e = clsh_move_begin(L, &b->head, &m);
  if (d->head.closed)
    return clsh_error(L, "the target Buffer is closed");
  cl_int err = enqueuecopy(&m, b, &r, d, &to, &e->handle);
  clsh_move_end(L, &m, err,
                r.rows > 1 || to.rows > 1 ? "clEnqueueCopyBufferRect"
                                          : "clEnqueueCopyBuffer");
  return 1;
}

/* From buffer_unmap to unmapblock: where the event and the error go. */
typedef struct Unmap {
  cl_event *slot;
  cl_int err;
} Unmap;

/* Called as a mapped array's block ends: gives the memory back. */
static void unmapblock(Block *k) {
  cl_mem mem = k->cookie[0];
  cl_command_queue queue = k->cookie[1];
  Unmap *u = k->cookie[2];
  if (clsh_process_handsoff())
    return;
  if (k->data != NULL) {
    cl_int err = clEnqueueUnmapMemObject(queue, mem, k->data, 0, NULL,
                                         u != NULL ? u->slot : NULL);
    if (u != NULL)
      u->err = err;
    clFlush(queue);
  }
  clReleaseCommandQueue(queue);
  clReleaseMemObject(mem);
}

static Block *newmapping(lua_State *L, const Buffer *b, const Move *m,
                         size_t bytes) {
  Block *k = malloc(sizeof *k);
  if (k == NULL)
    clsh_error(L, "not enough memory");
  *k = (Block){NULL, bytes, 1, unmapblock, {b->handle, m->handle, NULL}};
  clRetainMemObject(b->handle);
  clRetainCommandQueue(m->handle);
  return k;
}

/** Buffer:map([mode] [, opts]) -> Array
 * The buffer's memory, or a part, as a host Array, without a copy where the
 * device shares memory with the host. `mode`: "read_write", "read" or
 * "write" (the old content is not needed). Until the array is unmapped or
 * closed no kernel may use that part. A matrix with gaps maps as rows of
 * `ld` elements. Options as for Buffer:read but from, size, async.
 */
static int buffer_map(lua_State *L) {
  static const char *const modes[] = {"read_write", "read", "write", NULL};
  static const cl_map_flags flags[] = {CL_MAP_READ | CL_MAP_WRITE, CL_MAP_READ,
                                       CL_MAP_WRITE_INVALIDATE_REGION};
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  shiftoptions(L);
  cl_map_flags flag = flags[clsh_option_word(L, 2, modes, "mode")];
  clsh_move_check(L, b->context, 3, mapoptions, &m);
  m.async = false;
  checkelements(L, b, 3, &r);
  if (r.width == b->bytes && b->shape.ndims == 2 && !b->view)
    r.shape = (Shape){2, {b->shape.dim[0], b->ld}, r.shape.count};
  else if (r.width == b->shape.count * b->type->size)
    r.shape = b->shape;
  Array *a = clsh_array_box(L, b->type, &r.shape);
  Event *e = clsh_move_begin(L, &b->head, &m);
  Block *k = newmapping(L, b, &m, r.width);
  a->block = k;
  cl_int err;
  k->data =
      clEnqueueMapBuffer(m.handle, b->handle, CL_FALSE, flag, r.offset,
                         r.width, m.waits.n, m.waits.list, &e->handle, &err);
  clsh_move_end(L, &m, err, "clEnqueueMapBuffer");
  lua_pop(L, 1);
  return 1;
}

/** Buffer:unmap(array) -> Event
 * Gives the memory of a mapped array back to the device and closes the
 * array. `array:close()` does the same.
 */
static int buffer_unmap(lua_State *L) {
  Unmap u = {NULL, CL_SUCCESS};
  Buffer *b = clsh_buffer_check(L, 1);
  clsh_array_check(L, 2);
  lua_getiuservalue(L, 1, 1);
  clsh_queue_push(L, -1);
  Event *e = clsh_event_new(L, -1);
  clsh_buffer_check(L, 1); /* again: that may have collected */
  Array *a = clsh_array_check(L, 2);
  Block *k = a->block;
  if (k->free != unmapblock || k->cookie[0] != b->handle)
    return clsh_error_arg(L, 2, "this Array is no mapping of the Buffer");
  if (k->refs > 1)
    return clsh_error_arg(L, 2,
                          "the mapping is still in use, by an Array of "
                          "another shape or by a transfer");
  u.slot = &e->handle;
  k->cookie[2] = &u;
  clsh_class_close((Object *)a);
  clsh_context_checkcommand(L, b->context, u.err, "clEnqueueUnmapMemObject");
  clsh_event_wait(L, -1);
  return 1;
}

void clsh_transfer_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"copy", buffer_copy}, {"fill", buffer_fill},   {"map", buffer_map},
      {"read", buffer_read}, {"unmap", buffer_unmap}, {"write", buffer_write},
      {NULL, NULL}};
  clsh_class_add(L, "Buffer", methods, NULL);
  clsh_option_declare(L, "Buffer:read", moveoptions);
  clsh_option_declare(L, "Buffer:write", moveoptions);
  clsh_option_declare(L, "Buffer:fill", filloptions);
  clsh_option_declare(L, "Buffer:copy", copyoptions);
  clsh_option_declare(L, "Buffer:map", mapoptions);
}
