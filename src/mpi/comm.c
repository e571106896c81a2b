/*
** comm.c - class Comm, a group of ranks that exchange messages; the ranks that
** have ended before the others; and the errors of MPI, raised.
** SPDX-License-Identifier: MIT
*/
#include <sched.h>
#include <stdlib.h>

#include "comm.h"
#include "shell/shell.h"

#define PATIENCE 0.05 /* seconds until the others are told of a rank's end */
#define EAGER 0.1     /* seconds of a wait without naps */
#define GOESON (-1)

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

/*
** A rank that ends tells the others, on a communicator for this alone, how
** many calls of all ranks it has made on each Comm: it takes no part in later
** calls. These structs stay, as Comms do.
*/
struct Members {
  MPI_Comm comm;
  int rank, size;
  int64_t calls;  /* of all ranks, that this rank has made */
  int64_t *ended; /* for each rank its calls, or GOESON */
  Members *next;
};

static Members *newest; /* the last of the list: of all ranks */

static Members *newmembers(lua_State *L, MPI_Comm handle) {
  int size = 0;
  MPI_Comm_size(handle, &size);
  Members *m = calloc(1, sizeof *m);
  int64_t *ended = calloc((size_t)size, sizeof *ended);
  if (m == NULL || ended == NULL) {
    free(m);
    free(ended);
    clsh_error(L, "not enough memory");
  }
  *m = (Members){.size = size, .ended = ended, .next = newest};
  for (int i = 0; i < size; i++)
    ended[i] = GOESON;
  newest = m;
  clsh_comm_fault(L, MPI_Comm_dup(handle, &m->comm), "MPI_Comm_dup");
  MPI_Comm_rank(m->comm, &m->rank);
  MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
  return m;
}

/* The next call of all ranks. */
Await clsh_comm_turn(const Comm *c) {
  return (Await){c->members, EVERYBODY, false, ++c->members->calls};
}

static void hear(Members *m) {
  int found = 1;
  MPI_Status s;
  while (MPI_Iprobe(MPI_ANY_SOURCE, 0, m->comm, &found, &s) == MPI_SUCCESS &&
         found)
    MPI_Recv(&m->ended[s.MPI_SOURCE], 1, MPI_INT64_T, s.MPI_SOURCE, 0, m->comm,
             MPI_STATUS_IGNORE);
}

/* A rank that the wait needs and that has ended; -1: there is none. Of
** MPI_ANY_SOURCE, once all other ranks have ended, one of them. */
static int lacked(const Await *on) {
  const Members *m = on->members;
  int gone = 0, last = -1;
  for (int i = 0; i < m->size; i++) {
    if (i == m->rank || m->ended[i] == GOESON)
      continue;
    if (on->rank == i || (on->rank == EVERYBODY && m->ended[i] < on->turn))
      return i;
    gone++;
    last = i;
  }
  return on->rank == MPI_ANY_SOURCE && gone == m->size - 1 ? last : -1;
}

/* Whether a rank that the wait needs has ended. */
bool clsh_comm_lacks(const Await *on) {
  if (on->members == NULL)
    return false;
  hear(on->members);
  return lacked(on) >= 0;
}

/* Raises: a rank that the wait needs has ended. */
void clsh_comm_refuse(lua_State *L, const Await *on) {
  if (on->rank == MPI_ANY_SOURCE)
    clsh_error(L, "all other ranks have ended: no message can come");
  clsh_error(L, "rank %d has ended: %s", lacked(on),
             on->rank == EVERYBODY ? "it takes no part in this call, which "
                                     "all ranks must make"
             : on->receives        ? "no message of it can come"
                                   : "it takes no message");
}

static void tellend(Members *m) {
  for (int i = 0; i < m->size; i++) {
    MPI_Request r;
    if (i == m->rank || m->ended[i] != GOESON)
      continue;
    if (MPI_Isend(&m->calls, 1, MPI_INT64_T, i, 0, m->comm, &r) == MPI_SUCCESS)
      MPI_Request_free(&r);
  }
}

/* Lets other ranks run, which may be on the same core; `passed`: seconds of a
** wait. */
void clsh_comm_giveway(double passed) {
  if (passed < EAGER)
    sched_yield();
  else
    clsh_poll_nap(5e-5);
}

/* Waits until all ranks end; tells those that go on that this rank ends. */
void clsh_comm_part(void) {
  Members *world = newest;
  MPI_Request all;
  int done = 0;
  bool told = false;
  while (world != NULL && world->next != NULL)
    world = world->next;
  if (world == NULL || MPI_Ibarrier(world->comm, &all) != MPI_SUCCESS)
    return;
  double start = clsh_poll_now();
  while (MPI_Test(&all, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
    double passed = clsh_poll_now() - start;
    for (Members *m = newest; m != NULL && !told && passed > PATIENCE;
         m = m->next)
      tellend(m);
    told = passed > PATIENCE;
    if (clsh_poll_interrupt != 0)
      MPI_Abort(MPI_COMM_WORLD, EXIT_INTERRUPT);
    clsh_comm_giveway(passed);
  }
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
  c->members = newmembers(L, handle);
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
