/*
** transfer.c - the methods of class Buffer that move data.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "process.h"
#include "region.h"

#define MAXBOX 3 /* dimensions of a box */

/* Reads option `name`, a number >= 1 for each of n dimensions. */
static bool checkindexes(lua_State *L, int opts, const char *name, int n,
                         size_t v[MAXBOX]) {
  int type = clsh_option_push(L, opts, name);
  if (type == LUA_TNUMBER && n == 1) {
    v[0] = clsh_option_count(L, -1, name);
  } else if (type != LUA_TNIL) {
    if (type != LUA_TTABLE || lua_rawlen(L, -1) != (lua_Unsigned)n)
      clsh_error(L,
                 "%s: must be a list of %d number%s, as the Buffer has "
                 "dimensions",
                 name, n, n == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
      lua_rawgeti(L, -1, i + 1);
      v[i] = clsh_option_count(L, -1, name);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return type != LUA_TNIL;
}

/* Pushes "4x6". */
static const char *pushsizes(lua_State *L, const size_t *v, int n) {
  lua_pushfstring(L, "%I", (LUAI_UACINT)v[0]);
  for (int i = 1; i < n; i++) {
    lua_pushfstring(L, "x%I", (LUAI_UACINT)v[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

/* The elements from `at` on, `size` of them in each dimension, up to three. */
static void box(lua_State *L, const Buffer *b, const size_t *at,
                const size_t *size, Region *r) {
  const Shape *s = &b->shape;
  int n = s->ndims, last = n - 1;
  size_t unit = b->type->size;
  for (int i = 0; i < n; i++)
    if (at[i] > s->dim[i] || size[i] > s->dim[i] - at[i] + 1)
      clsh_error(L, "part %s at %s leaves the buffer of %s",
                 pushsizes(L, size, n), pushsizes(L, at, n),
                 pushsizes(L, s->dim, n));
  r->pitch = b->ld * unit;
  r->slice = n == 3 ? s->dim[1] * r->pitch : 0;
  r->width = size[last] * unit;
  r->rows = n > 1 ? size[last - 1] : 1;
  r->slices = n > 2 ? size[0] : 1;
  r->offset = b->shift + (at[last] - 1) * unit;
  r->offset += n > 1 ? (at[last - 1] - 1) * r->pitch : 0;
  r->offset += n > 2 ? (at[0] - 1) * r->slice : 0;
  r->shape = (Shape){.ndims = n, .count = 1};
  for (int i = 0; i < n; i++) {
    r->shape.dim[i] = size[i];
    r->shape.count *= size[i];
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
                .slices = 1,
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
  size_t at[MAXDIMS] = {1, 1, 1, 1}, size[MAXDIMS];
  int n = s->ndims <= MAXBOX ? s->ndims : MAXBOX;
  bool from = checkindexes(L, opts, "from", n, at);
  bool sized = checkindexes(L, opts, "size", n, size);
  bool elements = checkelements(L, b, opts, r);
  if (elements && (from || sized))
    clsh_error(L, "first/count and from/size name two different parts");
  if ((from || sized) && s->ndims > MAXBOX)
    clsh_error(L, "from, size: a part has at most 3 dimensions, the Buffer %d",
               s->ndims);
  if (!from && !sized && s->ndims != 2) {
    r->shape = elements ? r->shape : *s;
    return;
  }
  if (elements)
    return;
  for (int i = 0; i < n && !sized; i++)
    size[i] = at[i] <= s->dim[i] ? s->dim[i] - at[i] + 1 : 1;
  box(L, b, at, size, r);
}

/* The part of `d` that takes a copy of region `r`: option `to`. */
static void checktarget(lua_State *L, const Buffer *d, int opts,
                        const Region *r, Region *to) {
  size_t at[MAXDIMS] = {1, 1, 1, 1};
  const Shape *s = &d->shape;
  int type = clsh_option_push(L, opts, "to");
  if (type == LUA_TNUMBER) {
    linear(L, d, clsh_option_count(L, -1, "to"), r->shape.count, to);
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  bool alike = s->ndims == r->shape.ndims && s->ndims <= MAXBOX;
  if (type != LUA_TNIL && !alike)
    clsh_error(L, "to: a list needs Buffers and a part of the same number of "
                  "dimensions, up to 3");
  if (alike && (type != LUA_TNIL || s->ndims == 2)) {
    checkindexes(L, opts, "to", s->ndims, at);
    box(L, d, at, r->shape.dim, to);
  } else if (d->ld == s->dim[s->ndims - 1]) {
    linear(L, d, 1, r->shape.count, to);
  } else {
    clsh_error(L, "to: a matrix with gaps takes rectangles, not a list");
  }
}

/* Whether two regions of one piece of memory meet (bounding ranges). */
static bool meet(const Buffer *b, const Region *r, const Buffer *d,
                 const Region *to) {
  size_t a1 = b->offset - b->shift + r->offset;
  size_t b1 = d->offset - d->shift + to->offset;
  size_t a2 = a1 + clsh_region_extent(r), b2 = b1 + clsh_region_extent(to);
  return b->root == d->root && a1 < b2 && b1 < a2;
}

/*
** Raises unless the array can take or give exactly the region, or has it from
** option `at` on; the bytes in front of it.
*/
static size_t checkfit(lua_State *L, const Buffer *b, const Region *r,
                       const Array *a) {
  size_t at = clsh_option_size(L, 3, "at", 0);
  if (a->type != b->type)
    clsh_error(L,
               "the Buffer is of %s, the Array of %s; convert it with "
               "h:convert(\"%s\")",
               b->type->name, a->type->name, b->type->name);
  if (at == 0 && a->shape.count != r->shape.count)
    clsh_error(L, "the part of the Buffer has %I elements, the Array %I",
               (LUAI_UACINT)r->shape.count, (LUAI_UACINT)a->shape.count);
  if (at > a->shape.count || r->shape.count > a->shape.count - at + (at > 0))
    clsh_error(L,
               "at: %I elements from %I on leave the Array's 1..%I; count = n "
               "moves fewer",
               (LUAI_UACINT)r->shape.count, (LUAI_UACINT)at,
               (LUAI_UACINT)a->shape.count);
  return at > 1 ? (at - 1) * a->type->size : 0;
}

/* clsh_move_begin for a command on a Buffer. */
static Event *begin(lua_State *L, Buffer *b, Move *m) {
  Event *e = clsh_move_begin(L, &b->head, m);
  clsh_buffer_use(b, clsh_queue_any(L, m->queue));
  return e;
}

/*
** Moves a region from or to the array at 2, `skip` bytes into it; pushes the
** Event.
*/
static void transfer(lua_State *L, bool write, Buffer *b, const Region *part,
                     size_t skip, Move *m) {
  const Region pieces = clsh_region_joined(part), *r = &pieces;
  bool pinned = clsh_pinned_wanted(L, 3, m, clsh_region_bytes(r));
  Event *e = begin(L, b, m);
  void *host = (char *)clsh_move_pin(L, e, 2) + skip;
  assert(e->pin->bytes >= skip + clsh_region_bytes(r));
  if (pinned)
    clsh_pinned_move(L, write, m, b->handle, r, host);
  else
    clsh_move_end(L, m,
                  clsh_region_move(write, m, b->handle, r, host, &e->handle),
                  clsh_region_call(write, r));
}

static const char *const moveoptions[] = {"queue",  "async", "after", "first",
                                          "count",  "from",  "size",  "at",
                                          "pinned", NULL};
static const char *const filloptions[] = {"queue", "async", "after",
                                          "first", "count", NULL};
static const char *const copyoptions[] = {
    "queue", "async", "after", "first",    "count", "from",
    "size",  "to",    "way",   "to_queue", NULL};
static const char *const mapoptions[] = {"queue", "async", "after",
                                         "first", "count", NULL};
static const char *const migrateoptions[] = {"queue", "async",   "after",
                                             "host",  "discard", NULL};

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
 * {async = true} it does not, and returns an Event as well. From 4 MiB on data
 * from a device with memory of its own goes by way of pinned host memory,
 * several times as fast.
 * Options:
 *   first, count  all    elements in memory order
 *   from, size    all    a box: {row, col}, {rows, cols}; with one to three
 *                        dimensions, as the buffer has
 *   at            all    the element of `dst` that the first one goes to;
 *                        `dst` may be larger then
 *   queue, after  -      the Queue (default queue), a list of events before
 *   async         false  true: does not wait for the data
 *   pinned        -      true or false: by pinned memory always, or never
 * Example:
 * local b = cl.buffer("int", {3, 3}, function(i, j) return 10 * i + j end)
 * print(b:read():at(3, 1)) --> 31
 * local corner = b:read{from = {2, 2}, size = {2, 2}}
 * print(corner[1]) --> 22
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
  size_t skip = checkfit(L, b, &r, clsh_array_check(L, 2));
  transfer(L, false, b, &r, skip, &m);
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
 * Example:
 * local b = cl.buffer("int", 3)
 * b:write({1, 2, 3})
 * b:write({9}, {first = 2, count = 1})
 * print(b:read()[2]) --> 9
 */
static int buffer_write(lua_State *L) {
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 3);
  clsh_move_check(L, b->context, 3, moveoptions, &m);
  checkregion(L, b, 3, &r);
  toarray(L, b, &r, 2);
  size_t skip = checkfit(L, b, &r, clsh_array_check(L, 2));
  transfer(L, true, b, &r, skip, &m);
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
                       const Region *part, cl_event *slot) {
  const Region pieces = clsh_region_joined(part), *r = &pieces;
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
 * of the buffer's type. Options as for Buffer:read but from, size, at, pinned.
 * Example:
 * local b = cl.buffer("float", 8, 0)
 * b:fill(1, {first = 5, count = 4})
 * print(b:read()[4], b:read()[5]) --> 0.0 1.0
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
  Event *e = begin(L, b, &m);
  cl_int err;
  do
    err = fillrows(&m, b, pattern, &r, &e->handle);
  while (clsh_hold_retry(err));
  clsh_move_end(L, &m, err, "clEnqueueFillBuffer");
  return 1;
}

/*
** Parts of two buffers as rows and slices that are alike; false: both are in
** one piece.
*/
static bool align(Region *from, Region *dest, const Region *r,
                  const Region *to) {
  *from = clsh_region_joined(r);
  *dest = clsh_region_joined(to);
  if (from->rows == 1 && dest->rows == 1)
    return false;
  *from = from->rows > 1 ? *r : clsh_region_laid(r, to);
  *dest = dest->rows > 1 ? *to : clsh_region_laid(to, r);
  assert(dest->width == from->width && dest->rows == from->rows);
  return true;
}

/* Copies as the driver does, on a device or within a context. */
static cl_int enqueuecopy(const Move *m, const Buffer *b, const Region *r,
                          const Buffer *d, const Region *to, cl_event *slot) {
  size_t at[3], toat[3];
  Region from, dest;
  if (!align(&from, &dest, r, to))
    return clEnqueueCopyBuffer(m->handle, b->handle, d->handle, r->offset,
                               to->offset, from.width, m->waits.n,
                               m->waits.list, slot);
  const size_t region[3] = {from.width, from.rows, from.slices};
  clsh_region_origin(&from, at);
  clsh_region_origin(&dest, toat);
  return clEnqueueCopyBufferRect(m->handle, b->handle, d->handle, at, toat,
                                 region, from.pitch, from.slice, dest.pitch,
                                 dest.slice, m->waits.n, m->waits.list, slot);
}

/* Ways from one device to another. */
enum { DRIVER, ONEPIECE, BOTH };
static const char *const ways[] = {"driver", "piece", "pieces", NULL};

/*
** The way of a copy: option `way`, else, between two devices, what the
** registry's function cl.copyway(context, context, bytes, whether
** they share memory) knows.
*/
static int checkway(lua_State *L, const Buffer *b, const Buffer *d,
                    const Move *m, size_t bytes) {
  bool shares = clsh_context_shares(b->context, d->context);
  int way = shares ? DRIVER : ONEPIECE;
  clsh_option_push(L, 3, "way");
  if (lua_isnil(L, -1) && b->context->device != d->context->device &&
      !m->async &&
      lua_getfield(L, LUA_REGISTRYINDEX, "cl.copyway") == LUA_TFUNCTION) {
    lua_getiuservalue(L, 1, 1);
    lua_getiuservalue(L, 2, 1);
    lua_pushinteger(L, (lua_Integer)bytes);
    lua_pushboolean(L, shares);
    lua_call(L, 4, 1);
  }
  if (!lua_isnil(L, -1) && !lua_isfunction(L, -1))
    way = clsh_option_word(L, -1, ways, "way");
  if (way == DRIVER && !shares)
    clsh_error(L, "copy: no driver copies between contexts; leave way out");
  if (way != DRIVER && m->async)
    clsh_error(L, "copy: between contexts, and by pinned memory, the host "
                  "takes part in it, so that it waits; leave async out");
  return way;
}

/*
** The queue of the writes into the Buffer at 2: option `to_queue`, else the
** default one of its context.
*/
static cl_command_queue targetqueue(lua_State *L, Buffer *d) {
  Queue *q;
  if (clsh_option_push(L, 3, "to_queue") == LUA_TNIL) {
    lua_getiuservalue(L, 2, 1);
    q = clsh_queue_push(L, -1);
  } else {
    q = clsh_queue_option(L, -1);
    if (!clsh_context_shares(q->context, d->context))
      clsh_error(L, "to_queue: must be a Queue of the target's context");
  }
  clsh_buffer_use(d, q);
  return clsh_queue_handle(L, q);
}

/* Copies by pinned host memory. */
static void copypinned(lua_State *L, Buffer *b, const Region *r, Buffer *d,
                       const Region *to, Move *m, bool both) {
  Region from, dest;
  Move target = {.context = d->context};
  align(&from, &dest, r, to);
  target.handle = targetqueue(L, d);
  clsh_pinned_prepare(L, b->context);
  clsh_pinned_prepare(L, d->context);
  begin(L, b, m);
  if (d->head.closed)
    clsh_error(L, "the target Buffer is closed");
  clsh_pinned_copy(L, m, b->handle, &from, &target, d->handle, &dest, both);
}

/** Buffer:copy(dst [, opts]) -> Event
 * Copies the buffer, or a part, into Buffer `dst` on the device, or on
 * another one. Types must agree; parts must not overlap. Between devices it
 * waits, and goes the way that was fastest when it was measured, once for each
 * pair. Options as for Buffer:read but at, pinned.
 * Options:
 *   to        1  where in `dst`: an element, or {row, col} of a box
 *   way       -  between devices: "driver" (its own copy, of Buffers that
 *                cl.contexts made), "piece" or "pieces": by pinned host memory
 *                of one device or of both
 *   to_queue  -  between contexts: the Queue of dst's that writes (default
 *                queue)
 * Example:
 * local a, b = cl.buffer("int", 4, 7), cl.buffer("int", 8, 0)
 * a:copy(b, {first = 1, count = 4, to = 5})
 * print(b:read()[4], b:read()[5]) --> 0 7
 */
static int buffer_copy(lua_State *L) {
  Region r, to;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  Buffer *d = clsh_buffer_check(L, 2);
  lua_settop(L, 3);
  if (b->type != d->type)
    return clsh_error(L, "copy: from %s to %s", b->type->name, d->type->name);
  clsh_move_check(L, b->context, 3, copyoptions, &m);
  checkregion(L, b, 3, &r);
  checktarget(L, d, 3, &r, &to);
  if (meet(b, &r, d, &to))
    return clsh_error_call(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyBuffer",
                           "source and target share memory");
  int way = checkway(L, b, d, &m, clsh_region_bytes(&r));
  if (way != DRIVER) {
    copypinned(L, b, &r, d, &to, &m, way == BOTH);
    return 1;
  }
  Event *e = begin(L, b, &m);
  if (d->head.closed)
    return clsh_error(L, "the target Buffer is closed");
  clsh_buffer_use(d, clsh_queue_any(L, m.queue));
  cl_int err;
  do
    err = enqueuecopy(&m, b, &r, d, &to, &e->handle);
  while (clsh_hold_retry(err));
  clsh_move_end(L, &m, err,
                r.rows > 1 || to.rows > 1 ? "clEnqueueCopyBufferRect"
                                          : "clEnqueueCopyBuffer");
  return 1;
}

/** Buffer:map([mode] [, opts]) -> Array
 * The buffer's memory, or a part, as a host Array, without a copy where the
 * device shares memory with the host. `mode`: "read_write", "read" or
 * "write" (the old content is not needed). Until the array is unmapped or
 * closed no kernel may use that part. A matrix with gaps maps as rows of
 * `ld` elements. With {async = true} it does not wait, and returns an Event as
 * well: the content is there once that has ended. Options as for Buffer:read
 * but from, size, at, pinned.
 * Example:
 * local b = cl.buffer("int", 4, 0)
 * local h <close> = b:map "read_write" -- unmapped where it is closed
 * h[1] = 5
 * b:unmap(h) -- or h:close()
 * print(b:read()[1]) --> 5
 */
static int buffer_map(lua_State *L) {
  Region r;
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  shiftoptions(L);
  cl_map_flags flags = clsh_mapping_flags(L, 2);
  clsh_move_check(L, b->context, 3, mapoptions, &m);
  checkelements(L, b, 3, &r);
  if (r.width == b->bytes && b->shape.ndims == 2 && !b->view)
    r.shape = (Shape){2, {b->shape.dim[0], b->ld}, r.shape.count};
  else if (r.width == b->shape.count * b->type->size)
    r.shape = b->shape;
  Array *a = clsh_array_box(L, b->type, &r.shape);
  Event *e = begin(L, b, &m);
  clsh_buffer_dontkeep(b); /* the Array that maps it may outlive it */
  Mapping *k = clsh_mapping_new(L, a, b->handle, &m, r.width);
  cl_int err;
  void *mapped =
      clEnqueueMapBuffer(m.handle, b->handle, CL_FALSE, flags, r.offset,
                         r.width, m.waits.n, m.waits.list, &e->handle, &err);
  if (err == CL_SUCCESS)
    clsh_mapping_set(k, mapped);
  if (err == CL_SUCCESS && m.async)
    clsh_event_pin(e, a->block); /* an unmapping comes after the mapping */
  clsh_move_end(L, &m, err, "clEnqueueMapBuffer");
  return m.async ? 2 : (lua_pop(L, 1), 1);
}

/** Buffer:migrate([opts]) -> Event
 * Moves the buffer's memory to the device of a queue ahead of its use there,
 * where devices share Buffers (cl.contexts). It does not wait.
 * Options:
 *   queue    default  the Queue whose device gets the memory
 *   after    none     a list of events before
 *   async    true     false: waits
 *   host     false    true: to the host
 *   discard  false    true: the old content is not needed
 * Example:
 * local b = cl.buffer("int", 1000, 7)
 * local fine, event = pcall(b.migrate, b) -- to the default queue's device
 * print(fine and event:wait().command) -- migrate
 */
static int buffer_migrate(lua_State *L) {
  Move m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 2);
  clsh_move_check(L, b->context, 2, migrateoptions, &m);
  m.async = clsh_option_flag(L, 2, "async", true);
  cl_mem_migration_flags flags =
      (clsh_option_flag(L, 2, "host", false) ? CL_MIGRATE_MEM_OBJECT_HOST
                                             : 0) |
      (clsh_option_flag(L, 2, "discard", false)
           ? CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
           : 0);
  Event *e = begin(L, b, &m);
  cl_int err = clEnqueueMigrateMemObjects(m.handle, 1, &b->handle, flags,
                                          m.waits.n, m.waits.list, &e->handle);
  if (err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clEnqueueMigrateMemObjects",
                    "the driver moves memory itself; leave the call out");
  clsh_move_end(L, &m, err, "clEnqueueMigrateMemObjects");
  return 1;
}

/** Buffer:unmap(array) -> Event
 * Gives the memory of a mapped array back to the device and closes the
 * array. `array:close()` does the same.
 * Example: as for Buffer:map
 */
static int buffer_unmap(lua_State *L) {
  const Buffer *b = clsh_buffer_check(L, 1);
  return clsh_mapping_unmap(L, &b->head, &b->handle);
}

void clsh_transfer_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"copy", buffer_copy},   {"fill", buffer_fill},
      {"map", buffer_map},     {"migrate", buffer_migrate},
      {"read", buffer_read},   {"unmap", buffer_unmap},
      {"write", buffer_write}, {NULL, NULL}};
  clsh_class_add(L, "Buffer", methods, NULL);
  clsh_option_declare(L, "Buffer:read", moveoptions);
  clsh_option_declare(L, "Buffer:write", moveoptions);
  clsh_option_declare(L, "Buffer:fill", filloptions);
  clsh_option_declare(L, "Buffer:copy", copyoptions);
  clsh_option_declare(L, "Buffer:map", mapoptions);
  clsh_option_declare(L, "Buffer:migrate", migrateoptions);
}
