/*
** collective.c - what all ranks of a Comm do together. They first agree on
** it: ranks that call different functions, or with other types or counts, all
** raise, instead of waiting for each other or mixing their values.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "cl/buffer.h"
#include "comm.h"

/* What the ranks agree on. A rank that leaves one open has OPEN there. */
enum {
  CALL,
  ROOT,
  OP,
  FORM,
  TYPE,
  COUNT,
  NDIMS,
  DIMS,
  FIELDS = DIMS + MAXDIMS
};
#define OPEN INT64_MIN
typedef struct Terms {
  int64_t at[FIELDS];
} Terms;

static const char *const calls[] = {"allgather", "allreduce", "alltoall",
                                    "barrier",   "bcast",     "gather",
                                    "reduce",    "scatter",   "split"};
enum {
  ALLGATHER,
  ALLREDUCE,
  ALLTOALL,
  BARRIER,
  BCAST,
  GATHER,
  REDUCE,
  SCATTER,
  SPLIT
};

static const char *const ops[] = {"sum", "min", "max", "prod", NULL};

/* A call under way: who, what, and the index of its first argument. */
typedef struct Call {
  const Comm *comm;
  const char *name;
  int first, root;
  Terms terms;
} Call;

static Call begin(lua_State *L, int call, int arguments) {
  Call c = {.name = calls[call]};
  c.comm = clsh_comm_take(L, &c.first);
  lua_settop(L, c.first + arguments - 1);
  for (int i = 0; i < FIELDS; i++)
    c.terms.at[i] = OPEN;
  c.terms.at[CALL] = call;
  return c;
}

static int typenumber(const Type *t) {
  return (int)(t - clsh_type_all);
}

static const Type *typeat(int64_t number) {
  return number == OPEN ? NULL : &clsh_type_all[number];
}

/* Sets form, type and count to those of `x`; `shape`: its extents as well. */
static void offer(lua_State *L, Call *c, const Payload *x, bool shape) {
  int64_t *at = c->terms.at;
  at[FORM] = x->form;
  at[TYPE] = typenumber(x->type);
  at[COUNT] = (int64_t)x->count;
  if (!shape)
    return;
  const Shape *s = clsh_payload_shape(L, x);
  at[NDIMS] = s->ndims;
  for (int i = 0; i < s->ndims; i++)
    at[DIMS + i] = (int64_t)s->dim[i];
}

/* Waits for a transit that call `call` of MPI has begun, or refused. */
static void run(lua_State *L, Transit *t, int code, const char *call) {
  if (code == MPI_SUCCESS) {
    clsh_transit_wait(L, t);
    code = t->error;
  }
  clsh_transit_leave(t);
  clsh_fault_check(L, code, call);
}

/* Pushes what a rank does: "bcast (root 0) of 10 x float". */
static const char *termstext(lua_State *L, const Terms *t) {
  const int64_t *at = t->at;
  lua_pushstring(L, calls[at[CALL]]);
  if (at[OP] != OPEN)
    lua_pushfstring(L, " \"%s\"", ops[at[OP]]);
  else
    lua_pushliteral(L, "");
  if (at[ROOT] != OPEN)
    lua_pushfstring(L, " with root %d", (int)at[ROOT]);
  else
    lua_pushliteral(L, "");
  lua_pushstring(L, at[FORM] != OPEN ? " of " : "");
  if (at[FORM] == STRING)
    lua_pushliteral(L, "a string");
  else if (at[FORM] != OPEN)
    clsh_payload_text(L, (Form)at[FORM], typeat(at[TYPE]), (size_t)at[COUNT]);
  else
    lua_pushliteral(L, "");
  lua_concat(L, 5);
  return lua_tostring(L, -1);
}

static bool differ(const Terms *a, const Terms *b) {
  for (int i = 0; i < DIMS; i++)
    if (a->at[i] != b->at[i] && a->at[i] != OPEN && b->at[i] != OPEN)
      return true;
  return false;
}

/* All ranks come here, and raise: one says what this one and another do. */
static void disagree(lua_State *L, const Call *c) {
  int n = c->comm->size, other = 0;
  Terms *list = lua_newuserdatauv(L, (size_t)n * sizeof *list, 0);
  int code = MPI_Allgather(&c->terms, FIELDS, MPI_INT64_T, list, FIELDS,
                           MPI_INT64_T, c->comm->handle);
  clsh_fault_check(L, code, "MPI_Allgather");
  while (other < n && !differ(&c->terms, &list[other]))
    other++;
  if (other < n)
    clsh_error(L, "%s: the ranks differ: rank %d calls %s, rank %d calls %s",
               c->name, c->comm->rank, termstext(L, &c->terms), other,
               termstext(L, &list[other]));
  clsh_error(L, "%s: other ranks differ in what they call", c->name);
}

/*
** Waits until all ranks have told their terms, and sets those that this one
** left open. Numbers may be of two types: then all are double.
*/
static void agree(lua_State *L, Call *c) {
  int64_t most[2 * FIELDS];
  Transit *t = clsh_transit_begin(L, 2 * sizeof most);
  int64_t *mine = t->scratch;
  for (int i = 0; i < FIELDS; i++) {
    int64_t v = c->terms.at[i];
    mine[i] = v;
    mine[FIELDS + i] = v == OPEN ? OPEN : -v;
  }
  int code = MPI_Iallreduce(mine, mine + 2 * FIELDS, 2 * FIELDS, MPI_INT64_T,
                            MPI_MAX, c->comm->handle, &t->request[0]);
  if (code == MPI_SUCCESS)
    clsh_transit_wait(L, t);
  memcpy(most, mine + 2 * FIELDS, sizeof most);
  run(L, t, code, "MPI_Iallreduce");
  const int64_t *least = most + FIELDS; /* with the other sign */
  bool number = most[FORM] == NUMBER && least[FORM] == -NUMBER;
  for (int i = 0; i < FIELDS; i++)
    if (most[i] != OPEN && most[i] != -least[i] && !(i == TYPE && number))
      disagree(L, c);
  if (number && most[TYPE] != -least[TYPE])
    most[TYPE] = typenumber(clsh_type_find("double", 6));
  memcpy(c->terms.at, most, sizeof c->terms.at);
}

/* The extents that the root has told. */
static Shape agreedshape(const Call *c) {
  const int64_t *at = c->terms.at;
  Shape s = {(int)at[NDIMS], {0}, (size_t)at[COUNT]};
  for (int i = 0; i < s.ndims; i++)
    s.dim[i] = (size_t)at[DIMS + i];
  return s;
}

/* The root at `arg`, 0 by default, as a term. */
static void setroot(lua_State *L, Call *c, int arg) {
  c->root = clsh_comm_torank(L, c->comm, arg, "root", 0);
  c->terms.at[ROOT] = c->root;
}

/** mpi.barrier()
 * Waits until all ranks have come here.
 */
static int comm_barrier(lua_State *L) {
  Call c = begin(L, BARRIER, 0);
  agree(L, &c);
  return 0;
}

/** mpi.split(color [, key]) -> Comm
 * Parts the ranks: those of one `color`, a whole number from 0, become a Comm,
 * numbered in the order of their keys (of their ranks by default). nil for a
 * color gives nil. What mpi.bcast and the other functions do among all ranks,
 * `mpi.world`, comm:bcast does among those of the Comm, counted from 0. A Comm
 * stays to the end of the program.
 */
static int comm_split(lua_State *L) {
  MPI_Comm handle;
  size_t color = 0, key = 0;
  Call c = begin(L, SPLIT, 2);
  int a = c.first;
  bool none = lua_isnil(L, a);
  if (!none && (!clsh_option_whole(L, a, 0, &color) || color > INT32_MAX))
    return clsh_error_arg(L, a,
                          "color must be a whole number >= 0 or nil; got %s",
                          clsh_option_got(L, a));
  key = (size_t)c.comm->rank;
  if (!lua_isnil(L, a + 1) &&
      (!clsh_option_whole(L, a + 1, 0, &key) || key > INT32_MAX))
    return clsh_error_arg(L, a + 1,
                          "key must be a whole number >= 0 or nil; got %s",
                          clsh_option_got(L, a + 1));
  agree(L, &c);
  int code = MPI_Comm_split(c.comm->handle, none ? MPI_UNDEFINED : (int)color,
                            (int)key, &handle);
  clsh_fault_check(L, code, "MPI_Comm_split");
  if (none)
    return 0;
  clsh_comm_new(L, handle);
  return 1;
}

/* What a rank other than the root says of its `x`: not what it will be. */
static void offerplace(Call *c, const Payload *x) {
  int64_t *at = c->terms.at;
  at[FORM] = x->form;
  if (x->form != ARRAY)
    return;
  at[TYPE] = typenumber(x->type);
  at[COUNT] = (int64_t)x->count;
}

/** mpi.bcast(x [, root]) -> x
 * Gives the value of rank `root`, 0 by default, to all: an Array or a Buffer
 * of the same type and count on each rank is filled in place. Where the other
 * ranks pass nil they get a new Array, and so numbers and strings: `name =
 * mpi.bcast(name)`.
 */
static int comm_bcast(lua_State *L) {
  Call c = begin(L, BCAST, 2);
  Payload x = {NONE, NULL, 0, 0, 0};
  setroot(L, &c, c.first + 1);
  bool isroot = c.root == c.comm->rank;
  if (isroot || !lua_isnil(L, c.first))
    x = clsh_payload_get(L, c.first, isroot);
  if (isroot)
    offer(L, &c, &x, true);
  else if (x.form != NONE)
    offerplace(&c, &x);
  agree(L, &c);
  if (!isroot && x.form != ARRAY) {
    Shape s = agreedshape(&c);
    x = clsh_payload_new(L, (Form)c.terms.at[FORM], typeat(c.terms.at[TYPE]),
                         &s);
  }
  if (x.count > 0) {
    Transit *t = clsh_transit_begin(L, 0);
    clsh_transit_hold(L, t, &x);
    Bulk b = clsh_datatype_bulk(x.type, x.count);
    int code = MPI_Ibcast(clsh_payload_data(L, &x), b.n, b.type, c.root,
                          c.comm->handle, &t->request[0]);
    clsh_datatype_free(&b);
    run(L, t, code, "MPI_Ibcast");
  }
  if (isroot)
    lua_pushvalue(L, c.first);
  else
    clsh_payload_finish(L, &x, x.buffer ? c.first : x.array);
  return 1;
}

/* Where a result goes: an Array, and what it stands for. */
typedef struct Result {
  Payload p;
  int into; /* the option's value, or 0 */
} Result;

/* The option into at `opts`, which must hold what the result is. */
static int checkinto(lua_State *L, int opts, const Type *t, size_t count) {
  static const char *const names[] = {"into", NULL};
  clsh_option_check(L, opts, names, "mpi");
  if (clsh_option_push(L, opts, "into") == LUA_TNIL)
    return 0;
  int at = lua_gettop(L);
  const Buffer *b = clsh_buffer_test(L, at);
  const Array *a = clsh_array_test(L, at);
  if (a == NULL && b == NULL)
    clsh_error(L, "into: must be an open Array or Buffer; got %s",
               clsh_class_name(L, at));
  const Type *own = a != NULL ? a->type : b->type;
  size_t n = a != NULL ? a->shape.count : b->shape.count;
  if (own != t || n != count)
    clsh_error(L, "into: must hold %s; got %s",
               clsh_payload_text(L, ARRAY, t, count),
               clsh_payload_text(L, ARRAY, own, n));
  return at;
}

/* Pushes the place for a result of that type and shape. */
static Result newresult(lua_State *L, int opts, Form form, const Type *t,
                        const Shape *s) {
  Result r = {{form, t, s->count, 0, 0}, checkinto(L, opts, t, s->count)};
  if (r.into != 0 && clsh_array_test(L, r.into) != NULL)
    r.p.array = r.into;
  else
    r.p = clsh_payload_new(L, form, t, s);
  return r;
}

/* Pushes the Array at `array` as a Buffer beside the one at `of`. */
static void pushbuffer(lua_State *L, int array, int of) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "cl");
  lua_getfield(L, -1, "buffer");
  lua_getfield(L, array, "type");
  lua_getfield(L, array, "shape");
  lua_pushvalue(L, array);
  lua_newtable(L);
  lua_getfield(L, of, "context");
  lua_setfield(L, -2, "context");
  lua_call(L, 4, 1);
}

/* Pushes the result of a call for `x`, the value at `of`. */
static int finish(lua_State *L, const Result *r, const Payload *x, int of) {
  if (r->into != 0) {
    if (r->into != r->p.array)
      clsh_payload_tobuffer(L, r->p.array, r->into);
    lua_pushvalue(L, r->into);
  } else if (x->buffer)
    pushbuffer(L, r->p.array, of);
  else
    clsh_payload_finish(L, &r->p, r->p.array);
  return 1;
}

/* Where the memory of a result begins; it must not be that of `x`. */
static void *place(lua_State *L, const Payload *x, const Payload *to) {
  char *p = clsh_payload_data(L, to);
  if (x->array == 0)
    return p;
  char *from = clsh_payload_data(L, x);
  size_t n = x->count * x->type->size, m = to->count * to->type->size;
  if (p < from + n && from < p + m)
    clsh_error(L, "into: must be other memory than x");
  return p;
}

/* Reduces `n` components, as many as an int counts, to those at `out`. */
static int reducepiece(const Call *c, const Type *t, const void *in, void *out,
                       size_t n, MPI_Request *request) {
  const MPI_Op all[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD};
  MPI_Op op = all[c->terms.at[OP]];
  MPI_Datatype unit = clsh_datatype_unit(t);
  MPI_Comm comm = c->comm->handle;
  return c->root == MPI_UNDEFINED
             ? MPI_Iallreduce(in, out, (int)n, unit, op, comm, request)
             : MPI_Ireduce(in, out, (int)n, unit, op, c->root, comm, request);
}

/* Reduces all of `x`, piece by piece, to `to`. */
static void reduceall(lua_State *L, const Call *c, const Payload *x,
                      const Payload *to) {
  size_t n = clsh_datatype_units(x->type, x->count);
  for (size_t from = 0; from < n; from += PIECE) {
    Transit *t = clsh_transit_begin(L, 0);
    clsh_transit_hold(L, t, x);
    clsh_transit_hold(L, t, to);
    size_t skip = from * x->type->unit;
    char *in = clsh_payload_data(L, x);
    char *out = to->array != 0 ? place(L, x, to) : NULL;
    int code =
        reducepiece(c, x->type, in + skip, out != NULL ? out + skip : NULL,
                    n - from < PIECE ? n - from : PIECE, &t->request[0]);
    run(L, t, code, "MPI_Ireduce");
  }
}

/* The value at `arg`, which can be reduced. */
static Payload operand(lua_State *L, int arg) {
  Payload x = clsh_payload_get(L, arg, true);
  if (x.form == STRING)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer or a number; got a "
                   "string");
  if (x.type->kind == 'f' && x.type->unit == 2)
    clsh_error_arg(L, arg,
                   "MPI does not calculate with half; reduce "
                   "h:convert \"float\"");
  return x;
}

/* The number at the top of the stack, in an Array of double. */
static Payload asdouble(lua_State *L, const Payload *x) {
  const Type *t = clsh_type_find("double", 6);
  Shape s = {1, {1}, 1};
  Payload p = clsh_payload_new(L, NUMBER, t, &s);
  clsh_arrayops_convert(L, clsh_array_check(L, p.array),
                        clsh_array_check(L, x->array));
  return p;
}

/* reduce and allreduce, whose options are at `opts`. */
static int reduction(lua_State *L, Call *c, int opts) {
  Payload x = operand(L, c->first), none = {NONE, NULL, 0, 0, 0};
  c->terms.at[OP] = clsh_option_word(L, c->first + 1, ops, "op");
  offer(L, c, &x, false);
  bool here = c->root == MPI_UNDEFINED || c->root == c->comm->rank;
  Result r = {none, 0};
  if (here && x.form == ARRAY)
    r = newresult(L, opts, ARRAY, x.type, clsh_payload_shape(L, &x));
  agree(L, c);
  if (x.form == NUMBER) {
    if (x.type != typeat(c->terms.at[TYPE]))
      x = asdouble(L, &x);
    if (here)
      r.p = clsh_payload_new(L, NUMBER, x.type, clsh_payload_shape(L, &x));
  }
  reduceall(L, c, &x, &r.p);
  return here ? finish(L, &r, &x, c->first) : 0;
}

/** mpi.reduce(x [, op [, root [, opts]]]) -> y, or nil
 * Combines `x` of all ranks, element by element, to a value of the same type
 * and shape on rank `root`, 0 by default; the others get nil. `op`: "sum" (by
 * default), "min", "max" or "prod". Numbers give a number: an integer where
 * all are integers. Integers wrap as Lua's do; the order of a sum is MPI's, so
 * sums of reals may differ in the last bits with the number of ranks. Buffers
 * give a Buffer, by way of host memory.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 */
static int comm_reduce(lua_State *L) {
  Call c = begin(L, REDUCE, 4);
  setroot(L, &c, c.first + 2);
  return reduction(L, &c, c.first + 3);
}

/** mpi.allreduce(x [, op [, opts]]) -> y
 * As mpi.reduce, and all ranks get the result.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 */
static int comm_allreduce(lua_State *L) {
  Call c = begin(L, ALLREDUCE, 3);
  c.root = MPI_UNDEFINED;
  return reduction(L, &c, c.first + 2);
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
  void *out = to->array != 0 ? place(L, x, to) : NULL;
  int code =
      moveall(c, type, count, clsh_payload_data(L, x), out, &t->request[0]);
  run(L, t, code, c->name);
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
  offer(L, c, &x, false);
  bool here = c->root == MPI_UNDEFINED || c->root == c->comm->rank;
  Result r = {{NONE, NULL, 0, 0, 0}, 0};
  Shape s = *clsh_payload_shape(L, &x);
  s.dim[0] *= (size_t)c->comm->size;
  s.count *= (size_t)c->comm->size;
  if (here && x.form == ARRAY)
    r = newresult(L, opts, ARRAY, x.type, &s);
  agree(L, c);
  if (x.form == NUMBER) {
    if (x.type != typeat(c->terms.at[TYPE]))
      x = asdouble(L, &x);
    if (here)
      r.p = clsh_payload_new(L, ARRAY, x.type, &s);
  }
  transfer(L, c, x.type, x.count, &x, &r.p);
  return here ? finish(L, &r, &x, c->first) : 0;
}

/** mpi.gather(x [, root [, opts]]) -> y, or nil
 * Puts `x` of all ranks, in the order of the ranks, into one value on rank
 * `root`, 0 by default: {m, n} of each of p ranks gives {p * m, n}, a number
 * of each an Array of p. The others get nil. All pass the same type and
 * count.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 */
static int comm_gather(lua_State *L) {
  Call c = begin(L, GATHER, 3);
  setroot(L, &c, c.first + 1);
  return gathering(L, &c, c.first + 2);
}

/** mpi.allgather(x [, opts]) -> y
 * As mpi.gather, and all ranks get the result.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 */
static int comm_allgather(lua_State *L) {
  Call c = begin(L, ALLGATHER, 2);
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
 */
static int comm_scatter(lua_State *L) {
  Call c = begin(L, SCATTER, 3);
  Payload x = {NONE, NULL, 0, 0, 0}, none = x;
  setroot(L, &c, c.first + 1);
  bool isroot = c.root == c.comm->rank;
  if (isroot || !lua_isnil(L, c.first)) {
    x = clsh_payload_get(L, c.first, isroot);
    checkarray(L, c.first, &x);
    offer(L, &c, &x, isroot);
  }
  agree(L, &c);
  Shape s = agreedshape(&c);
  checkparts(L, &c, &s);
  s.dim[0] /= (size_t)c.comm->size;
  s.count /= (size_t)c.comm->size;
  const Type *type = typeat(c.terms.at[TYPE]);
  Result r = newresult(L, c.first + 2, ARRAY, type, &s);
  transfer(L, &c, type, s.count, isroot ? &x : &none, &r.p);
  return finish(L, &r, &x, c.first);
}

/** mpi.alltoall(x [, opts]) -> y
 * Each rank gives each other one a share of `x`: of {p * m, n} the m rows
 * number i go to rank i, and in the result, of the same shape, the m rows
 * number i are of rank i.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 */
static int comm_alltoall(lua_State *L) {
  Call c = begin(L, ALLTOALL, 2);
  Payload x = clsh_payload_get(L, c.first, true);
  checkarray(L, c.first, &x);
  checkparts(L, &c, clsh_payload_shape(L, &x));
  offer(L, &c, &x, false);
  Result r =
      newresult(L, c.first + 1, ARRAY, x.type, clsh_payload_shape(L, &x));
  agree(L, &c);
  transfer(L, &c, x.type, x.count / (size_t)c.comm->size, &x, &r.p);
  return finish(L, &r, &x, c.first);
}

void clsh_collective_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"allgather", comm_allgather}, {"allreduce", comm_allreduce},
      {"alltoall", comm_alltoall},   {"barrier", comm_barrier},
      {"bcast", comm_bcast},         {"gather", comm_gather},
      {"reduce", comm_reduce},       {"scatter", comm_scatter},
      {"split", comm_split},         {NULL, NULL}};
  clsh_comm_add(L, functions);
}
