/*
** message.c - messages from rank to rank. In front of the elements each has a
** header with their type and count, which the receiver compares with its own.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "cl/process.h"
#include "comm.h"

#define MARK 0x636c6d70 /* begins each header */
#define MOST (1 << 20)  /* bytes of an unfit message to look into */

static int numberof(const Type *t) {
  return (int)(t - clsh_type_all);
}

/* The rank at `arg`, and the tag behind it: `any` lets both be nil. */
Peer clsh_message_peer(lua_State *L, const Comm *c, int arg, bool any) {
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

/* A type of MPI: the header, and `count` elements at `data` behind it. */
static MPI_Datatype letter(Header *h, void *data, const Type *t,
                           size_t count) {
  MPI_Datatype type;
  Bulk b = clsh_datatype_bulk(t, count);
  int lengths[] = {(int)sizeof *h, b.n};
  MPI_Aint places[2] = {0, 0};
  MPI_Datatype types[] = {MPI_BYTE, b.type};
  MPI_Get_address(h, &places[0]);
  if (count > 0)
    MPI_Get_address(data, &places[1]);
  MPI_Type_create_struct(count > 0 ? 2 : 1, lengths, places, types, &type);
  MPI_Type_commit(&type);
  clsh_datatype_free(&b);
  return type;
}

/* Starts to send. */
Transit *clsh_message_send(lua_State *L, const Comm *c, const Payload *x,
                           Peer to) {
  Transit *t = clsh_transit_begin(L, 0);
  clsh_transit_hold(L, t, x);
  t->header = (Header){MARK, (uint8_t)x->form, (uint8_t)numberof(x->type), 0,
                       x->count};
  MPI_Datatype type =
      letter(&t->header, clsh_payload_data(L, x), x->type, x->count);
  int code =
      MPI_Isend(MPI_BOTTOM, 1, type, to.rank, to.tag, c->handle, &t->request);
  MPI_Type_free(&type);
  if (code != MPI_SUCCESS)
    clsh_transit_leave(t);
  clsh_fault_check(L, code, "MPI_Isend");
  return t;
}

/* Starts to receive what is as long as `x`. */
Transit *clsh_message_receive(lua_State *L, const Comm *c, const Payload *x,
                              Peer from) {
  Transit *t = clsh_transit_begin(L, 0);
  clsh_transit_hold(L, t, x);
  t->receives = true;
  MPI_Datatype type =
      letter(&t->header, clsh_payload_data(L, x), x->type, x->count);
  int code = MPI_Irecv(MPI_BOTTOM, 1, type, from.rank, from.tag, c->handle,
                       &t->request);
  MPI_Type_free(&type);
  if (code != MPI_SUCCESS)
    clsh_transit_leave(t);
  clsh_fault_check(L, code, "MPI_Irecv");
  return t;
}

/* Whether what a header tells of is what `x` is. */
static bool fits(const Header *h, const Payload *x) {
  return h->mark == MARK && h->form == x->form &&
         (x->form == NUMBER || h->type == numberof(x->type)) &&
         (x->form == STRING || h->count == x->count);
}

/* Raises: what has come is not what `x` is. */
static void unfit(lua_State *L, const Header *h, int from, const Payload *x,
                  const char *call) {
  const char *own = clsh_payload_text(L, x->form, x->type, x->count);
  if (x->form == STRING)
    own = "a string";
  if (h->mark != MARK || h->type >= numberof(clsh_type_find("ulong16", 7)) + 1)
    clsh_error(L, "%s: rank %d sent another amount; this takes %s", call, from,
               own);
  clsh_error(L, "%s: rank %d sent %s; this takes %s", call, from,
             clsh_payload_text(L, (Form)h->form, &clsh_type_all[h->type],
                               (size_t)h->count),
             own);
}

/* Raises unless what has been received is what `x` is. */
void clsh_message_check(lua_State *L, const Outcome *o, const Payload *x,
                        const char *call) {
  int class = MPI_SUCCESS;
  if (o->error != MPI_SUCCESS)
    MPI_Error_class(o->error, &class);
  if (class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE)
    clsh_fault_check(L, o->error, call);
  if (class == MPI_ERR_TRUNCATE || !fits(&o->header, x))
    unfit(L, &o->header, o->from, x, call);
}

/* A message that has arrived and waits to be received. */
typedef struct Found {
  const Comm *comm;
  Peer from;
  bool take;
  int found, error;
  MPI_Message message;
  MPI_Status status;
} Found;

static bool hascome(void *arg) {
  Found *f = arg;
  f->error = f->take ? MPI_Improbe(f->from.rank, f->from.tag, f->comm->handle,
                                   &f->found, &f->message, &f->status)
                     : MPI_Iprobe(f->from.rank, f->from.tag, f->comm->handle,
                                  &f->found, &f->status);
  return f->found || f->error != MPI_SUCCESS;
}

/* Waits for a message; returns the bytes behind its header. */
static size_t await(lua_State *L, Found *f) {
  MPI_Count n = 0;
  clsh_poll_until(L, hascome, f, NULL);
  clsh_fault_check(L, f->error, "MPI_Improbe");
  MPI_Get_elements_x(&f->status, MPI_BYTE, &n);
  return n < (MPI_Count)sizeof(Header) ? 0 : (size_t)n - sizeof(Header);
}

/* Takes a message of the wrong length, and raises what it is. */
static void refuse(lua_State *L, Found *f, size_t bytes, const Payload *x,
                   const char *call) {
  Header h = {0, 0, 0, 0, 0};
  char *copy = bytes <= MOST ? malloc(bytes + sizeof h) : NULL;
  if (copy != NULL) {
    MPI_Mrecv(copy, (int)(bytes + sizeof h), MPI_BYTE, &f->message,
              MPI_STATUS_IGNORE);
    memcpy(&h, copy, sizeof h);
    free(copy);
  }
  unfit(L, &h, f->status.MPI_SOURCE, x, call);
}

/* Receives the message that was found into `x`, of as many bytes. */
static void takein(lua_State *L, Found *f, Payload *x, const char *call) {
  Transit *t = clsh_transit_begin(L, 0);
  clsh_transit_hold(L, t, x);
  t->receives = true;
  MPI_Datatype type =
      letter(&t->header, clsh_payload_data(L, x), x->type, x->count);
  t->error = MPI_Imrecv(MPI_BOTTOM, 1, type, &f->message, &t->request);
  MPI_Type_free(&type);
  clsh_transit_wait(L, t);
  Outcome o = clsh_transit_outcome(t);
  clsh_message_check(L, &o, x, call);
  if (x->form == NUMBER)
    x->type = &clsh_type_all[o.header.type];
}

/* The value that recv fills: "string" stands for one of any length. */
static Payload target(lua_State *L, int arg) {
  Payload p = {STRING, clsh_type_find("char", 4), 0, 0, 0};
  if (lua_type(L, arg) == LUA_TNUMBER || lua_type(L, arg) != LUA_TSTRING)
    return clsh_payload_get(L, arg, false);
  const char *word = lua_tostring(L, arg);
  if (strcmp(word, "string") != 0)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer, a number or the word "
                   "\"string\"; got the string '%s'",
                   word);
  return p;
}

/** mpi.send(x, to [, tag])
 * Sends an Array, a Buffer, a number or a string to a rank, which takes it by
 * mpi.recv, and waits until `x` may be changed. The elements of a Buffer go
 * through host memory. `tag`: a whole number that tells messages apart, 0 by
 * default. Also: Comm:send, to a rank of the Comm.
 */
static int comm_send(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 2);
  Peer to = clsh_message_peer(L, c, first + 1, false);
  Payload x = clsh_payload_get(L, first, true);
  Transit *t = clsh_message_send(L, c, &x, to);
  clsh_transit_wait(L, t);
  clsh_fault_check(L, clsh_transit_outcome(t).error, "MPI_Isend");
  return 0;
}

/* Receives from a rank into `x`; pushes x, from, tag. */
static int receive(lua_State *L, const Comm *c, Payload *x, Peer from) {
  Found f = {.comm = c, .from = from, .take = true};
  size_t bytes = await(L, &f);
  if (x->form == STRING) {
    Shape s = {1, {bytes}, bytes};
    *x = clsh_payload_new(L, STRING, x->type, &s);
  } else if (bytes != x->count * x->type->size)
    refuse(L, &f, bytes, x, "recv");
  takein(L, &f, x, "recv");
  clsh_payload_finish(L, x);
  lua_pushinteger(L, f.status.MPI_SOURCE);
  lua_pushinteger(L, f.status.MPI_TAG);
  return 3;
}

/** mpi.recv(x [, from [, tag]]) -> x, from, tag
 * Waits for a message and puts it into `x`, an Array or a Buffer of the type
 * and the number of elements that were sent. For a number `x` is any number,
 * for a string the word "string": the first result is what came. Without
 * `from` the message is of any rank, without `tag` of any tag; the results
 * tell which. Another type or count raises with both. Also: Comm:recv
 */
static int comm_recv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 2);
  Peer from = clsh_message_peer(L, c, first + 1, true);
  Payload x = target(L, first);
  return receive(L, c, &x, from);
}

/** mpi.sendrecv(x, to, y, from [, tag]) -> y, from, tag
 * Sends `x` and receives `y` at the same time, so that ranks which exchange
 * values never wait for each other in a circle. See mpi.send and mpi.recv.
 * Also: Comm:sendrecv
 */
static int comm_sendrecv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 4);
  lua_pushvalue(L, first + 4); /* the tag, behind `to` too */
  lua_insert(L, first + 2);
  Peer to = clsh_message_peer(L, c, first + 1, false);
  Peer from = clsh_message_peer(L, c, first + 4, true);
  Payload x = clsh_payload_get(L, first, true);
  Payload y = target(L, first + 3);
  Transit *t = clsh_message_send(L, c, &x, to);
  int n = receive(L, c, &y, from);
  clsh_transit_wait(L, t);
  clsh_fault_check(L, clsh_transit_outcome(t).error, "MPI_Isend");
  return n;
}

/** mpi.probe([from [, tag]]) -> from, tag, bytes
 * Waits for a message without receiving it: of whom it is, its tag, and how
 * many bytes its elements take. Also: Comm:probe
 */
static int comm_probe(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 1);
  Found f = {.comm = c, .from = clsh_message_peer(L, c, first, true)};
  size_t bytes = await(L, &f);
  lua_pushinteger(L, f.status.MPI_SOURCE);
  lua_pushinteger(L, f.status.MPI_TAG);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 3;
}

void clsh_message_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"probe", comm_probe},
                                       {"recv", comm_recv},
                                       {"send", comm_send},
                                       {"sendrecv", comm_sendrecv},
                                       {NULL, NULL}};
  clsh_comm_add(L, functions);
}
