/*
** movement.c - values of all ranks moved among them: bcast, gather, scatter,
** alltoall.
** SPDX-License-Identifier: MIT
*/
#include "collective.h"

/* What a rank other than the root says of its `x`: not what it will be. */
static void offerplace(Call *c, const Payload *x) {
  int64_t *at = c->terms.at;
  at[FORM] = x->form;
  if (x->form != ARRAY)
    return;
  at[TYPE] = clsh_agree_number(x->type);
  at[COUNT] = (int64_t)x->count;
}

/** mpi.bcast(x [, root]) -> x
 * Gives the value of rank `root`, 0 by default, to all: an Array or a Buffer
 * of the same type and count on each rank is filled in place. Where the other
 * ranks pass nil they get a new Array, and so numbers and strings: `name =
 * mpi.bcast(name)`.
 * Example:
 * local x = cl.array("float", 3):fill(mpi.rank())
 * print(mpi.bcast(x)[1]) --> 0.0
 */
static int comm_bcast(lua_State *L) {
  Call c = clsh_agree_begin(L, BCAST, 2);
  Payload x = {NONE, NULL, 0, 0, 0};
  clsh_agree_root(L, &c, c.first + 1);
  bool isroot = c.root == c.comm->rank;
  if (isroot || !lua_isnil(L, c.first))
    x = clsh_payload_get(L, c.first, isroot);
  if (isroot)
    clsh_agree_offer(L, &c, &x, true);
  else if (x.form != NONE)
    offerplace(&c, &x);
  clsh_agree_reach(L, &c);
  if (!isroot && x.form != ARRAY) {
    Shape s = clsh_agree_shape(&c);
    x = clsh_payload_new(L, (Form)c.terms.at[FORM],
                         clsh_agree_type(c.terms.at[TYPE]), &s);
  }
  if (x.count > 0) {
    Transit *t = clsh_transit_begin(L, 0);
    clsh_transit_hold(L, t, &x);
    Bulk b = clsh_datatype_bulk(x.type, x.count);
    int code = MPI_Ibcast(clsh_payload_data(L, &x), b.n, b.type, c.root,
                          c.comm->handle, &t->request[0]);
    clsh_datatype_free(&b);
    clsh_transit_run(L, t, code, "MPI_Ibcast");
  }
  if (isroot)
    lua_pushvalue(L, c.first);
  else
    clsh_payload_finish(L, &x, x.buffer ? c.first : x.array);
  return 1;
}

/* Moves `count` elements of each rank, to or from each, as the call says. */
static int moveall(const Call *c, const Type *t, size_t count, const void *in,
                   void *out, MPI_Request *request) {
  Bulk b = clsh_datatype_bulk(t, count);
  MPI_Comm comm = c->comm->handle;
  int code = MPI_SUCCESS;
  switch (c->terms.at[CALL]) {
  case ALLGATHER:
    code = MPI_Iallgather(in, b.n, b.type, out, b.n, b.type, comm, request);
    break;
  case ALLTOALL:
    code = MPI_Ialltoall(in, b.n, b.type, out, b.n, b.type, comm, request);
    break;
  case GATHER:
    code =
        MPI_Igather(in, b.n, b.type, out, b.n, b.type, c->root, comm, request);
    break;
  default:
    code = MPI_Iscatter(in, b.n, b.type, out, b.n, b.type, c->root, comm,
                        request);
  }
  clsh_datatype_free(&b);
  return code;
}

/* The same, from `x` to `to`, either of which may be none. */
static void transfer(lua_State *L, const Call *c, const Type *type,
                     size_t count, const Payload *x, const Payload *to) {
  Transit *t = clsh_transit_begin(L, 0);
  clsh_transit_hold(L, t, x);
  clsh_transit_hold(L, t, to);
  void *out = to->array != 0 ? clsh_result_place(L, x, to) : NULL;
  int code =
      moveall(c, type, count, clsh_payload_data(L, x), out, &t->request[0]);
  clsh_transit_run(L, t, code, c->name);
}

/* Raises: strings have no shape to gather or to part. */
static Payload notext(lua_State *L, int arg) {
  Payload x = clsh_payload_get(L, arg, true);
  if (x.form == STRING)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer or a number; got a "
                   "string, which send and recv move");
  return x;
}

/* gather and allgather, whose options are at `opts`. */
static int gathering(lua_State *L, Call *c, int opts) {
  Payload x = notext(L, c->first);
  clsh_agree_offer(L, c, &x, false);
  Shape s = *clsh_payload_shape(L, &x);
  s.dim[0] *= (size_t)c->comm->size;
  s.count *= (size_t)c->comm->size;
  Result r = clsh_result_agree(L, c, opts, &x, ARRAY, s);
  transfer(L, c, x.type, x.count, &x, &r.p);
  return clsh_result_finish(L, &r, &x, c->first);
}

/** mpi.gather(x [, root [, opts]]) -> y, or nil
 * Puts `x` of all ranks, in the order of the ranks, into one value on rank
 * `root`, 0 by default: {m, n} of each of p ranks gives {p * m, n}, a number
 * of each an Array of p. The others get nil. All pass the same type and
 * count.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example:
 * local y = mpi.gather(mpi.rank())
 * print(mpi.rank() > 0 or y[mpi.size()] == mpi.size() - 1) --> true
 */
static int comm_gather(lua_State *L) {
  Call c = clsh_agree_begin(L, GATHER, 3);
  clsh_agree_root(L, &c, c.first + 1);
  return gathering(L, &c, c.first + 2);
}

/** mpi.allgather(x [, opts]) -> y
 * As mpi.gather, and all ranks get the result.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example:
 * local y = mpi.allgather(cl.array("float", {2, 3}))
 * print(y.rows == 2 * mpi.size(), y.cols) --> true 3
 */
static int comm_allgather(lua_State *L) {
  Call c = clsh_agree_begin(L, ALLGATHER, 2);
  c.root = MPI_UNDEFINED;
  return gathering(L, &c, c.first + 1);
}

/* Raises unless the first extent can be parted among the ranks. */
static void checkparts(lua_State *L, const Call *c, const Shape *s) {
  int n = c->comm->size;
  if (s->dim[0] % (size_t)n != 0)
    clsh_error(L,
               "%s: %I rows (the first extent) do not part into %d equal "
               "shares; pad them to %I",
               c->name, (LUAI_UACINT)s->dim[0], n,
               (LUAI_UACINT)((s->dim[0] / (size_t)n + 1) * (size_t)n));
}

static void checkarray(lua_State *L, int arg, const Payload *x) {
  if (x->form != ARRAY)
    clsh_error_arg(L, arg, "must be an Array or a Buffer; got a %s",
                   luaL_typename(L, arg));
}

/** mpi.scatter(x [, root [, opts]]) -> y
 * Parts `x` of rank `root`, 0 by default, among all ranks in their order: of
 * {p * m, n} each of p ranks gets {m, n}. The others pass nil, or what the
 * root passes. They get a Buffer if they pass one.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example:
 * local all = mpi.rank() == 0 and cl.array("int", {mpi.size(), 4}, 5) or nil
 * local mine = mpi.scatter(all)
 * print(mine.rows, mine[4]) --> 1 5
 */
static int comm_scatter(lua_State *L) {
  Call c = clsh_agree_begin(L, SCATTER, 3);
  Payload x = {NONE, NULL, 0, 0, 0}, none = x;
  clsh_agree_root(L, &c, c.first + 1);
  bool isroot = c.root == c.comm->rank;
  if (isroot || !lua_isnil(L, c.first)) {
    x = clsh_payload_get(L, c.first, isroot);
    checkarray(L, c.first, &x);
    clsh_agree_offer(L, &c, &x, isroot);
  }
  clsh_agree_reach(L, &c);
  Shape s = clsh_agree_shape(&c);
  checkparts(L, &c, &s);
  s.dim[0] /= (size_t)c.comm->size;
  s.count /= (size_t)c.comm->size;
  const Type *type = clsh_agree_type(c.terms.at[TYPE]);
  Result r = clsh_result_new(L, c.first + 2, ARRAY, type, &s);
  transfer(L, &c, type, s.count, isroot ? &x : &none, &r.p);
  return clsh_result_finish(L, &r, &x, c.first);
}

/** mpi.alltoall(x [, opts]) -> y
 * Each rank gives each other one a share of `x`: of {p * m, n} the m rows
 * number i go to rank i, and in the result, of the same shape, the m rows
 * number i are of rank i.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example:
 * local x = cl.array("int", mpi.size()):fill(mpi.rank())
 * print(mpi.alltoall(x)[mpi.size()] == mpi.size() - 1) --> true
 */
static int comm_alltoall(lua_State *L) {
  Call c = clsh_agree_begin(L, ALLTOALL, 2);
  Payload x = clsh_payload_get(L, c.first, true);
  checkarray(L, c.first, &x);
  checkparts(L, &c, clsh_payload_shape(L, &x));
  clsh_agree_offer(L, &c, &x, false);
  Result r = clsh_result_new(L, c.first + 1, ARRAY, x.type,
                             clsh_payload_shape(L, &x));
  clsh_agree_reach(L, &c);
  transfer(L, &c, x.type, x.count / (size_t)c.comm->size, &x, &r.p);
  return clsh_result_finish(L, &r, &x, c.first);
}

void clsh_movement_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"allgather", comm_allgather}, {"alltoall", comm_alltoall},
      {"bcast", comm_bcast},         {"gather", comm_gather},
      {"scatter", comm_scatter},     {NULL, NULL}};
  clsh_comm_add(L, functions);
}
