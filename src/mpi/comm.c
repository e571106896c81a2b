/*
** comm.c - class Comm, a group of ranks that exchange messages; and the errors
** of MPI, raised.
** SPDX-License-Identifier: MIT
*/
#include "comm.h"

/* Raises unless `code` is MPI_SUCCESS: "MPI_Irecv: text of the library". */
void clsh_comm_fault(lua_State *L, int code, const char *call) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int n = 0;
  if (code == MPI_SUCCESS)
    return;
  if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
    n = 0;
  text[n] = '\0';
  clsh_error(L, "%s: %s", call, n > 0 ? text : "an unknown error of MPI");
}

static const Class class;

/*
** Pushes a Comm; all its ranks call this together. No finalizer frees the
** handles: that would take all ranks as well.
*/
Comm *clsh_comm_new(lua_State *L, MPI_Comm handle) {
  Comm *c = clsh_class_new(L, &class, 0);
  c->handle = handle;
  clsh_comm_fault(L, MPI_Comm_dup(handle, &c->elements), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN);
  MPI_Comm_rank(handle, &c->rank);
  MPI_Comm_size(handle, &c->size);
  return c;
}

/*
** The Comm of a call of so many arguments, nil where they are left out, and
** the index of the first: comm:send(x, 1) begins with the Comm, mpi.send(x, 1)
** has the Comm of all ranks as its upvalue.
*/
Comm *clsh_comm_take(lua_State *L, int arguments, int *first) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended)
    clsh_error(L, "MPI has ended, with the script");
  bool method = lua_islightuserdata(L, lua_upvalueindex(1)) ||
                clsh_class_test(L, 1, &class) != NULL;
  *first = method ? 2 : 1;
  lua_settop(L, *first + arguments - 1);
  return clsh_class_check(L, method ? 1 : lua_upvalueindex(1), &class);
}

/* The rank at `arg`, or `def` where it is nil and a default is allowed. */
int clsh_comm_torank(lua_State *L, const Comm *c, int arg, const char *what,
                     int def) {
  size_t rank = 0;
  if (lua_isnoneornil(L, arg) && def != MPI_UNDEFINED)
    return def;
  if (!clsh_option_whole(L, arg, 0, &rank) || rank >= (size_t)c->size)
    clsh_error_arg(L, arg, "%s must be a rank, 0 to %d; got %s", what,
                   c->size - 1, clsh_option_got(L, arg));
  return (int)rank;
}

/** mpi.rank() -> number
 * The number of this process among the processes of mpirun, from 0.
 * Example: print(mpi.rank() < mpi.size()) --> true
 */
static int comm_rank(lua_State *L) {
  int first;
  lua_pushinteger(L, clsh_comm_take(L, 0, &first)->rank);
  return 1;
}

/** mpi.size() -> number
 * The number of processes that mpirun started.
 * Example: print(mpi.allreduce(1) == mpi.size()) --> true
 */
static int comm_size(lua_State *L) {
  int first;
  lua_pushinteger(L, clsh_comm_take(L, 0, &first)->size);
  return 1;
}

static int comm_tostring(lua_State *L) {
  const Comm *c = clsh_class_any(L, 1, &class);
  lua_pushfstring(L, "Comm: rank %d of %d%s", c->rank, c->size,
                  c->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {
    {"rank", comm_rank}, {"size", comm_size}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", comm_tostring}, {NULL, NULL}};
static const Class class = {"Comm", sizeof(Comm), methods, NULL,
                            meta,   NULL,         NULL};

/*
** Adds functions to the module at index 1, which has `world`, and to class
** Comm as methods.
*/
void clsh_comm_add(lua_State *L, const luaL_Reg *functions) {
  clsh_class_add(L, class.name, functions, NULL);
  lua_getfield(L, 1, "world");
  luaL_setfuncs(L, functions, 1);
}

void clsh_comm_open(lua_State *L) {
  clsh_class_define(L, &class);
  clsh_comm_new(L, MPI_COMM_WORLD);
  lua_setfield(L, 1, "world");
  lua_pushvalue(L, 1);
  lua_getfield(L, 1, "world");
  luaL_setfuncs(L, methods, 1);
  lua_pop(L, 1);
}
