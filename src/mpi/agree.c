/*
** agree.c - all ranks of a Comm agree on a call before it moves values. Ranks
** that call different functions, or pass other types or counts, all raise:
** none waits for another, and no values get mixed.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "comm.h"

static const char *const calls[] = {
    "allgather", "allreduce", "alltoall", "barrier", "bcast",
    "gather",    "reduce",    "scatter",  "shared",  "split"};
const char *const clsh_agree_ops[] = {"sum", "min", "max", "prod", NULL};

Call clsh_agree_begin(lua_State *L, int call, int arguments) {
  Call c = {.name = calls[call]};
  c.comm = clsh_comm_take(L, arguments, &c.first);
  for (int i = 0; i < FIELDS; i++)
    c.terms.at[i] = OPEN;
  c.terms.at[CALL] = call;
  return c;
}

const Type *clsh_agree_type(int64_t number) {
  return number == OPEN ? NULL : &clsh_type_all[number];
}

/* Sets form, type and count as `x` has them; `shape`: the extents too. */
void clsh_agree_offer(lua_State *L, Call *c, const Payload *x, bool shape) {
  int64_t *at = c->terms.at;
  at[FORM] = x->form;
  at[TYPE] = clsh_values_number(x->type);
  at[COUNT] = (int64_t)x->count;
  if (!shape)
    return;
  const Shape *s = clsh_values_shape(L, x);
  at[NDIMS] = s->ndims;
  for (int i = 0; i < s->ndims; i++)
    at[DIMS + i] = (int64_t)s->dim[i];
}

/* Pushes the call of a rank in words: "bcast (root 0) of 10 x float". */
static const char *termstext(lua_State *L, const Terms *t) {
  const int64_t *at = t->at;
  lua_pushstring(L, calls[at[CALL]]);
  if (at[OP] != OPEN)
    lua_pushfstring(L, " \"%s\"", clsh_agree_ops[at[OP]]);
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
    clsh_values_text(L, (Form)at[FORM], clsh_agree_type(at[TYPE]),
                     (size_t)at[COUNT]);
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

/* Raises on all ranks. The message names two calls that differ: this rank's
** and another's. */
static void disagree(lua_State *L, const Call *c) {
  int n = c->comm->size, other = 0;
  Terms *list = lua_newuserdatauv(L, (size_t)n * sizeof *list, 0);
  int code = MPI_Allgather(&c->terms, FIELDS, MPI_INT64_T, list, FIELDS,
                           MPI_INT64_T, c->comm->handle);
  clsh_comm_fault(L, code, "MPI_Allgather");
  while (other < n && !differ(&c->terms, &list[other]))
    other++;
  if (other < n)
    clsh_error(L, "%s: the ranks differ: rank %d calls %s, rank %d calls %s",
               c->name, c->comm->rank, termstext(L, &c->terms), other,
               termstext(L, &list[other]));
  clsh_error(L, "%s: other ranks differ in what they call", c->name);
}

/*
** Waits until all ranks have told their terms, and sets the terms that this
** rank left open. Where numbers are of two types, all become double.
*/
void clsh_agree_reach(lua_State *L, Call *c) {
  int64_t most[2 * FIELDS];
  Transit *t = clsh_transit_begin(L, 2 * sizeof most);
  int64_t *mine = t->scratch;
  t->on = clsh_comm_turn(c->comm);
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
  clsh_transit_run(L, t, code, "MPI_Iallreduce");
  const int64_t *least = most + FIELDS; /* with the other sign */
  bool number = most[FORM] == NUMBER && least[FORM] == -NUMBER;
  for (int i = 0; i < FIELDS; i++)
    if (most[i] != OPEN && most[i] != -least[i] && !(i == TYPE && number))
      disagree(L, c);
  if (number && most[TYPE] != -least[TYPE])
    most[TYPE] = clsh_values_number(clsh_type_find("double", 6));
  memcpy(c->terms.at, most, sizeof c->terms.at);
}

/* The extents of the root's value. */
Shape clsh_agree_shape(const Call *c) {
  const int64_t *at = c->terms.at;
  Shape s = {(int)at[NDIMS], {0}, (size_t)at[COUNT]};
  for (int i = 0; i < s.ndims; i++)
    s.dim[i] = (size_t)at[DIMS + i];
  return s;
}

/* The root at `arg`, 0 by default, as a term. */
void clsh_agree_root(lua_State *L, Call *c, int arg) {
  c->root = clsh_comm_torank(L, c->comm, arg, "root", 0);
  c->terms.at[ROOT] = c->root;
}
