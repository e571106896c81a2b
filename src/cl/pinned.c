/*
** pinned.c - large transfers through pinned pieces of host memory: while the
** device moves some of them, the host copies between others and its arrays.
** And copies between devices: one reads a piece while the other writes those
** before it.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>

#include "pool.h"
#include "process.h"
#include "region.h"

#define LARGE ((size_t)4 << 20) /* bytes, from which on a transfer gains */
#define LEAST                                                                 \
  ((size_t)1 << 20) /* bytes of a piece that are used, at least               \
                     */
#define LAG 2       /* pieces between a read and its write */

/* The pieces of one transfer, and what their commands tell of the whole. */
typedef struct Pinned {
  Context *context;
  Queue *queue;
  Event *event;
  Pool *pool;
  size_t most;   /* bytes of a piece that are used */
  size_t done;   /* bytes whose commands are enqueued */
  cl_int status; /* of the first command that failed */
  cl_int err;    /* of a call that failed, and its name */
  const char *call;
  cl_ulong stamp[4];
  bool stamped, timeless; /* there are times; a command has none */
  bool dropped;           /* of the queue, before */
} Pinned;

/* The pool of a context, made at the first need; NULL: no memory. */
static Pool *findpool(lua_State *L, Context *c) {
  clsh_context_alive(L, c);
  if (c->pool == NULL)
    c->pool = clsh_pool_new(c->handle, c->device);
  return c->pool;
}

/* Makes the pieces of a context for a copy that needs them. */
void clsh_pinned_prepare(lua_State *L, Context *c) {
  if (findpool(L, c) == NULL)
    clsh_error(L, "copy: no host memory for %I bytes on the way",
               (LUAI_UACINT)(PIECES * PIECE));
}

/*
** Whether a transfer of so many bytes goes through pinned pieces: option
** `pinned`, else large ones that wait, where device and host have memories of
** their own.
*/
bool clsh_pinned_wanted(lua_State *L, int opts, const Move *m, size_t bytes) {
  const Limits *l = &m->context->limits;
  bool fits = !m->async && !l->shared && !l->simulated && bytes >= LARGE;
  bool wanted = clsh_option_flag(L, opts, "pinned", fits);
  if (wanted && m->async)
    clsh_error(L, "pinned: the host takes part in such a transfer, so that it "
                  "waits; leave async out");
  if (!wanted)
    return false;
  const Pool *p = findpool(L, m->context);
  return p != NULL && (p->pinned || !fits);
}

/* Adds the times of a command that has ended. */
static void addtimes(Pinned *x, cl_event handle) {
  cl_ulong t[4];
  if (!x->queue->profiled || !clsh_event_times(handle, t)) {
    x->timeless = true;
    return;
  }
  for (int i = 0; i < 4; i++)
    if (!x->stamped || (i < 3 ? t[i] < x->stamp[i] : t[i] > x->stamp[i]))
      x->stamp[i] = t[i];
  x->stamped = true;
}

/*
** Waits for the command that uses a piece; true: there was one, and it did its
** work. A Ctrl-C leaves the command to whoever uses the piece next.
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

/* Waits for what a transfer that was cut off has left in the pieces. */
static void drain(lua_State *L, Pinned *x, Pool *pool) {
  for (int i = 0; i < PIECES; i++)
    retire(L, x, &pool->list[i], false);
  x->status = CL_SUCCESS;
}

/*
** Begins a transfer of so many bytes whose Event is at the top. Until it ends
** the queue counts as one with commands without Events.
*/
static Pinned begin(lua_State *L, const Move *m, size_t bytes) {
  Queue *q = clsh_queue_any(L, m->queue);
  Pinned x = {.context = m->context,
              .queue = q,
              .event = clsh_event_check(L, -1),
              .pool = m->context->pool,
              .most = bytes / 8,
              .dropped = q->dropped};
  x.most = x.most > PIECE ? PIECE : x.most < LEAST ? LEAST : x.most;
  q->dropped = true;
  drain(L, &x, x.pool);
  return x;
}

/* Whether nothing has failed yet. */
static bool isfine(const Pinned *x) {
  return x->status == CL_SUCCESS && x->err == CL_SUCCESS;
}

/* Enqueues the command of a piece and hands it to the device. */
static void put(Pinned *x, bool write, const Move *m, cl_mem mem,
                const Region *part, void *data, cl_event *slot) {
  x->err = clsh_region_move(write, m, mem, part, data, slot);
  x->call = clsh_region_call(write, part);
  if (x->err == CL_SUCCESS)
    clFlush(m->handle);
}

/* All commands have ended: so does the Event; a failure raises. */
static void finish(lua_State *L, Pinned *x, cl_command_type type) {
  x->queue->dropped = x->dropped;
  clsh_event_join(x->event, type, x->err != CL_SUCCESS ? x->err : x->status,
                  x->stamped && !x->timeless ? x->stamp : NULL);
  clsh_context_checkcommand(L, x->context, x->err, x->call);
  clsh_event_wait(L, -1);
}

static cl_ulong nanoseconds(double since) {
  return (cl_ulong)((clsh_poll_now() - since) * 1e9);
}

/*
** Moves a region from or to host memory; the Event, at the top, has ended
** then. Its times are those of the first and the last command, and of the
** host's copy before or behind these.
*/
void clsh_pinned_move(lua_State *L, bool write, const Move *m, cl_mem mem,
                      const Region *whole, void *host) {
  Pinned x = begin(L, m, clsh_region_bytes(whole));
  double last = clsh_poll_now();
  cl_ulong lead = 0;
  for (int idle = 0, i = 0; idle < PIECES; i = (i + 1) % PIECES, idle++) {
    Region part;
    Piece *p = &x.pool->list[i];
    if (retire(L, &x, p, true) && !write) {
      last = clsh_poll_now();
      clsh_hostcopy((char *)host + p->at, p->data, p->bytes);
    }
    p->at = x.done;
    if (!isfine(&x) || !clsh_region_next(whole, x.most, &x.done, &part))
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
** Copies a region to another of the same rows on another device; the Event, of
** the first device, has ended then. With `both` a piece of each context takes
** part, else one that both devices use. The devices have clocks of their own:
** the Event ends when the host has seen the last command end.
*/
void clsh_pinned_copy(lua_State *L, const Move *m, cl_mem from,
                      const Region *r, const Move *target, cl_mem to,
                      const Region *place, bool both) {
  Pinned x = begin(L, m, clsh_region_bytes(r));
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
    if (isfine(&x) && clsh_region_next(r, x.most, &x.done, &part)) {
      clsh_poll(L);
      p->bytes = x.done - p->at;
      put(&x, false, m, from, &part, p->data, &p->busy);
      idle = -1;
    }
    if (written >= x.done || q->at != written || !retire(L, &x, q, true) ||
        !isfine(&x))
      continue;
    clsh_region_next(place, x.most, &written, &part);
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
