/*
** transfer.c - the methods of class Buffer that move data.
** Every size is checked here, overflow-safe, before the driver sees it.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

/*
** A part of a buffer, in bytes: `rows` pieces of `width` bytes, `pitch`
** apart. One piece stands for any contiguous part.
*/
typedef struct Region {
  size_t offset, width, rows, pitch;
  Shape shape; /* the same in elements */
} Region;

/* How a transfer is enqueued. */
typedef struct Mode {
  int queue; /* stack index of its Queue */
  cl_command_queue handle;
  bool async;
  After after;
} Mode;

static const char *const options[] = {"queue", "async", "after", "first",
                                      "count", "from",  "size",  "to",
                                      NULL};

/* Pushes options[name]; nil where `arg` holds no table. */
static int option(lua_State *L, int arg, const char *name) {
  if (lua_isnil(L, arg)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  return lua_getfield(L, arg, name);
}

/* Reads queue, async and after; leaves the Queue on the stack. */
static void checkmode(lua_State *L, Buffer *b, int opts, Mode *m) {
  clsh_checkoptions(L, opts, options, "transfer");
  clsh_alive(L, b->context);
  if (option(L, opts, "queue") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getiuservalue(L, 1, 1);
    clsh_pushqueue(L, -1);
    lua_remove(L, -2);
  }
  m->queue = lua_gettop(L);
  Queue *q = clsh_checkqueue(L, m->queue);
  if (clsh_queuecontext(q) != b->context)
    clsh_error(L, "the Buffer and the Queue are of different contexts");
  m->handle = clsh_queuehandle(L, q);
  option(L, opts, "async");
  m->async = lua_toboolean(L, -1);
  option(L, opts, "after");
  clsh_checkafter(L, -1, b->context, &m->after);
  lua_pop(L, 2);
}

static const cl_event *waitlist(const Mode *m) {
  return m->after.n > 0 ? m->after.list : NULL;
}

/* Ends a transfer whose Event is at the top: waits unless it is async. */
static void endtransfer(lua_State *L, const Mode *m, cl_int err,
                        const char *call) {
  if (err == CL_INVALID_COMMAND_QUEUE)
    clsh_setlost(clsh_queuecontext(clsh_checkqueue(L, m->queue)), err, call);
  clsh_check(L, err, call);
  if (!m->async)
    clsh_waitevent(L, -1);
  else
    clFlush(m->handle);
}

/* Two numbers {a, b} of option `name`, each at least 1. */
static bool checkpair(lua_State *L, int opts, const char *name, size_t *a,
                      size_t *b) {
  if (option(L, opts, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
    clsh_error(L, "%s: {row, column} expected", name);
  int t = lua_gettop(L);
  lua_rawgeti(L, t, 1);
  *a = clsh_checkcount(L, t + 1, name);
  lua_rawgeti(L, t, 2);
  *b = clsh_checkcount(L, t + 2, name);
  lua_settop(L, t - 1);
  return true;
}

/* A rectangle of a two-dimensional buffer from {row, col}, {rows, cols}. */
static void rectangle(lua_State *L, const Buffer *b, size_t row, size_t col,
                      size_t rows, size_t cols, Region *r) {
  const Shape *s = &b->shape;
  if (s->ndims != 2)
    clsh_error(L, "from, size: a rectangle needs two dimensions, not %d",
               s->ndims);
  if (row > s->dim[0] || col > s->dim[1] || rows > s->dim[0] - row + 1 ||
      cols > s->dim[1] - col + 1)
    clsh_error(L, "rectangle %Ix%I at (%I, %I) leaves the buffer of %Ix%I",
               (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)row,
               (LUAI_UACINT)col, (LUAI_UACINT)s->dim[0],
               (LUAI_UACINT)s->dim[1]);
  size_t size = b->type->size;
  r->offset = ((row - 1) * b->ld + (col - 1)) * size;
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
    clsh_error(L, "elements %I..%I leave the buffer's 1..%I",
               (LUAI_UACINT)first, (LUAI_UACINT)(first - 1 + count),
               (LUAI_UACINT)n);
  *r = (Region){.offset = (first - 1) * b->type->size,
                .width = count * b->type->size,
                .rows = 1,
                .pitch = count * b->type->size,
                .shape = {1, {count}, count}};
}

static size_t optcount(lua_State *L, int opts, const char *name, size_t def) {
  if (option(L, opts, name) != LUA_TNIL)
    def = clsh_checkcount(L, lua_gettop(L), name);
  lua_pop(L, 1);
  return def;
}

/* The part that first/count or from/size name; the whole buffer if none. */
static void checkregion(lua_State *L, const Buffer *b, int opts, Region *r) {
  size_t row = 1, col = 1, rows, cols;
  bool from = checkpair(L, opts, "from", &row, &col);
  bool size = checkpair(L, opts, "size", &rows, &cols);
  size_t first = optcount(L, opts, "first", 0);
  size_t count = optcount(L, opts, "count", 0);
  if ((from || size) && (first != 0 || count != 0))
    clsh_error(L, "first/count and from/size name two different parts");
  if (from || size || (first == 0 && count == 0 && b->shape.ndims == 2)) {
    if (!size && b->shape.ndims == 2) {
      rows = row <= b->shape.dim[0] ? b->shape.dim[0] - row + 1 : 1;
      cols = col <= b->shape.dim[1] ? b->shape.dim[1] - col + 1 : 1;
    }
    rectangle(L, b, row, col, rows, cols, r);
  } else {
    size_t n = b->bytes / b->type->size;
    bool whole = first == 0 && count == 0;
    first = first == 0 ? 1 : first;
    linear(L, b, first, count == 0 && first <= n ? n - first + 1 : count, r);
    if (whole)
      r->shape = b->shape;
  }
}

/* Enqueues a read or a write between a region and dense host memory. */
static cl_int enqueue(bool write, const Mode *m, cl_mem mem, const Region *r,
                      void *host, cl_event *slot) {
  const cl_event *list = waitlist(m);
  size_t b[3] = {r->offset % r->pitch, r->offset / r->pitch, 0};
  size_t h[3] = {0, 0, 0};
  size_t region[3] = {r->width, r->rows, 1};
  if (r->rows == 1)
    return write ? clEnqueueWriteBuffer(m->handle, mem, CL_FALSE, r->offset,
                                        r->width, host, m->after.n, list,
                                        slot)
                 : clEnqueueReadBuffer(m->handle, mem, CL_FALSE, r->offset,
                                       r->width, host, m->after.n, list,
                                       slot);
  return write ? clEnqueueWriteBufferRect(m->handle, mem, CL_FALSE, b, h,
                                          region, r->pitch, 0, r->width, 0,
                                          host, m->after.n, list, slot)
               : clEnqueueReadBufferRect(m->handle, mem, CL_FALSE, b, h,
                                         region, r->pitch, 0, r->width, 0,
                                         host, m->after.n, list, slot);
}

/* Raises unless the array can take or give exactly the region. */
static void checkfit(lua_State *L, const Buffer *b, const Region *r,
                     const Array *a) {
  const Type *t = clsh_arraytype(a);
  const Shape *s = clsh_arrayshape(a);
  if (t != b->type)
    clsh_error(L,
               "the Buffer is of %s, the Array of %s; convert it with "
               "h:convert(\"%s\")",
               b->type->name, t->name, b->type->name);
  if (s->count != r->shape.count)
    clsh_error(L, "the part of the Buffer has %I elements, the Array %I",
               (LUAI_UACINT)r->shape.count, (LUAI_UACINT)s->count);
}

/* Moves a region from or to the array at `arr`; pushes the Event. */
static void transfer(lua_State *L, bool write, Buffer *b, const Region *r,
                     int arr, const Mode *m) {
  Block *block = clsh_arrayblock(clsh_checkarray(L, arr));
  Event *e = clsh_newevent(L, m->queue);
  clsh_pinblock(e, block);
  endtransfer(L, m,
              enqueue(write, m, b->handle, r, block->data, clsh_eventslot(e)),
              write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
}

/** Buffer:read([dst] [, opts]) -> Array, Event
 * Copies the buffer, or a part of it, to host memory: into Array `dst`, or
 * a new one. Gaps between rows stay behind. It waits for the data unless
 * {async = true}. Options: first, count (elements in memory order); from =
 * {row, col}, size = {rows, cols} (a rectangle); queue, async, after.
 */
int clsh_bufferread(lua_State *L) {
  Region r;
  Mode m;
  Buffer *b = clsh_checkbuffer(L, 1);
  if (clsh_testarray(L, 2) == NULL && lua_istable(L, 2)) {
    lua_settop(L, 2);
    lua_pushnil(L); /* b:read(opts) */
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
  checkmode(L, b, 3, &m);
  checkregion(L, b, 3, &r);
  if (lua_isnil(L, 2)) {
    clsh_newarray(L, b->type, &r.shape);
    lua_replace(L, 2);
  }
  checkfit(L, b, &r, clsh_checkarray(L, 2));
  transfer(L, false, b, &r, 2, &m);
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  return 2;
}

/* Makes the value at `src` an Array of the region's type and shape. */
static void toarray(lua_State *L, const Buffer *b, const Region *r,
                    int src) {
  if (clsh_testarray(L, src) != NULL)
    return;
  Array *a = clsh_newarray(L, b->type, &r->shape);
  clsh_setarray(L, a, src);
  lua_replace(L, src);
}

/** Buffer:write(src [, opts]) -> Event
 * Copies `src` to the buffer: an Array of the same type and number of
 * elements, a nested table, a number, or a function of the indexes. It
 * waits until `src` may change again unless {async = true}. Options as in
 * Buffer:read.
 */
int clsh_bufferwrite(lua_State *L) {
  Region r;
  Mode m;
  Buffer *b = clsh_checkbuffer(L, 1);
  lua_settop(L, 3);
  checkmode(L, b, 3, &m);
  checkregion(L, b, 3, &r);
  toarray(L, b, &r, 2);
  checkfit(L, b, &r, clsh_checkarray(L, 2));
  transfer(L, true, b, &r, 2, &m);
  return 1;
}

/* Sets all of the new buffer at `buf` to the value at `init`. */
void clsh_writeinit(lua_State *L, int buf, int init) {
  lua_pushcfunction(L, lua_type(L, init) == LUA_TNUMBER ? clsh_bufferfill
                                                         : clsh_bufferwrite);
  lua_pushvalue(L, buf);
  lua_pushvalue(L, init);
  lua_call(L, 2, 0);
}

/** Buffer:fill(value [, opts]) -> Event
 * Sets every element, gaps between rows included, to a value of the
 * buffer's type. Options: first, count (elements in memory order), queue,
 * async, after.
 */
int clsh_bufferfill(lua_State *L) {
  char pattern[128];
  Region r;
  Mode m;
  Buffer *b = clsh_checkbuffer(L, 1);
  lua_settop(L, 3);
  const char *wrong = clsh_toelement(L, 2, b->type, pattern);
  if (wrong != NULL)
    return clsh_argerror(L, 2, "%s", wrong);
  checkmode(L, b, 3, &m);
  size_t first = optcount(L, 3, "first", 1);
  size_t n = b->bytes / b->type->size;
  size_t rest = first <= n ? n - first + 1 : 1;
  linear(L, b, first, optcount(L, 3, "count", rest), &r);
  Event *e = clsh_newevent(L, m.queue);
  cl_int err = clEnqueueFillBuffer(m.handle, b->handle, pattern,
                                   b->type->size, r.offset, r.width,
                                   m.after.n, waitlist(&m),
                                   clsh_eventslot(e));
  endtransfer(L, &m, err, "clEnqueueFillBuffer");
  return 1;
}

/* The part of `d` that takes a copy of region `r`: option `to`. */
static void checktarget(lua_State *L, const Buffer *d, int opts,
                        const Region *r, Region *to) {
  size_t row = 1, col = 1;
  if (option(L, opts, "to") == LUA_TNUMBER) {
    linear(L, d, clsh_checkcount(L, lua_gettop(L), "to"), r->shape.count, to);
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  checkpair(L, opts, "to", &row, &col);
  if (d->shape.ndims == 2 && r->shape.ndims == 2)
    rectangle(L, d, row, col, r->shape.dim[0], r->shape.dim[1], to);
  else if (d->ld == d->shape.dim[d->shape.ndims - 1])
    linear(L, d, 1, r->shape.count, to);
  else
    clsh_error(L, "to: a matrix with gaps takes rectangles, not a list");
}

/** Buffer:overlaps(other) -> boolean
 * Whether two buffers share memory: the same one, or views that meet.
 */
int clsh_bufferoverlaps(lua_State *L) {
  Buffer *b = clsh_checkbuffer(L, 1);
  Buffer *d = clsh_checkbuffer(L, 2);
  lua_pushboolean(L, b->root == d->root && b->offset < d->offset + d->bytes &&
                         d->offset < b->offset + b->bytes);
  return 1;
}

/* Whether two regions of one piece of memory meet (bounding ranges). */
static bool overlap(const Buffer *b, const Region *r, const Buffer *d,
                    const Region *to) {
  size_t a1 = b->offset + r->offset, b1 = d->offset + to->offset;
  size_t a2 = a1 + (r->rows - 1) * r->pitch + r->width;
  size_t b2 = b1 + (to->rows - 1) * to->pitch + to->width;
  return b->root == d->root && a1 < b2 && b1 < a2;
}

static cl_int enqueuecopy(const Mode *m, const Buffer *b, const Region *r,
                          const Buffer *d, const Region *to,
                          cl_event *slot) {
  if (r->rows == 1 && to->rows == 1)
    return clEnqueueCopyBuffer(m->handle, b->handle, d->handle, r->offset,
                               to->offset, r->width, m->after.n, waitlist(m),
                               slot);
  size_t rows = r->rows > to->rows ? r->rows : to->rows;
  size_t width = r->rows > 1 ? r->width : to->width;
  size_t sp = r->rows > 1 ? r->pitch : width;
  size_t dp = to->rows > 1 ? to->pitch : width;
  size_t from[3] = {r->offset % sp, r->offset / sp, 0};
  size_t dest[3] = {to->offset % dp, to->offset / dp, 0};
  size_t region[3] = {width, rows, 1};
  return clEnqueueCopyBufferRect(m->handle, b->handle, d->handle, from, dest,
                                 region, sp, 0, dp, 0, m->after.n,
                                 waitlist(m), slot);
}

/** Buffer:copy(dst [, opts]) -> Event
 * Copies the buffer, or a part, into Buffer `dst` on the device. Types must
 * agree; parts must not overlap. Options: first, count, to = element of
 * `dst`; or from = {row, col}, size = {rows, cols}, to = {row, col} for
 * rectangles of matrices; queue, async, after.
 */
int clsh_buffercopy(lua_State *L) {
  Region r, to;
  Mode m;
  Buffer *b = clsh_checkbuffer(L, 1);
  Buffer *d = clsh_checkbuffer(L, 2);
  lua_settop(L, 3);
  if (b->type != d->type)
    return clsh_error(L, "copy: from %s to %s", b->type->name,
                      d->type->name);
  if (b->context != d->context)
    return clsh_error(L, "copy: Buffers of different contexts; go through "
                         "the host with dst:write(src:read())");
  checkmode(L, b, 3, &m);
  checkregion(L, b, 3, &r);
  checktarget(L, d, 3, &r, &to);
  if (overlap(b, &r, d, &to))
    return clsh_fail(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyBuffer",
                     "source and target share memory");
  Event *e = clsh_newevent(L, m.queue);
  cl_int err = enqueuecopy(&m, b, &r, d, &to, clsh_eventslot(e));
  endtransfer(L, &m, err, "clEnqueueCopyBuffer");
  return 1;
}

/* Called as a mapped array's block ends: gives the memory back. */
static void unmapblock(Block *k) {
  cl_mem mem = k->cookie[0];
  cl_command_queue queue = k->cookie[1];
  if (!clsh_forked() && k->data != NULL) {
    clEnqueueUnmapMemObject(queue, mem, k->data, 0, NULL, k->cookie[2]);
    clFlush(queue);
  }
  if (!clsh_forked()) {
    clReleaseCommandQueue(queue);
    clReleaseMemObject(mem);
  }
}

static Block *newmapping(lua_State *L, Buffer *b, const Mode *m,
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
 * `ld` elements. Options: first, count, queue, after.
 */
int clsh_buffermap(lua_State *L) {
  static const char *const names[] = {"read_write", "read", "write", NULL};
  static const cl_map_flags flags[] = {CL_MAP_READ | CL_MAP_WRITE,
                                       CL_MAP_READ,
                                       CL_MAP_WRITE_INVALIDATE_REGION};
  Region r;
  Mode m;
  Buffer *b = clsh_checkbuffer(L, 1);
  lua_settop(L, 3);
  cl_map_flags flag = flags[luaL_checkoption(L, 2, "read_write", names)];
  checkmode(L, b, 3, &m);
  m.async = false;
  size_t n = b->bytes / b->type->size;
  size_t first = optcount(L, 3, "first", 1);
  size_t count = optcount(L, 3, "count", first <= n ? n - first + 1 : 1);
  linear(L, b, first, count, &r);
  if (count == n && b->shape.ndims == 2)
    r.shape = (Shape){2, {b->shape.dim[0], b->ld}, n};
  else if (count == n)
    r.shape = b->shape;
  Array *a = clsh_wrapblock(L, b->type, &r.shape, NULL);
  Event *e = clsh_newevent(L, m.queue);
  Block *k = newmapping(L, b, &m, r.width);
  clsh_setblock(a, k);
  cl_int err;
  k->data = clEnqueueMapBuffer(m.handle, b->handle, CL_FALSE, flag, r.offset,
                               r.width, m.after.n, waitlist(&m),
                               clsh_eventslot(e), &err);
  endtransfer(L, &m, err, "clEnqueueMapBuffer");
  lua_pop(L, 1);
  return 1;
}

/** Buffer:unmap(array) -> Event
 * Gives the memory of a mapped array back to the device and closes the
 * array. `array:close()` does the same.
 */
int clsh_bufferunmap(lua_State *L) {
  Buffer *b = clsh_checkbuffer(L, 1);
  Array *a = clsh_checkarray(L, 2);
  Block *k = clsh_arrayblock(a);
  if (k->free != unmapblock || k->cookie[0] != b->handle)
    return clsh_argerror(L, 2, "this Array is no mapping of the Buffer");
  if (k->refs > 1)
    return clsh_argerror(L, 2, "another Array shares the mapping (reshape, "
                               "view); close that first");
  lua_getiuservalue(L, 1, 1);
  clsh_pushqueue(L, -1);
  Event *e = clsh_newevent(L, -1);
  k->cookie[2] = clsh_eventslot(e);
  clsh_closeobject((Object *)a);
  clsh_waitevent(L, -1);
  return 1;
}
