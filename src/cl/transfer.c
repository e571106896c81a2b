/*
** transfer.c - commands that move data. All have the options queue, async and
** after, the Event, the pinned host memory, and the wait. The methods of class
** Buffer: a part of a buffer is a Region; a large Region goes through pinned
** pieces of host memory: while the device moves some of the pieces, the host
** copies between others and its arrays. Between two devices one reads a piece
** while the other writes the pieces before it.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "memory.h"
#include "timeline.h"

#define MAXBOX 3                  /* dimensions of a box */
#define LARGE ((size_t)4 << 20)   /* least bytes of a transfer that gains */
#define LEAST ((size_t)1 << 20)   /* bytes of a piece in use, at least */
#define LAG 2                     /* pieces between a read and its write */
#define AHEAD ((size_t)128 << 20) /* bytes of new memory that get pages */

/*
** Checks the names of the options at `opts`, and reads queue, async and
** after; leaves the Queue and the events on the stack. User value 1 of the
** object at 1 is its Context `c`.
*/
void clsh_transfer_check(lua_State *L, Context *c, int opts, const char *names,
                         Transfer *m) {
  m->fresh = false;
  clsh_option_check(L, opts, names, "transfer");
  clsh_context_alive(L, c);
  if (clsh_option_push(L, opts, "queue") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getiuservalue(L, 1, 1);
    clsh_queue_push(L, -1);
    lua_remove(L, -2);
  }
  m->context = c;
  m->queue = lua_gettop(L);
  if (!clsh_context_shares(clsh_queue_option(L, m->queue)->context, c))
    clsh_error(L, "the %s and the Queue are of different contexts",
               clsh_class_name(L, 1));
  m->async = clsh_option_flag(L, opts, "async", false);
  clsh_option_push(L, opts, "after");
  m->after = lua_gettop(L);
}

/*
** Pushes the Event of a command that moves so many bytes. Script code
** (metamethods, finalizers) may have run since the arguments were checked, so
** their handles are looked up here. No script code runs from here until the
** command is enqueued.
*/
Event *clsh_transfer_begin(lua_State *L, const Object *o, Transfer *m,
                           size_t bytes) {
  Event *e = clsh_event_new(L, m->queue);
  if (o->closed)
    clsh_error(L, "this %s is closed", o->class->name);
  m->handle = clsh_queue_handle(L, clsh_queue_any(L, m->queue));
  clsh_event_after(L, m->after, m->context, &m->waits);
  e->waits = m->waits.n > 0;
  clsh_timeline_moves(e, bytes);
  return e;
}

/*
** Reads option `name`: for each of n dimensions a number from `least` on; for
** one dimension a number without a list as well. False: it is not given.
*/
bool clsh_transfer_place(lua_State *L, int opts, const char *name, int n,
                         lua_Integer least, size_t *v) {
  int type = clsh_option_push(L, opts, name), top = lua_gettop(L);
  bool list = type == LUA_TTABLE;
  int given = list ? (int)lua_rawlen(L, top) : 1;
  bool fine = given == n;
  for (int i = 0; i < n && fine && type != LUA_TNIL; i++) {
    lua_settop(L, top);
    if (list)
      lua_rawgeti(L, top, i + 1);
    fine = clsh_option_whole(L, -1, least, &v[i]);
  }
  if (!fine && type != LUA_TNIL)
    clsh_error(L,
               "%s: must be a list of %d whole number%s >= %I, one for each "
               "dimension; got %s",
               name, n, n == 1 ? "" : "s", least,
               list && given != n ? lua_pushfstring(L, "%d of them", given)
                                  : clsh_option_got(L, -1));
  lua_settop(L, top - 1);
  return type != LUA_TNIL;
}

/* Inserts nil for the argument at 2 that was left out before options. */
void clsh_transfer_shift(lua_State *L) {
  if (lua_istable(L, 2)) {
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
}

/* The memory of the Array at `arr`, kept until the command has ended. */
void *clsh_transfer_pin(lua_State *L, Event *e, int arr) {
  const Array *a = clsh_array_check(L, arr);
  void *data = clsh_array_data(L, a);
  clsh_event_pin(e, a->block);
  return data;
}

/* Ends a command whose Event is at the top: waits unless it is async. */
void clsh_transfer_end(lua_State *L, const Transfer *m, cl_int err,
                       const char *call) {
  clsh_context_checkcommand(L, m->context, err, call);
  const Event *e = clsh_event_check(L, -1);
  clsh_timeline_enqueued(L, e);
  if (!m->async) {
    clsh_timeline_call(e, 'b');
    clsh_event_wait(L, -1);
    clsh_timeline_call(e, 'b');
  } else
    clFlush(m->handle);
}

/*
** A part of a buffer, in bytes: `slices` times `rows` pieces of `width` bytes.
** One piece stands for any contiguous part.
*/
typedef struct Region {
  size_t offset; /* from the handle's beginning */
  size_t width, rows, slices;
  size_t pitch, slice; /* from row to row, and slice to slice; 0: rows */
  Shape shape;         /* of the part, in elements */
} Region;

/* The same part of the buffer in as few pieces as possible. */
static Region joined(const Region *from) {
  Region r = *from;
  for (int i = 0; i < 2; i++) {
    if (r.rows > 1 && r.width == r.pitch) {
      r.width *= r.rows;
      r.rows = 1;
    }
    if (r.rows == 1 && r.slices > 1) {
      r.rows = r.slices;
      r.pitch = r.slice;
      r.slices = 1;
      r.slice = 0;
    }
  }
  return r;
}

/* A part in one piece, as rows and slices of the same sizes as `other`. */
static Region laid(const Region *r, const Region *other) {
  Region like = *other;
  like.offset = r->offset;
  like.pitch = like.width;
  like.slice = like.slices > 1 ? like.rows * like.width : 0;
  return like;
}

/* The place of a part in buffers of its pitches. */
static void origin(const Region *r, size_t origin[3]) {
  size_t in = r->slice > 0 ? r->offset % r->slice : r->offset;
  origin[0] = in % r->pitch;
  origin[1] = in / r->pitch;
  origin[2] = r->slice > 0 ? r->offset / r->slice : 0;
}

/* The bytes from a region's beginning to its end. */
static size_t reach(const Region *r) {
  return (r->slices - 1) * r->slice + (r->rows - 1) * r->pitch + r->width;
}

/* The bytes in a region, without gaps. */
static size_t bytesof(const Region *r) {
  return r->width * r->rows * r->slices;
}

/*
** The next part of at most `most` bytes behind the first `*done` bytes: whole
** rows of one slice, or a part of a row. False: there is no more.
*/
static bool nextpart(const Region *whole, size_t most, size_t *done,
                     Region *part) {
  size_t col = *done % whole->width, row = *done / whole->width;
  size_t slice = row / whole->rows;
  row %= whole->rows;
  if (slice >= whole->slices)
    return false;
  *part = (Region){.width = whole->width, .rows = 1, .slices = 1};
  part->pitch = whole->rows > 1 ? whole->pitch : whole->width;
  part->offset =
      whole->offset + slice * whole->slice + row * whole->pitch + col;
  if (col > 0 || whole->width > most) {
    part->width = whole->width - col < most ? whole->width - col : most;
  } else {
    size_t rest = whole->rows - row, fit = most / whole->width;
    part->rows = rest < fit ? rest : fit;
  }
  *done += part->width * part->rows;
  return true;
}

static cl_int enqueueregion(bool write, const Transfer *m, cl_mem mem,
                            const Region *r, void *host, cl_event *slot) {
  const cl_event *list = m->waits.list;
  const size_t h[3] = {0, 0, 0};
  const size_t region[3] = {r->width, r->rows, r->slices};
  size_t b[3];
  origin(r, b);
  if (r->rows == 1)
    return write ? clEnqueueWriteBuffer(m->handle, mem, CL_FALSE, r->offset,
                                        r->width, host, m->waits.n, list, slot)
                 : clEnqueueReadBuffer(m->handle, mem, CL_FALSE, r->offset,
                                       r->width, host, m->waits.n, list, slot);
  return write ? clEnqueueWriteBufferRect(m->handle, mem, CL_FALSE, b, h,
                                          region, r->pitch, r->slice, r->width,
                                          0, host, m->waits.n, list, slot)
               : clEnqueueReadBufferRect(m->handle, mem, CL_FALSE, b, h,
                                         region, r->pitch, r->slice, r->width,
                                         0, host, m->waits.n, list, slot);
}

/* Enqueues a read or a write between a region and dense host memory. */
static cl_int moveregion(bool write, const Transfer *m, cl_mem mem,
                         const Region *r, void *host, cl_event *slot) {
  cl_int err;
  do
    err = enqueueregion(write, m, mem, r, host, slot);
  while (clsh_heldmemory_retry(err));
  return err;
}

/*
** Gives a simulated device the whole memory anew, once the command `*slot` has
** written a part of it: Oclgrind takes the rest as never written after that.
** No command is waited for that waits itself for others.
*/
static cl_int settle(const Transfer *m, cl_mem mem, cl_int err,
                     const cl_event *slot) {
  size_t n = 0;
  if (err != CL_SUCCESS || !m->context->limits.simulated ||
      (m->async && m->waits.n > 0))
    return err;
  cl_mem whole = NULL; /* of a view */
  clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole,
                     NULL);
  mem = whole != NULL ? whole : mem;
  clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL);
  char *data = malloc(n);
  if (data == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  err =
      clEnqueueReadBuffer(m->handle, mem, CL_TRUE, 0, n, data, 1, slot, NULL);
  if (err == CL_SUCCESS)
    err = clEnqueueWriteBuffer(m->handle, mem, CL_TRUE, 0, n, data, 0, NULL,
                               NULL);
  free(data);
  return err;
}

/* The name of the call that moves a region. */
static const char *callname(bool write, const Region *r) {
  if (r->rows > 1)
    return write ? "clEnqueueWriteBufferRect" : "clEnqueueReadBufferRect";
  return write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer";
}

/* The pieces of one transfer, and the times and errors of its commands. */
typedef struct Pinned {
  Context *context;
  Queue *queue;
  Event *event;
  Pool *pool;
  size_t most;   /* bytes of a piece that are used */
  size_t done;   /* bytes whose commands are enqueued */
  cl_int status; /* of the first command that failed */
  cl_int err;    /* of a failed call; call: its name */
  const char *call;
  cl_ulong stamp[4];
  bool stamped, timeless; /* has times; a command has no times */
  unsigned long dropped;  /* the queue's field, before */
} Pinned;

/* The pool of a context, made at the first need; NULL: no memory. */
static Pool *findpool(lua_State *L, Context *c) {
  clsh_context_alive(L, c);
  if (c->pool == NULL)
    c->pool = clsh_pinned_new(c->handle, c->device);
  return c->pool;
}

/* Makes the pieces of a context for a copy that needs them. */
static void preparepinned(lua_State *L, Context *c) {
  if (findpool(L, c) == NULL)
    clsh_error(L, "copy: no host memory for %I bytes on the way",
               (LUAI_UACINT)(PIECES * PIECEBYTES));
}

/*
** Whether a transfer of `bytes` goes through pinned pieces: as option `pinned`
** says, else if it is large and waits, and device and host have memories of
** their own.
*/
static bool wantspinned(lua_State *L, int opts, const Transfer *m,
                        size_t bytes) {
  const Limits *l = &m->context->limits;
  bool fits = !m->async && !l->shared && !l->simulated && bytes >= LARGE;
  bool wanted = clsh_option_flag(L, opts, "pinned", fits);
  if (wanted && m->async)
    clsh_error(L, "pinned: the host takes part in the transfer, so the call "
                  "waits; leave async out");
  if (!wanted)
    return false;
  const Pool *p = findpool(L, m->context);
  return p != NULL && (p->pinned || !fits);
}

/* Adds the times of a command that has ended. */
static void addtimes(Pinned *x, cl_event handle) {
  cl_ulong t[4];
  if (!x->queue->profiled || !clsh_poll_times(handle, t)) {
    x->timeless = true;
    return;
  }
  for (int i = 0; i < 4; i++)
    if (!x->stamped || (i < 3 ? t[i] < x->stamp[i] : t[i] > x->stamp[i]))
      x->stamp[i] = t[i];
  x->stamped = true;
}

/*
** Waits for the command that uses a piece; true: a command did its work. After
** a Ctrl-C the next user of the piece waits for the command.
*/
static bool retire(lua_State *L, Pinned *x, Piece *p, bool times) {
  cl_int status;
  if (p->busy == NULL)
    return false;
  clsh_context_checkcommand(
      L, x->context, clsh_poll_event(L, p->busy, x->context->device, &status),
      "clGetEventInfo");
  if (status == CL_COMPLETE && clWaitForEvents(1, &p->busy) != CL_SUCCESS)
    status = CL_OUT_OF_RESOURCES;
  if (status == CL_COMPLETE && times)
    addtimes(x, p->busy);
  clReleaseEvent(p->busy);
  p->busy = NULL;
  if (status < 0 && x->status == CL_SUCCESS)
    x->status = status;
  return status == CL_COMPLETE;
}

/* Waits for commands that an interrupted transfer has left in the pieces. */
static void drain(lua_State *L, Pinned *x, Pool *pool) {
  for (int i = 0; i < PIECES; i++)
    retire(L, x, &pool->list[i], false);
  x->status = CL_SUCCESS;
}

/*
** Begins a transfer of `bytes` bytes whose Event is at the top. Until it ends
** the queue counts as a queue with commands without Events.
*/
static Pinned beginpinned(lua_State *L, const Transfer *m, size_t bytes) {
  Queue *q = clsh_queue_any(L, m->queue);
  Pinned x = {.context = m->context,
              .queue = q,
              .event = clsh_event_check(L, -1),
              .pool = m->context->pool,
              .most = bytes / 8,
              .dropped = q->dropped};
  x.most = x.most > PIECEBYTES ? PIECEBYTES : x.most < LEAST ? LEAST : x.most;
  q->dropped = ++q->commands;
  drain(L, &x, x.pool);
  return x;
}

/* Whether nothing has failed yet. */
static bool isfine(const Pinned *x) {
  return x->status == CL_SUCCESS && x->err == CL_SUCCESS;
}

/* Enqueues the command of a piece and hands it to the device. */
static void put(Pinned *x, bool write, const Transfer *m, cl_mem mem,
                const Region *part, void *data, cl_event *slot) {
  x->err = moveregion(write, m, mem, part, data, slot);
  x->call = callname(write, part);
  if (x->err == CL_SUCCESS)
    clFlush(m->handle);
}

/* Ends the Event after the end of all commands; raises a failure. */
static void finish(lua_State *L, Pinned *x, cl_command_type type) {
  x->queue->dropped = x->dropped;
  clsh_timeline_enqueued(L, x->event);
  clsh_timeline_call(x->event, 'b');
  clsh_event_join(x->event, type, x->err != CL_SUCCESS ? x->err : x->status,
                  x->stamped && !x->timeless ? x->stamp : NULL);
  clsh_context_checkcommand(L, x->context, x->err, x->call);
  clsh_event_wait(L, -1);
}

static cl_ulong nanoseconds(double since) {
  return (cl_ulong)((clsh_poll_now() - since) * 1e9);
}

/*
** Moves a region from or to host memory, and ends the Event, at the top. Its
** times are the times of the first and the last command, and of the host's
** copy before or behind these.
*/
static void movepinned(lua_State *L, bool write, const Transfer *m, cl_mem mem,
                       const Region *whole, void *host) {
  Pinned x = beginpinned(L, m, bytesof(whole));
  double last = clsh_poll_now();
  cl_ulong lead = 0;
  size_t touched = m->fresh ? 0 : bytesof(whole);
  for (int idle = 0, i = 0; idle < PIECES; i = (i + 1) % PIECES, idle++) {
    Region part;
    Piece *p = &x.pool->list[i];
    if (!write && p->busy != NULL && touched < p->at + p->bytes) {
      size_t rest = bytesof(whole) - touched;
      rest = rest < AHEAD ? rest : AHEAD;
      clsh_hostcopy_touch((char *)host + touched, rest);
      touched += rest;
    }
    if (retire(L, &x, p, true) && !write) {
      last = clsh_poll_now();
      clsh_hostcopy((char *)host + p->at, p->data, p->bytes);
    }
    p->at = x.done;
    if (!isfine(&x) || !nextpart(whole, x.most, &x.done, &part))
      continue;
    clsh_poll(L);
    p->bytes = x.done - p->at;
    if (write)
      clsh_hostcopy(p->data, (char *)host + p->at, p->bytes);
    lead = p->at == 0 ? nanoseconds(last) : lead;
    put(&x, write, m, mem, &part, p->data, &p->busy);
    idle = -1;
  }
  for (int i = 0; i < 3 && write; i++)
    x.stamp[i] -= lead < x.stamp[i] ? lead : 0;
  if (!write)
    x.stamp[3] += nanoseconds(last);
  finish(L, &x, write ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER);
}

/*
** Copies a region to another region of the same rows on another device, and
** ends the Event, of the first device. With `both` a piece of each context
** takes part, else a piece that both devices use. The devices have clocks of
** their own: the Event ends when the host has seen the last command end.
*/
static void copypieces(lua_State *L, const Transfer *m, cl_mem from,
                       const Region *r, const Transfer *target, cl_mem to,
                       const Region *place, bool both) {
  Pinned x = beginpinned(L, m, bytesof(r));
  Pool *second = both ? target->context->pool : x.pool;
  drain(L, &x, second);
  size_t written = 0;
  double start = clsh_poll_now();
  for (int idle = 0, i = 0; idle < PIECES + LAG;
       i = (i + 1) % PIECES, idle++) {
    Region part;
    int j = (i + PIECES - LAG) % PIECES;
    Piece *p = &x.pool->list[i], *q = &x.pool->list[j];
    retire(L, &x, &second->list[i], false);
    p->at = x.done;
    if (isfine(&x) && nextpart(r, x.most, &x.done, &part)) {
      clsh_poll(L);
      p->bytes = x.done - p->at;
      put(&x, false, m, from, &part, p->data, &p->busy);
      idle = -1;
    }
    if (written >= x.done || q->at != written || !retire(L, &x, q, true) ||
        !isfine(&x))
      continue;
    nextpart(place, x.most, &written, &part);
    if (both)
      clsh_hostcopy(second->list[j].data, q->data, q->bytes);
    put(&x, true, target, to, &part, second->list[j].data,
        &second->list[j].busy);
  }
  for (int i = 0; i < PIECES; i++) {
    retire(L, &x, &x.pool->list[i], false);
    retire(L, &x, &second->list[i], false);
  }
  x.stamp[3] = x.stamp[0] + nanoseconds(start);
  finish(L, &x, CL_COMMAND_COPY_BUFFER);
}

/* The box of `size` elements from `at` on, in up to three dimensions. */
static void box(lua_State *L, const Buffer *b, const size_t *at,
                const size_t *size, Region *r) {
  const Shape *s = &b->shape;
  int n = s->ndims, last = n - 1;
  size_t unit = b->type->size;
  for (int i = 0; i < n; i++)
    if (at[i] > s->dim[i] + 1 || size[i] > s->dim[i] - at[i] + 1)
      clsh_error(L, "part %s at %s leaves the buffer of %s",
                 clsh_shape_pushtext(L, size, n),
                 clsh_shape_pushtext(L, at, n),
                 clsh_shape_pushtext(L, s->dim, n));
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
  if (first > n + 1 || count > n - first + 1)
    clsh_error(L, "%I elements from %I on leave the buffer's 1..%I",
               (LUAI_UACINT)count, (LUAI_UACINT)first, (LUAI_UACINT)n);
  *r = (Region){.offset = b->shift + (first - 1) * b->type->size,
                .width = count * b->type->size,
                .rows = 1,
                .slices = 1,
                .pitch = count * b->type->size,
                .shape = {1, {count}, count}};
}

/* The elements of options first and count; false if neither is given. */
static bool checkelements(lua_State *L, const Buffer *b, int opts, Region *r) {
  size_t n = b->bytes / b->type->size;
  size_t first = clsh_option_size(L, opts, "first", 0);
  size_t count = 0, from = first != 0 ? first : 1;
  bool counted = clsh_option_push(L, opts, "count") != LUA_TNIL;
  if (!counted) /* behind the last element there is nothing to move */
    count = from <= n || n == 0 ? n - from + 1 : 1;
  else if (!clsh_option_whole(L, -1, 0, &count))
    clsh_error(L, "count: must be a whole number >= 0; got %s",
               clsh_option_got(L, -1));
  lua_pop(L, 1);
  linear(L, b, from, count, r);
  return first != 0 || counted;
}

/* The part of options first/count or from/size, else the whole buffer. */
static void checkregion(lua_State *L, const Buffer *b, int opts, Region *r) {
  const Shape *s = &b->shape;
  size_t at[MAXDIMS] = {1, 1, 1, 1}, size[MAXDIMS];
  int n = s->ndims <= MAXBOX ? s->ndims : MAXBOX;
  bool from = clsh_transfer_place(L, opts, "from", n, 1, at);
  bool sized = clsh_transfer_place(L, opts, "size", n, 0, size);
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
    size[i] = at[i] <= s->dim[i] || s->dim[i] == 0 ? s->dim[i] - at[i] + 1 : 1;
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
    clsh_transfer_place(L, opts, "to", s->ndims, 1, at);
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
  size_t a2 = a1 + reach(r), b2 = b1 + reach(to);
  return b->root == d->root && bytesof(r) > 0 && a1 < b2 && b1 < a2;
}

/*
** Raises unless the array can take or give exactly the region, or has room
** from option `at` on. Returns the bytes in front of it.
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

/* As clsh_transfer_begin, for a command on so many bytes of a Buffer. */
static Event *begin(lua_State *L, Buffer *b, Transfer *m, size_t bytes) {
  Event *e = clsh_transfer_begin(L, &b->head, m, bytes);
  clsh_buffer_use(b, clsh_queue_any(L, m->queue));
  return e;
}

/*
** The command of a transfer of no bytes, which drivers refuse: a marker.
*Pushes
** its Event.
*/
static int movenothing(lua_State *L, Buffer *b, Transfer *m) {
  Event *e = begin(L, b, m, 0);
  clsh_transfer_end(L, m,
                    clEnqueueMarkerWithWaitList(m->handle, m->waits.n,
                                                m->waits.list, &e->handle),
                    "clEnqueueMarkerWithWaitList");
  return 1;
}

/*
** Moves a region from or to the array at 2, `skip` bytes into it; pushes the
** Event.
*/
static void transfer(lua_State *L, bool write, Buffer *b, const Region *part,
                     size_t skip, Transfer *m) {
  const Region pieces = joined(part), *r = &pieces;
  if (bytesof(r) == 0) {
    movenothing(L, b, m);
    return;
  }
  bool pinned = wantspinned(L, 3, m, bytesof(r));
  Event *e = begin(L, b, m, bytesof(r));
  void *host = (char *)clsh_transfer_pin(L, e, 2) + skip;
  assert(e->pin->bytes >= skip + bytesof(r));
  if (pinned) {
    movepinned(L, write, m, b->handle, r, host);
    return;
  }
  cl_int err = moveregion(write, m, b->handle, r, host, &e->handle);
  if (write)
    err = settle(m, b->handle, err, &e->handle);
  clsh_transfer_end(L, m, err, callname(write, r));
}

static const char moveoptions[] =
    "queue async after first count from size at pinned";

/** Buffer:read([dst] [, opts]) -> Array
 * Copies the buffer, or a part of it, to host memory: into Array `dst`, or a
 * new Array. Gaps between rows stay behind. It waits for the data; with
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
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  clsh_transfer_shift(L);
  clsh_transfer_check(L, b->context, 3, moveoptions, &m);
  checkregion(L, b, 3, &r);
  if (lua_isnil(L, 2)) {
    bool old = false;
    clsh_array_unset(L, b->type, &r.shape, &old);
    lua_replace(L, 2);
    m.fresh = !old;
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
  clsh_array_setall(L, a, src);
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
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 3);
  clsh_transfer_check(L, b->context, 3, moveoptions, &m);
  checkregion(L, b, 3, &r);
  toarray(L, b, &r, 2);
  size_t skip = checkfit(L, b, &r, clsh_array_check(L, 2));
  transfer(L, true, b, &r, skip, &m);
  return 1;
}

/*
** Fills `width` bytes. Oclgrind gets them as a transfer: it would count filled
** bytes as never written.
*/
static cl_int fillrow(const Transfer *m, const Buffer *b, const char *pattern,
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
static cl_int fillrows(const Transfer *m, const Buffer *b, const char *pattern,
                       const Region *part, cl_event *slot) {
  const Region pieces = joined(part), *r = &pieces;
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
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 3);
  if (lua_istable(L, 2) && b->type->width == 1)
    clsh_error_arg(L, 2,
                   "must be a number; got a table; a Struct fills by field: "
                   "s:fill(b, {...})");
  clsh_type_element(L, 2, b->type, pattern);
  clsh_transfer_check(L, b->context, 3, "queue async after first count", &m);
  if (b->view)
    checkregion(L, b, 3, &r);
  else
    checkelements(L, b, 3, &r);
  if (bytesof(&r) == 0)
    return movenothing(L, b, &m);
  Event *e = begin(L, b, &m, bytesof(&r));
  cl_int err;
  do
    err = fillrows(&m, b, pattern, &r, &e->handle);
  while (clsh_heldmemory_retry(err));
  err = settle(&m, b->handle, err, &e->handle);
  clsh_transfer_end(L, &m, err, "clEnqueueFillBuffer");
  return 1;
}

/*
** Parts of two buffers as rows and slices of equal sizes; false: both parts
** are in one piece.
*/
static bool align(Region *from, Region *dest, const Region *r,
                  const Region *to) {
  *from = joined(r);
  *dest = joined(to);
  if (from->rows == 1 && dest->rows == 1)
    return false;
  *from = from->rows > 1 ? *r : laid(r, to);
  *dest = dest->rows > 1 ? *to : laid(to, r);
  assert(dest->width == from->width && dest->rows == from->rows);
  return true;
}

/* Copies by the driver, on a device or within a context. */
static cl_int enqueuecopy(const Transfer *m, const Buffer *b, const Region *r,
                          const Buffer *d, const Region *to, cl_event *slot) {
  size_t at[3], toat[3];
  Region from, dest;
  if (!align(&from, &dest, r, to))
    return clEnqueueCopyBuffer(m->handle, b->handle, d->handle, r->offset,
                               to->offset, from.width, m->waits.n,
                               m->waits.list, slot);
  const size_t region[3] = {from.width, from.rows, from.slices};
  origin(&from, at);
  origin(&dest, toat);
  return clEnqueueCopyBufferRect(m->handle, b->handle, d->handle, at, toat,
                                 region, from.pitch, from.slice, dest.pitch,
                                 dest.slice, m->waits.n, m->waits.list, slot);
}

/* Ways from one device to another. */
enum { DRIVER, ONEPIECE, BOTH };
static const char *const ways[] = {"driver", "piece", "pieces", NULL};

/*
** The way of a copy: option `way`, else, between two devices, the way that the
** hook copy_way gives.
*/
static int checkway(lua_State *L, const Buffer *b, const Buffer *d,
                    const Transfer *m, size_t bytes) {
  bool shares = clsh_context_shares(b->context, d->context);
  int way = shares ? DRIVER : ONEPIECE;
  clsh_option_push(L, 3, "way");
  if (lua_isnil(L, -1) && b->context->device != d->context->device &&
      !m->async && clsh_hook_push(L, "copy_way") == LUA_TFUNCTION) {
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
                  "takes part in it, so the call waits; leave async out");
  return way;
}

/*
** The queue of the writes into the Buffer at 2: option `to_queue`, else the
** default queue of its context.
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
                       const Region *to, Transfer *m, bool both) {
  Region from, dest;
  Transfer target = {.context = d->context};
  align(&from, &dest, r, to);
  target.handle = targetqueue(L, d);
  preparepinned(L, b->context);
  preparepinned(L, d->context);
  begin(L, b, m, bytesof(r));
  if (d->head.closed)
    clsh_error(L, "the target Buffer is closed");
  copypieces(L, m, b->handle, &from, &target, d->handle, &dest, both);
}

/** Buffer:copy(dst [, opts]) -> Event
 * Copies the buffer, or a part, into Buffer `dst` on the same device or on
 * another. Types must agree; parts must not overlap. Between devices it waits,
 * and goes the way that was fastest in a measurement, once for each pair.
 * Options as for Buffer:read but at, pinned.
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
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  Buffer *d = clsh_buffer_check(L, 2);
  lua_settop(L, 3);
  if (b->type != d->type)
    return clsh_error(L, "copy: from %s to %s", b->type->name, d->type->name);
  clsh_transfer_check(
      L, b->context, 3,
      "queue async after first count from size to way to_queue", &m);
  checkregion(L, b, 3, &r);
  checktarget(L, d, 3, &r, &to);
  if (meet(b, &r, d, &to))
    return clsh_error_call(L, CL_MEM_COPY_OVERLAP, "clEnqueueCopyBuffer",
                           "source and target share memory");
  if (bytesof(&r) == 0)
    return movenothing(L, b, &m);
  int way = checkway(L, b, d, &m, bytesof(&r));
  if (way != DRIVER) {
    copypinned(L, b, &r, d, &to, &m, way == BOTH);
    return 1;
  }
  Event *e = begin(L, b, &m, bytesof(&r));
  if (d->head.closed)
    return clsh_error(L, "the target Buffer is closed");
  clsh_buffer_use(d, clsh_queue_any(L, m.queue));
  cl_int err;
  do
    err = enqueuecopy(&m, b, &r, d, &to, &e->handle);
  while (clsh_heldmemory_retry(err));
  err = settle(&m, d->handle, err, &e->handle);
  clsh_transfer_end(L, &m, err,
                    r.rows > 1 || to.rows > 1 ? "clEnqueueCopyBufferRect"
                                              : "clEnqueueCopyBuffer");
  return 1;
}

/** Buffer:map([mode] [, opts]) -> Array
 * The buffer's memory, or a part, as a host Array, without a copy where the
 * device shares memory with the host. `mode`: "read_write", "read" or "write"
 * (the old content is not needed). Until the array is unmapped or closed no
 * kernel may use that part. A matrix with gaps maps as rows of `ld` elements.
 * With {async = true} it does not wait, and returns an Event as well: the
 * content is there once the Event has ended. Options as for Buffer:read but
 * from, size, at, pinned.
 * Example:
 * local b = cl.buffer("int", 4, 0)
 * local h <close> = b:map "read_write" -- unmapped where it is closed
 * h[1] = 5
 * b:unmap(h) -- or h:close()
 * print(b:read()[1]) --> 5
 */
static int buffer_map(lua_State *L) {
  Region r;
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  clsh_transfer_shift(L);
  cl_map_flags flags = clsh_mapping_flags(L, 2);
  clsh_transfer_check(L, b->context, 3, "queue async after first count", &m);
  checkelements(L, b, 3, &r);
  if (r.width == b->bytes && b->shape.ndims == 2 && !b->view)
    r.shape = (Shape){2, {b->shape.dim[0], b->ld}, r.shape.count};
  else if (r.width == b->shape.count * b->type->size)
    r.shape = b->shape;
  Array *a = clsh_array_box(L, b->type, &r.shape);
  Event *e = begin(L, b, &m, r.width);
  clsh_buffer_dontkeep(b); /* the Array that maps it may outlive it */
  Mapping *k = clsh_mapping_new(L, a, b->handle, &m, r.width);
  cl_int err;
  void *mapped = clEnqueueMapBuffer(
      m.handle, b->handle, CL_FALSE, flags, r.width > 0 ? r.offset : 0,
      r.width > 0 ? r.width : 1, m.waits.n, m.waits.list, &e->handle, &err);
  if (err == CL_SUCCESS)
    clsh_mapping_set(k, mapped);
  if (err == CL_SUCCESS && m.async)
    clsh_event_pin(e, a->block); /* an unmapping comes after the mapping */
  clsh_transfer_end(L, &m, err, "clEnqueueMapBuffer");
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
  Transfer m;
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 2);
  clsh_transfer_check(L, b->context, 2, "queue async after host discard", &m);
  m.async = clsh_option_flag(L, 2, "async", true);
  cl_mem_migration_flags flags =
      (clsh_option_flag(L, 2, "host", false) ? CL_MIGRATE_MEM_OBJECT_HOST
                                             : 0) |
      (clsh_option_flag(L, 2, "discard", false)
           ? CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
           : 0);
  Event *e = begin(L, b, &m, b->bytes);
  cl_int err = clEnqueueMigrateMemObjects(m.handle, 1, &b->handle, flags,
                                          m.waits.n, m.waits.list, &e->handle);
  if (err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clEnqueueMigrateMemObjects",
                    "the driver moves memory itself; leave the call out");
  clsh_transfer_end(L, &m, err, "clEnqueueMigrateMemObjects");
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
}
