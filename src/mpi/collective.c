/*
** collective.c - the calls that all ranks of a Comm make together: barrier and
** split; values moved (bcast, gather, scatter, alltoall) or combined (reduce).
** The result is a new value, or fills the Array or Buffer of option into.
** SPDX-License-Identifier: MIT
*/
#include "cl/buffer.h"
#include "comm.h"

/** mpi.barrier()
 * Waits until all ranks have come here.
 * Example: mpi.barrier()
 */
static int comm_barrier(lua_State *L) {
  Call c = clsh_agree_begin(L, BARRIER, 0);
  clsh_agree_reach(L, &c);
  return 0;
}

/* The whole number at `arg`, from 0; `def` stands for nil. */
static size_t checkwhole(lua_State *L, int arg, const char *name, size_t def) {
  if (!lua_isnil(L, arg) &&
      (!clsh_option_whole(L, arg, 0, &def) || def > INT32_MAX))
    clsh_error_arg(L, arg, "%s must be a whole number >= 0 or nil; got %s",
                   name, clsh_option_got(L, arg));
  return def;
}

/** mpi.split(color [, key]) -> Comm
 * Parts the ranks: the ranks of one `color`, a whole number from 0, become a
 * Comm, numbered in the order of their keys (of their ranks by default). A
 * rank with nil for its color gets nil. comm:bcast and the other methods work
 * among the ranks of the Comm, counted from 0, as mpi.bcast and the other
 * functions work among all ranks, `mpi.world`. A Comm stays to the end of the
 * program.
 * Example:
 * local half = mpi.split(mpi.rank() % 2) -- the even ranks, and the odd ones
 * print(half:allreduce(1) == half:size()) --> true
 */
static int comm_split(lua_State *L) {
  MPI_Comm handle;
  Call c = clsh_agree_begin(L, SPLIT, 2);
  int a = c.first;
  bool none = lua_isnil(L, a);
  size_t color = checkwhole(L, a, "color", 0);
  size_t key = checkwhole(L, a + 1, "key", (size_t)c.comm->rank);
  clsh_agree_reach(L, &c);
  int code = MPI_Comm_split(c.comm->handle, none ? MPI_UNDEFINED : (int)color,
                            (int)key, &handle);
  clsh_comm_fault(L, code, "MPI_Comm_split");
  if (none)
    return 0;
  clsh_comm_new(L, handle);
  return 1;
}

/* The place of a result: an Array, and the value that it stands for. */
typedef struct Result {
  Payload p;
  int into; /* the option's value, or 0 */
} Result;

/* The index of option into, pushed, or 0; it must fit type and count. */
static int checkinto(lua_State *L, int opts, const Type *t, size_t count) {
  clsh_option_check(L, opts, "into", "mpi");
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
               clsh_values_text(L, ARRAY, t, count),
               clsh_values_text(L, ARRAY, own, n));
  return at;
}

/* Pushes the place for a result of that type and shape. */
static Result newresult(lua_State *L, int opts, Form form, const Type *t,
                        const Shape *s) {
  Result r = {{form, t, s->count, 0, 0}, checkinto(L, opts, t, s->count)};
  if (r.into != 0 && clsh_array_test(L, r.into) != NULL)
    r.p.array = r.into;
  else
    r.p = clsh_values_new(L, form, t, s);
  return r;
}

/* Pushes the Array at `array` as a Buffer, in the context of Buffer `of`. */
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

/* Pushes the result of a call for `x`, the value at `of`; returns how many. */
static int pushresult(lua_State *L, const Result *r, const Payload *x,
                      int of) {
  if (r->p.form == NONE)
    return 0;
  if (r->into != 0) {
    if (r->into != r->p.array)
      clsh_values_tobuffer(L, r->p.array, r->into);
    lua_pushvalue(L, r->into);
  } else if (x->buffer)
    pushbuffer(L, r->p.array, of);
  else
    clsh_values_finish(L, &r->p, r->p.array);
  return 1;
}

/* Where the memory of a result begins; it must be other memory than `x`'s. */
static void *placeof(lua_State *L, const Payload *x, const Payload *to) {
  char *p = clsh_values_data(L, to);
  if (x->array == 0)
    return p;
  char *from = clsh_values_data(L, x);
  size_t n = x->count * x->type->size, m = to->count * to->type->size;
  if (p < from + n && from < p + m)
    clsh_error(L, "into: must be other memory than x");
  return p;
}

/* The number at the top of the stack, in an Array of double. */
static Payload todouble(lua_State *L, const Payload *x) {
  const Type *t = clsh_type_find("double", 6);
  Shape s = {1, {1}, 1};
  Payload p = clsh_values_new(L, NUMBER, t, &s);
  clsh_array_convert(L, clsh_array_check(L, p.array),
                     clsh_array_check(L, x->array));
  return p;
}

/*
** Has the ranks agree on `x`, for a result of shape `s`, or of form `numbers`
** where `x` is a number; where a rank has a double, all become double. Pushes
** the place for the result on the ranks that get a result.
*/
static Result agreeresult(lua_State *L, Call *c, int opts, Payload *x,
                          Form numbers, Shape s) {
  bool here = c->root == MPI_UNDEFINED || c->root == c->comm->rank;
  Result r = {{NONE, NULL, 0, 0, 0}, 0};
  if (here && x->form == ARRAY)
    r = newresult(L, opts, ARRAY, x->type, &s);
  clsh_agree_reach(L, c);
  if (x->form == NUMBER) {
    if (x->type != clsh_agree_type(c->terms.at[TYPE]))
      *x = todouble(L, x);
    if (here)
      r.p = clsh_values_new(L, numbers, x->type, &s);
  }
  return r;
}

/* Sets the terms of a rank other than the root: its `x` is only a place. */
static void offerplace(Call *c, const Payload *x) {
  int64_t *at = c->terms.at;
  at[FORM] = x->form;
  if (x->form != ARRAY)
    return;
  at[TYPE] = clsh_values_number(x->type);
  at[COUNT] = (int64_t)x->count;
}

/** mpi.bcast(x [, root]) -> x
 * Gives the value of rank `root`, 0 by default, to all ranks. An Array or a
 * Buffer of the same type and count on each rank is filled in place. Where the
 * other ranks pass nil they get a new Array; numbers and strings are new
 * values as well: `name = mpi.bcast(name)`.
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
    x = clsh_values_get(L, c.first, isroot);
  if (isroot)
    clsh_agree_offer(L, &c, &x, true);
  else if (x.form != NONE)
    offerplace(&c, &x);
  clsh_agree_reach(L, &c);
  if (!isroot && x.form != ARRAY) {
    Shape s = clsh_agree_shape(&c);
    x = clsh_values_new(L, (Form)c.terms.at[FORM],
                        clsh_agree_type(c.terms.at[TYPE]), &s);
  }
  if (x.count > 0) {
    Transit *t = clsh_transit_begin(L, 0);
    clsh_transit_hold(L, t, &x);
    Bulk b = clsh_values_bulk(x.type, x.count);
    int code = MPI_Ibcast(clsh_values_data(L, &x), b.n, b.type, c.root,
                          c.comm->handle, &t->request[0]);
    clsh_values_free(&b);
    clsh_transit_run(L, t, code, "MPI_Ibcast");
  }
  if (isroot)
    lua_pushvalue(L, c.first);
  else
    clsh_values_finish(L, &x, x.buffer ? c.first : x.array);
  return 1;
}

/* Moves `count` elements to or from each rank, as the call says. */
static int moveall(const Call *c, const Type *t, size_t count, const void *in,
                   void *out, MPI_Request *request) {
  Bulk b = clsh_values_bulk(t, count);
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
  clsh_values_free(&b);
  return code;
}

/* Moves elements from `x` to `to`; either may be of form NONE. */
static void transfer(lua_State *L, const Call *c, const Type *type,
                     size_t count, const Payload *x, const Payload *to) {
  Transit *t = clsh_transit_begin(L, 0);
  clsh_transit_hold(L, t, x);
  clsh_transit_hold(L, t, to);
  void *out = to->array != 0 ? placeof(L, x, to) : NULL;
  int code =
      moveall(c, type, count, clsh_values_data(L, x), out, &t->request[0]);
  clsh_transit_run(L, t, code, c->name);
}

/* The value at `arg`, which is no string; `remedy` follows in the message. */
static Payload operand(lua_State *L, int arg, const char *remedy) {
  Payload x = clsh_values_get(L, arg, true);
  if (x.form == STRING)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer or a number; got a string%s",
                   remedy);
  return x;
}

/* gather and allgather, whose options are at `opts`. */
static int gathering(lua_State *L, Call *c, int opts) {
  Payload x = operand(L, c->first, ", which send and recv move");
  clsh_agree_offer(L, c, &x, false);
  Shape s = *clsh_values_shape(L, &x);
  s.dim[0] *= (size_t)c->comm->size;
  s.count *= (size_t)c->comm->size;
  Result r = agreeresult(L, c, opts, &x, ARRAY, s);
  transfer(L, c, x.type, x.count, &x, &r.p);
  return pushresult(L, &r, &x, c->first);
}

/** mpi.gather(x [, root [, opts]]) -> y, or nil
 * Puts `x` of all ranks, in the order of the ranks, into one value on rank
 * `root`, 0 by default: p values of shape {m, n} become {p * m, n}, p numbers
 * an Array of p elements. The other ranks get nil. All pass the same type and
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
 * Parts `x` of rank `root`, 0 by default, among all ranks in their order: each
 * of p ranks gets {m, n} of {p * m, n}. The other ranks pass nil, or a value
 * like the root's. A rank that passes a Buffer gets a Buffer.
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
    x = clsh_values_get(L, c.first, isroot);
    checkarray(L, c.first, &x);
    clsh_agree_offer(L, &c, &x, isroot);
  }
  clsh_agree_reach(L, &c);
  Shape s = clsh_agree_shape(&c);
  checkparts(L, &c, &s);
  s.dim[0] /= (size_t)c.comm->size;
  s.count /= (size_t)c.comm->size;
  const Type *type = clsh_agree_type(c.terms.at[TYPE]);
  Result r = newresult(L, c.first + 2, ARRAY, type, &s);
  transfer(L, &c, type, s.count, isroot ? &x : &none, &r.p);
  return pushresult(L, &r, &x, c.first);
}

/** mpi.alltoall(x [, opts]) -> y
 * Each rank gives each rank a share of `x`, m of its p * m rows: share i of
 * `x` goes to rank i, and share i of the result, of the same shape, comes from
 * rank i.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example:
 * local x = cl.array("int", mpi.size()):fill(mpi.rank())
 * print(mpi.alltoall(x)[mpi.size()] == mpi.size() - 1) --> true
 */
static int comm_alltoall(lua_State *L) {
  Call c = clsh_agree_begin(L, ALLTOALL, 2);
  Payload x = clsh_values_get(L, c.first, true);
  checkarray(L, c.first, &x);
  checkparts(L, &c, clsh_values_shape(L, &x));
  clsh_agree_offer(L, &c, &x, false);
  Result r =
      newresult(L, c.first + 1, ARRAY, x.type, clsh_values_shape(L, &x));
  clsh_agree_reach(L, &c);
  transfer(L, &c, x.type, x.count / (size_t)c.comm->size, &x, &r.p);
  return pushresult(L, &r, &x, c.first);
}

/* Reduces `n` components, which an int can count, from `in` to `out`. */
static int reducepiece(const Call *c, const Type *t, const void *in, void *out,
                       size_t n, MPI_Request *request) {
  const MPI_Op all[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD};
  MPI_Op op = all[c->terms.at[OP]];
  MPI_Datatype unit = clsh_values_unit(t);
  MPI_Comm comm = c->comm->handle;
  return c->root == MPI_UNDEFINED
             ? MPI_Iallreduce(in, out, (int)n, unit, op, comm, request)
             : MPI_Ireduce(in, out, (int)n, unit, op, c->root, comm, request);
}

/* Reduces all of `x`, piece by piece, to `to`. */
static void reduceall(lua_State *L, const Call *c, const Payload *x,
                      const Payload *to) {
  size_t n = clsh_values_units(x->type, x->count);
  for (size_t from = 0; from < n; from += PIECE) {
    Transit *t = clsh_transit_begin(L, 0);
    clsh_transit_hold(L, t, x);
    clsh_transit_hold(L, t, to);
    size_t skip = from * x->type->unit;
    char *in = clsh_values_data(L, x);
    char *out = to->array != 0 ? placeof(L, x, to) : NULL;
    int code =
        reducepiece(c, x->type, in + skip, out != NULL ? out + skip : NULL,
                    n - from < PIECE ? n - from : PIECE, &t->request[0]);
    clsh_transit_run(L, t, code, "MPI_Ireduce");
  }
}

/* reduce and allreduce, whose options are at `opts`. */
static int reduction(lua_State *L, Call *c, int opts) {
  Payload x = operand(L, c->first, "");
  if (x.type->kind == 'f' && x.type->unit < 4)
    clsh_error_arg(L, c->first,
                   "MPI does not calculate with %s; reduce "
                   "h:convert \"float\"",
                   x.type->name);
  c->terms.at[OP] = clsh_option_word(L, c->first + 1, clsh_agree_ops, "op");
  clsh_agree_offer(L, c, &x, false);
  Result r = agreeresult(L, c, opts, &x, NUMBER, *clsh_values_shape(L, &x));
  reduceall(L, c, &x, &r.p);
  return pushresult(L, &r, &x, c->first);
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
 * Example:
 * local y = mpi.reduce(cl.array("int", 3):fill(2))
 * print(mpi.rank() > 0 or y[1] == 2 * mpi.size()) --> true
 */
static int comm_reduce(lua_State *L) {
  Call c = clsh_agree_begin(L, REDUCE, 4);
  clsh_agree_root(L, &c, c.first + 2);
  return reduction(L, &c, c.first + 3);
}

/** mpi.allreduce(x [, op [, opts]]) -> y
 * As mpi.reduce, and all ranks get the result.
 * Options:
 *   into  nil  an Array or a Buffer for the result, other memory than x
 * Example: print(mpi.allreduce(mpi.rank(), "max") == mpi.size() - 1) --> true
 */
static int comm_allreduce(lua_State *L) {
  Call c = clsh_agree_begin(L, ALLREDUCE, 3);
  c.root = MPI_UNDEFINED;
  return reduction(L, &c, c.first + 2);
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
