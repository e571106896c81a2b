/*
** message.c - messages from rank to rank. In front of its elements each
** message has a header with their type and count; the receiver compares these
** with the type and count of its own value. Class Request: a message that is
** under way while the script goes on. It keeps the memory of its Array until
** the message is through, even if the Array is closed or the Request collected
** before.
** SPDX-License-Identifier: MIT
*/
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"

#define MARK 0x636c6d70 /* begins each header */

/* The rank at `arg`, and the tag behind it: `any` lets both be nil. */
static Peer checkpeer(lua_State *L, const Comm *c, int arg, bool any) {
  size_t tag = 0;
  void *bound = NULL;
  int found = 0;
  Peer p;
  p.rank = clsh_comm_torank(L, c, arg, any ? "from" : "to",
                            any ? MPI_ANY_SOURCE : MPI_UNDEFINED);
  p.tag = any ? MPI_ANY_TAG : 0;
  if (lua_isnoneornil(L, arg + 1))
    return p;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
  int most = found ? *(int *)bound : 32767;
  if (!clsh_option_whole(L, arg + 1, 0, &tag) || tag > (size_t)most)
    clsh_error_arg(L, arg + 1, "tag must be a whole number, 0 to %d; got %s",
                   most, clsh_option_got(L, arg + 1));
  p.tag = (int)tag;
  return p;
}

/* Transits that wait for their header, in the order in which they began. */
static Transit *waiting;

/* Whether both may take the same message. */
static bool rivals(const Transit *a, const Transit *b) {
  const Peer *p = &a->from, *q = &b->from;
  return a->comm == b->comm &&
         (p->rank == q->rank || p->rank == MPI_ANY_SOURCE ||
          q->rank == MPI_ANY_SOURCE) &&
         (p->tag == q->tag || p->tag == MPI_ANY_TAG || q->tag == MPI_ANY_TAG);
}

/* The type that a header tells of; NULL: no clshell of this version sent it */
static const Type *sent(const Header *h) {
  int n = 0;
  while (clsh_type_all[n].name != NULL)
    n++;
  return h->mark == MARK && h->type < n ? &clsh_type_all[h->type] : NULL;
}

/* Whether a header has the form, the type and the count of `x`. */
static bool fits(const Header *h, const Payload *x) {
  return h->mark == MARK && h->form == x->form &&
         (x->form == NUMBER || h->type == clsh_values_number(x->type)) &&
         (x->form == STRING || h->count == x->count);
}

/* Starts to receive unwanted elements, so that their sender goes on. */
static void drop(const Transit *t) {
  const Type *type = sent(&t->header);
  Transit *d =
      type != NULL ? clsh_transit_try(t->header.count * type->size) : NULL;
  if (d == NULL)
    return;
  Bulk b = clsh_values_bulk(type, t->header.count);
  d->receives = true;
  MPI_Irecv(d->scratch, b.n, b.type, t->from.rank, t->from.tag, t->elements,
            &d->request[0]);
  clsh_values_free(&b);
  d->left = true; /* no sweep now: it might end the transit that is tested */
}

/* Starts to receive the elements that follow a header. */
static void receiveelements(Transit *t) {
  if (!fits(&t->header, &t->payload)) {
    drop(t);
    return;
  }
  const Type *type = &clsh_type_all[t->header.type];
  Bulk b = clsh_values_bulk(type, t->header.count);
  if (t->payload.form == STRING)
    t->data = t->text = malloc(t->header.count + 1);
  if (t->data == NULL) {
    t->error = MPI_ERR_NO_MEM;
    return;
  }
  t->error = MPI_Irecv(t->data, b.n, b.type, t->from.rank, t->from.tag,
                       t->elements, &t->request[1]);
  clsh_values_free(&b);
}

/* Whether the header of a message has come; notes its sender and tag. */
static bool hasheader(Transit *t) {
  int done = 0;
  MPI_Status status;
  int error = MPI_Test(&t->request[0], &done, &status);
  if (error != MPI_SUCCESS)
    t->error = error;
  else if (done)
    t->from = (Peer){status.MPI_SOURCE, status.MPI_TAG};
  return done || error != MPI_SUCCESS;
}

/*
** Starts to receive the elements of messages whose headers have come. MPI
** hands out headers in the order of the transits that wait for them. The
** elements must follow in this order: of two transits that may take one
** message, the later waits for the earlier.
*/
static void sortmail(void) {
  Transit *first = waiting;
  waiting = NULL;
  for (Transit **end = &waiting, *t = first, *later; t != NULL; t = later) {
    bool blocked = false;
    later = t->later;
    if (t->request[0] != MPI_REQUEST_NULL && !hasheader(t))
      blocked = true;
    for (const Transit *o = waiting; o != NULL && !blocked; o = o->later)
      blocked = rivals(o, t);
    t->later = NULL;
    if (!blocked && t->error == MPI_SUCCESS)
      receiveelements(t);
    if (blocked) {
      *end = t;
      end = &t->later;
    }
  }
}

/* Whether the header of a message has come. */
static bool ready(Transit *t) {
  sortmail();
  for (const Transit *o = waiting; o != NULL; o = o->later)
    if (o == t)
      return false;
  t->ready = NULL;
  return true;
}

static void enqueue(Transit *t) {
  Transit **end = &waiting;
  while (*end != NULL)
    end = &(*end)->later;
  *end = t;
  t->ready = ready;
}

/* Returns a transit for `x` on a Comm; pushes nothing. */
static Transit *begin(lua_State *L, const Comm *c, const Payload *x, Peer peer,
                      bool receives) {
  Transit *t = clsh_transit_begin(L, 0);
  t->left = true; /* as long as errors may come */
  clsh_transit_hold(L, t, x);
  t->comm = c->handle;
  t->elements = c->elements;
  t->data = clsh_values_data(L, x);
  t->payload = *x;
  t->from = peer;
  t->receives = receives;
  t->on = (Await){c->members, peer.rank, receives, 0};
  t->left = false;
  return t;
}

/* Starts to send. */
static Transit *startsend(lua_State *L, const Comm *c, const Payload *x,
                          Peer to) {
  clsh_shared_sync();
  Transit *t = begin(L, c, x, to, false);
  Bulk b = clsh_values_bulk(x->type, x->count);
  t->header = (Header){MARK, (uint8_t)x->form,
                       (uint8_t)clsh_values_number(x->type), 0, x->count};
  int code = MPI_Isend(&t->header, sizeof t->header, MPI_BYTE, to.rank, to.tag,
                       c->handle, &t->request[0]);
  if (code == MPI_SUCCESS)
    code = MPI_Isend(t->data, b.n, b.type, to.rank, to.tag, c->elements,
                     &t->request[1]);
  clsh_values_free(&b);
  if (code != MPI_SUCCESS)
    clsh_transit_leave(t);
  clsh_comm_fault(L, code, "MPI_Isend");
  return t;
}

/* Starts to receive a value as long as `x`. */
static Transit *startreceive(lua_State *L, const Comm *c, const Payload *x,
                             Peer from) {
  Transit *t = begin(L, c, x, from, true);
  int code = MPI_Irecv(&t->header, sizeof t->header, MPI_BYTE, from.rank,
                       from.tag, c->handle, &t->request[0]);
  if (code == MPI_SUCCESS)
    enqueue(t);
  else
    clsh_transit_leave(t);
  clsh_comm_fault(L, code, "MPI_Irecv");
  return t;
}

/* Raises: the value that has come does not fit `x`. */
static int unfit(lua_State *L, const Outcome *o, const Payload *x) {
  const Header *h = &o->header;
  if (sent(h) == NULL)
    return clsh_error(L, "rank %d is no clshell of this version", o->from);
  return clsh_error(L, "recv: rank %d sent %s; this takes %s", o->from,
                    clsh_values_text(L, (Form)h->form, &clsh_type_all[h->type],
                                     (size_t)h->count),
                    x->form == STRING
                        ? "a string"
                        : clsh_values_text(L, x->form, x->type, x->count));
}

/* The value that recv fills: "string" stands for a string of any length. */
static Payload checktarget(lua_State *L, int arg) {
  Payload p = {STRING, clsh_type_find("char", 4), 0, 0, 0};
  if (lua_type(L, arg) != LUA_TSTRING)
    return clsh_values_get(L, arg, false);
  const char *word = lua_tostring(L, arg);
  if (strcmp(word, "string") != 0)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer, a number or the word "
                   "\"string\"; got the string '%s'",
                   word);
  return p;
}

/*
** Pushes the value that transit `t`, which is through, has received into `x`
** for the value at `arg`. Ends the transit.
*/
static Outcome pushreceived(lua_State *L, Transit *t, Payload x, int arg) {
  clsh_shared_sync();
  bool text = t->text != NULL && t->error == MPI_SUCCESS;
  if (text)
    lua_pushlstring(L, t->text, t->header.count);
  Outcome o = clsh_transit_outcome(t);
  clsh_comm_fault(L, o.error, "MPI_Irecv");
  if (!fits(&o.header, &x))
    unfit(L, &o, &x);
  if (x.form == NUMBER)
    x.type = &clsh_type_all[o.header.type];
  if (!text)
    clsh_values_finish(L, &x, arg);
  return o;
}

/** mpi.send(x, to [, tag])
 * Sends an Array, a Buffer, a number or a string to a rank, which takes it by
 * mpi.recv, and waits until `x` may be changed. The elements of a Buffer go
 * through host memory. `tag`: a whole number that tells messages apart, 0 by
 * default.
 * Example:
 * if mpi.rank() == 0 and mpi.size() > 1 then
 *   mpi.send(cl.array("float", 100):fill(1), 1)
 * elseif mpi.rank() == 1 then
 *   local x, from = mpi.recv(cl.array("float", 100), 0)
 *   print(x[100], from)
 * end
 */
static int comm_send(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, 3, &first);
  Peer to = checkpeer(L, c, first + 1, false);
  Payload x = clsh_values_get(L, first, true);
  Transit *t = startsend(L, c, &x, to);
  clsh_transit_wait(L, t);
  clsh_comm_fault(L, clsh_transit_outcome(t).error, "MPI_Isend");
  return 0;
}

/* Receives for the value at `arg`; pushes it, from, tag. */
static int receive(lua_State *L, const Comm *c, int arg, Peer from) {
  Payload x = checktarget(L, arg);
  Transit *t = startreceive(L, c, &x, from);
  clsh_transit_wait(L, t);
  Outcome o = pushreceived(L, t, x, arg);
  lua_pushinteger(L, o.from);
  lua_pushinteger(L, o.tag);
  return 3;
}

/** mpi.recv(x [, from [, tag]]) -> x, from, tag
 * Waits for a message and puts it into `x`, an Array or a Buffer of the type
 * and the number of elements that were sent. To receive a number pass any
 * number, to receive a string the word "string": the first result is the
 * value. Without `from` any rank may be the sender, without `tag` any tag
 * fits; the results tell both. A message of another type or count raises: the
 * error names the types and counts of the message and of `x`.
 * Example:
 * local to = (mpi.rank() + 1) % mpi.size()
 * local sent = mpi.isend("hello", to) -- recv takes it: send might wait
 * print((mpi.recv "string")) --> hello
 * sent:wait()
 */
static int comm_recv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, 3, &first);
  Peer from = checkpeer(L, c, first + 1, true);
  return receive(L, c, first, from);
}

/** mpi.sendrecv(x, to, y, from [, tag]) -> y, from, tag
 * Sends `x` and receives `y` at the same time, so that ranks which exchange
 * values never wait for each other in a circle. See mpi.send and mpi.recv.
 * Example:
 * local rank, size = mpi.rank(), mpi.size()
 * local x = cl.array("int", 4):fill(rank)
 * local y = mpi.sendrecv(x, (rank + 1) % size, cl.array("int", 4),
 *   (rank - 1) % size)
 * print(y[4] == (rank - 1) % size) --> true
 */
static int comm_sendrecv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, 5, &first);
  lua_pushvalue(L, first + 4); /* the tag, behind `to` too */
  lua_insert(L, first + 2);
  Peer to = checkpeer(L, c, first + 1, false);
  Peer from = checkpeer(L, c, first + 4, true);
  Payload x = clsh_values_get(L, first, true);
  Transit *t = startsend(L, c, &x, to);
  int n = receive(L, c, first + 3, from);
  clsh_transit_wait(L, t);
  clsh_comm_fault(L, clsh_transit_outcome(t).error, "MPI_Isend");
  return n;
}

/* A message that has come and is not yet received. */
typedef struct Found {
  const Comm *comm;
  Peer from;
  int error;
  MPI_Status header, elements;
} Found;

static bool hascome(void *arg) {
  Found *f = arg;
  int found = 0;
  f->error = MPI_Iprobe(f->from.rank, f->from.tag, f->comm->handle, &found,
                        &f->header);
  if (f->error != MPI_SUCCESS || !found)
    return f->error != MPI_SUCCESS;
  sortmail(); /* receives the elements of the messages before */
  f->error = MPI_Iprobe(f->header.MPI_SOURCE, f->header.MPI_TAG,
                        f->comm->elements, &found, &f->elements);
  return found || f->error != MPI_SUCCESS;
}

/** mpi.probe([from [, tag]]) -> from, tag, bytes
 * Waits for a message without receiving it. Returns its sender, its tag and
 * the number of bytes of its elements.
 * Example:
 * local sent = mpi.isend(cl.array("int", 25), mpi.rank(), 7)
 * local from, tag, bytes = mpi.probe()
 * print(tag, bytes) --> 7 100
 * mpi.recv(cl.array("int", bytes // 4), from, tag)
 * sent:wait()
 */
static int comm_probe(lua_State *L) {
  int first;
  MPI_Count n = 0;
  const Comm *c = clsh_comm_take(L, 2, &first);
  Found f = {.comm = c, .from = checkpeer(L, c, first, true)};
  const Await on = {c->members, f.from.rank, true, 0};
  clsh_transit_until(L, hascome, &f, &on);
  clsh_comm_fault(L, f.error, "MPI_Iprobe");
  MPI_Get_elements_x(&f.elements, MPI_BYTE, &n);
  lua_pushinteger(L, f.header.MPI_SOURCE);
  lua_pushinteger(L, f.header.MPI_TAG);
  lua_pushinteger(L, (lua_Integer)n);
  return 3;
}

typedef struct Request {
  Object head;
  Transit *transit; /* NULL: has ended */
  Payload x;        /* user value 1: its Array, user value 2: the value */
  bool failed;
} Request;

static void request_release(Object *o) {
  Request *r = (Request *)o;
  if (r->transit != NULL)
    clsh_transit_leave(r->transit);
  r->transit = NULL;
}

static const Class class;

/* Pushes a Request for `x`, whose value is at `arg`. */
static Request *new (lua_State *L, const Payload *x, int arg) {
  Request *r = clsh_class_new(L, &class, 2);
  r->x = *x;
  if (x->array != 0) {
    lua_pushvalue(L, x->array);
    lua_setiuservalue(L, -2, 1);
  }
  lua_pushvalue(L, arg);
  lua_setiuservalue(L, -2, 2);
  return r;
}

/* Mapped memory may go while MPI uses it. */
static void checkmapped(lua_State *L, int arg) {
  const Array *a = clsh_array_test(L, arg);
  if (a != NULL && clsh_array_mapped(a))
    clsh_error_arg(L, arg,
                   "this Array is mapped memory, which may go before the "
                   "message is through; pass h:copy()");
}

/** mpi.isend(x, to [, tag]) -> Request
 * Begins to send, and returns at once: `r:wait()` waits until `x` may be
 * changed. The elements of a Buffer are read before isend returns. See
 * mpi.send.
 * Example: as for mpi.recv
 */
static int comm_isend(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, 3, &first);
  Peer to = checkpeer(L, c, first + 1, false);
  checkmapped(L, first);
  Payload x = clsh_values_get(L, first, true);
  Request *r = new (L, &x, first);
  r->transit = startsend(L, c, &x, to);
  return 1;
}

/** mpi.irecv(x [, from [, tag]]) -> Request
 * Begins to receive, and returns at once: `r:wait()` gives the received value,
 * and raises if its type or count differs from the type or count of `x`. A
 * Buffer is filled during that wait. See mpi.recv.
 * Example:
 * local coming = mpi.irecv(cl.array("double", 8), mpi.rank())
 * mpi.send(cl.array("double", 8):fill(2), mpi.rank())
 * print(coming:wait()[8]) --> 2.0
 */
static int comm_irecv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, 3, &first);
  Peer from = checkpeer(L, c, first + 1, true);
  checkmapped(L, first);
  Payload x = checktarget(L, first);
  Request *r = new (L, &x, first);
  r->transit = startreceive(L, c, &x, from);
  return 1;
}

/* Notes the end of the message of a Request, at 1: its value is there. */
static void endrequest(lua_State *L, Request *r) {
  Transit *t = r->transit;
  if (t == NULL)
    return;
  r->transit = NULL;
  r->failed = true;
  if (t->receives) {
    lua_getiuservalue(L, 1, 2);
    lua_getiuservalue(L, 1, 1);
    r->x.array = r->x.array != 0 ? lua_gettop(L) : 0;
    pushreceived(L, t, r->x, lua_gettop(L) - 1);
    lua_setiuservalue(L, 1, 2);
  } else
    clsh_comm_fault(L, clsh_transit_outcome(t).error, "MPI_Isend");
  r->failed = false;
}

/* Waits for the Request at 1; pushes its value. */
static void wait(lua_State *L) {
  Request *r = clsh_class_check(L, 1, &class);
  if (r->transit != NULL)
    clsh_transit_await(L, r->transit);
  endrequest(L, r);
  if (r->failed)
    clsh_error(L, "this Request has failed before");
  lua_getiuservalue(L, 1, 2);
}

/** Request:wait() -> x
 * Waits until the message is through: then a sent value may be changed, and a
 * received value is complete. A second wait gives the same value.
 * Example: as for mpi.irecv
 */
static int request_wait(lua_State *L) {
  lua_settop(L, 1);
  wait(L);
  return 1;
}

/** Request:test() -> boolean
 * Whether the message is through, without a wait. Messages also move on
 * during such calls.
 * Example:
 * local coming = mpi.irecv(0, mpi.rank())
 * print(coming:test()) --> false
 * mpi.send(1, mpi.rank())
 * print(coming:wait(), coming:test()) --> 1 true
 */
static int request_test(lua_State *L) {
  Request *r = clsh_class_check(L, 1, &class);
  lua_settop(L, 1);
  bool done = r->transit == NULL || clsh_transit_test(r->transit);
  if (done)
    endrequest(L, r);
  else
    sched_yield(); /* a loop of tests may run on the sender's core */
  lua_pushboolean(L, done);
  return 1;
}

/** mpi.wait_all(requests) -> list
 * Waits for all Requests of a list, and gives the list of their values.
 * Example:
 * local coming = {mpi.irecv(0, mpi.rank(), 1), mpi.irecv(0, mpi.rank(), 2)}
 * mpi.send(20, mpi.rank(), 2)
 * mpi.send(10, mpi.rank(), 1)
 * local values = mpi.wait_all(coming)
 * print(values[1], values[2]) --> 10 20
 */
static int mpi_wait_all(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_newtable(L);
  for (lua_Integer i = 1; lua_geti(L, 1, i) != LUA_TNIL; i++) {
    lua_pushcfunction(L, request_wait);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    lua_seti(L, 2, i);
  }
  lua_settop(L, 2);
  return 1;
}

static int request_tostring(lua_State *L) {
  const Request *r = clsh_class_any(L, 1, &class);
  lua_pushfstring(L, "Request%s",
                  r->head.closed       ? " (closed)"
                  : r->transit != NULL ? ": under way"
                                       : ": through");
  return 1;
}

static const luaL_Reg methods[] = {
    {"test", request_test}, {"wait", request_wait}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", request_tostring},
                                {NULL, NULL}};
static const Class class = {"Request", sizeof(Request), methods, NULL, meta,
                            NULL,      request_release};

void clsh_message_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"irecv", comm_irecv}, {"isend", comm_isend},
      {"probe", comm_probe}, {"recv", comm_recv},
      {"send", comm_send},   {"sendrecv", comm_sendrecv},
      {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_comm_add(L, functions);
  lua_pushcfunction(L, mpi_wait_all);
  lua_setfield(L, 1, "wait_all");
}
