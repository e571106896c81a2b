/*
** request.c - class Request: a message that is under way while the script
** goes on. It keeps the memory of its Array until the message is through,
** also where the Array is closed or the Request collected before.
** SPDX-License-Identifier: MIT
*/
#include <sched.h>

#include "comm.h"

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
  lua_pushvalue(L, x->array);
  lua_setiuservalue(L, -2, 1);
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
 * changed. What a Buffer holds is read before. See mpi.send.
 * Example: as for mpi.recv
 */
static int comm_isend(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 2);
  Peer to = clsh_message_peer(L, c, first + 1, false);
  checkmapped(L, first);
  Payload x = clsh_payload_get(L, first, true);
  Request *r = new (L, &x, first);
  r->transit = clsh_message_send(L, c, &x, to);
  return 1;
}

/** mpi.irecv(x [, from [, tag]]) -> Request
 * Begins to receive, and returns at once: `r:wait()` gives what has come, and
 * raises where it is of another type or count than `x`. A Buffer gets it by
 * that wait. See mpi.recv.
 * Example:
 * local coming = mpi.irecv(cl.array("double", 8), mpi.rank())
 * mpi.send(cl.array("double", 8):fill(2), mpi.rank())
 * print(coming:wait()[8]) --> 2.0
 */
static int comm_irecv(lua_State *L) {
  int first;
  const Comm *c = clsh_comm_take(L, &first);
  lua_settop(L, first + 2);
  Peer from = clsh_message_peer(L, c, first + 1, true);
  checkmapped(L, first);
  Payload x = clsh_message_target(L, first);
  Request *r = new (L, &x, first);
  r->transit = clsh_message_receive(L, c, &x, from);
  return 1;
}

/* Notes the end of the message of a Request, at 1: its value is there. */
static void finish(lua_State *L, Request *r) {
  Transit *t = r->transit;
  if (t == NULL)
    return;
  r->transit = NULL;
  r->failed = true;
  if (t->receives) {
    lua_getiuservalue(L, 1, 2);
    lua_getiuservalue(L, 1, 1);
    r->x.array = r->x.array != 0 ? lua_gettop(L) : 0;
    clsh_message_finish(L, t, r->x, lua_gettop(L) - 1);
    lua_setiuservalue(L, 1, 2);
  } else
    clsh_fault_check(L, clsh_transit_outcome(t).error, "MPI_Isend");
  r->failed = false;
}

/* Waits for the Request at 1; pushes its value. */
static void wait(lua_State *L) {
  Request *r = clsh_class_check(L, 1, &class);
  if (r->transit != NULL)
    clsh_transit_await(L, r->transit);
  finish(L, r);
  if (r->failed)
    clsh_error(L, "this Request has failed before");
  lua_getiuservalue(L, 1, 2);
}

/** Request:wait() -> x
 * Waits until the message is through: what was sent may be changed, what was
 * received is there. A second wait gives the same.
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
    finish(L, r);
  else
    sched_yield(); /* who asks again and again may be on the sender's core */
  lua_pushboolean(L, done);
  return 1;
}

/** mpi.wait_all(requests) -> list
 * Waits for all Requests of a list; the values that their waits give.
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

void clsh_request_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"irecv", comm_irecv}, {"isend", comm_isend}, {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_comm_add(L, functions);
  lua_pushcfunction(L, mpi_wait_all);
  lua_setfield(L, 1, "wait_all");
}
