/*
** reduction.c - values of all ranks combined: reduce, allreduce.
** SPDX-License-Identifier: MIT
*/
#include "collective.h"

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
    char *out = to->array != 0 ? clsh_result_place(L, x, to) : NULL;
    int code =
        reducepiece(c, x->type, in + skip, out != NULL ? out + skip : NULL,
                    n - from < PIECE ? n - from : PIECE, &t->request[0]);
    clsh_transit_run(L, t, code, "MPI_Ireduce");
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

/* reduce and allreduce, whose options are at `opts`. */
static int reduction(lua_State *L, Call *c, int opts) {
  Payload x = operand(L, c->first);
  c->terms.at[OP] = clsh_option_word(L, c->first + 1, clsh_agree_ops, "op");
  clsh_agree_offer(L, c, &x, false);
  Result r =
      clsh_result_agree(L, c, opts, &x, NUMBER, *clsh_payload_shape(L, &x));
  reduceall(L, c, &x, &r.p);
  return clsh_result_finish(L, &r, &x, c->first);
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

void clsh_reduction_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"allreduce", comm_allreduce}, {"reduce", comm_reduce}, {NULL, NULL}};
  clsh_comm_add(L, functions);
}
