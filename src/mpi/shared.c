/*
** shared.c - memory that the ranks of one host share, as Arrays: a rank reads
** the values that another rank has written, without a message for them.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "comm.h"

/* The memory of one rank in a window, as an Array has it. */
typedef struct Part {
  Block block;
  struct Part *next;
} Part;

/* A window stays until MPI ends: to free one takes all its ranks. */
typedef struct Window {
  MPI_Win handle;
  struct Window *next;
} Window;

static Part *parts;     /* parts that have Arrays */
static Window *windows; /* all windows */

/* Forgets the part of a block, whose last Array is gone. */
static void forget(Block *b) {
  Part **link = &parts;
  while (&(*link)->block != b)
    link = &(*link)->next;
  *link = (*link)->next;
}

/* Pushes an Array on `bytes` of memory. */
static void pushpart(lua_State *L, const Type *t, void *data, size_t bytes) {
  Shape s = {1, {bytes / t->size}, bytes / t->size};
  Array *a = clsh_array_box(L, t, &s);
  Part *p = calloc(1, sizeof *p);
  if (p == NULL)
    clsh_error(L, "not enough memory");
  p->block = (Block){.data = data, .bytes = bytes, .refs = 1, .free = forget};
  p->next = parts;
  parts = p;
  a->block = &p->block;
}

/*
** Whether `bytes` are at most a quarter of the free shared memory: other
** groups of ranks may ask at the same time. Without room MPI may wait for
** ever, and a page that finds no memory ends the process.
*/
static bool hasroom(size_t bytes) {
  struct statvfs v;
  if (statvfs("/dev/shm", &v) != 0)
    return true;
  return bytes / v.f_frsize < v.f_bavail / 4;
}

/* Whether `fine` is true on all ranks of a host. */
static bool everybody(MPI_Comm host, bool fine) {
  int mine = fine, least = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, host);
  return least != 0;
}

/*
** Begins a window of `bytes` for each rank of a host; false: a rank has no
** memory. Each rank makes the pages of its part, near to its cores.
*/
static bool allocate(MPI_Comm host, int size, size_t bytes, Window *w) {
  MPI_Info info;
  void *own;
  if (bytes > SIZE_MAX / (size_t)size ||
      !everybody(host, hasroom(bytes * (size_t)size)))
    return false;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true"); /* whole pages */
  int code = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, host, &own,
                                     &w->handle);
  MPI_Info_free(&info);
  if (!everybody(host, code == MPI_SUCCESS))
    return false;
  MPI_Win_set_errhandler(w->handle, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, w->handle);
  memset(own, 0, bytes);
  return everybody(host, true); /* all parts are zeros */
}

/* The ranks of this host, and the number that each has in the Comm itself. */
static MPI_Comm hostof(lua_State *L, const Comm *c, int **ranks, int *n) {
  MPI_Comm host;
  clsh_comm_fault(L,
                  MPI_Comm_split_type(c->handle, MPI_COMM_TYPE_SHARED, c->rank,
                                      MPI_INFO_NULL, &host),
                  "MPI_Comm_split_type");
  MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
  MPI_Comm_size(host, n);
  *ranks = lua_newuserdatauv(L, (size_t)*n * sizeof **ranks, 0);
  MPI_Allgather(&c->rank, 1, MPI_INT, *ranks, 1, MPI_INT, host);
  return host;
}

/* Pushes the list of the parts of a window, `bytes` each. */
static void pushparts(lua_State *L, const Window *w, const Type *t,
                      size_t bytes, const int *ranks, int size) {
  lua_createtable(L, size, 1);
  for (int i = 0; i < size; i++) {
    MPI_Aint all; /* with the rest of the last page */
    int unit;
    void *data;
    MPI_Win_shared_query(w->handle, i, &all, &unit, &data);
    pushpart(L, t, data, bytes);
    lua_rawseti(L, -2, ranks[i]);
  }
}

/** mpi.shared(type, n) -> list, or nil
 * Zeroed memory of `n` elements for each rank, which the ranks of one host
 * share: a list with an Array for each of them at its number, list[0] for rank
 * 0. A rank writes to list[mpi.rank()] and says so by a message; another reads
 * it in place, and says in turn when it may be changed. The memory stays until
 * the program ends: take it once. All ranks call it, with the same type and
 * number. A host gives at most a quarter of the free bytes of /dev/shm;
 * without that memory its ranks get nil.
 * Example:
 * local list = mpi.shared("float", 100)
 * if list then
 *   list[mpi.rank()]:fill(mpi.rank())
 *   mpi.barrier()
 *   print(list[0][100]) --> 0.0
 * end
 */
static int comm_shared(lua_State *L) {
  size_t n = 0;
  int *ranks, size;
  Call c = clsh_agree_begin(L, SHARED, 2);
  const Type *t = clsh_type_check(L, c.first);
  if (!clsh_option_whole(L, c.first + 1, 1, &n) ||
      n > (size_t)PTRDIFF_MAX / t->size)
    return clsh_error_arg(L, c.first + 1,
                          "n must be a whole number of elements >= 1; got %s",
                          clsh_option_got(L, c.first + 1));
  c.terms.at[FORM] = ARRAY;
  c.terms.at[TYPE] = clsh_values_number(t);
  c.terms.at[COUNT] = (int64_t)n;
  clsh_agree_reach(L, &c);
  Window *w = calloc(1, sizeof *w);
  if (w == NULL)
    return clsh_error(L, "not enough memory");
  MPI_Comm host = hostof(L, c.comm, &ranks, &size);
  if (allocate(host, size, n * t->size, w)) {
    w->next = windows;
    windows = w;
    pushparts(L, w, t, n * t->size, ranks, size);
  } else {
    free(w);
    lua_pushnil(L);
  }
  MPI_Comm_free(&host);
  return 1;
}

/* Makes the writes of this rank visible to the ranks that a message tells of
** them, and the writes of others to this rank. */
void clsh_shared_sync(void) {
  for (Window *w = windows; w != NULL; w = w->next)
    MPI_Win_sync(w->handle);
}

/*
** Takes the memory away at the end of MPI: from then on the Arrays raise. The
** windows are not freed, as the ranks need not have reached the same point.
*/
void clsh_shared_finalize(void) {
  for (Part *p = parts; p != NULL; p = p->next)
    p->block.data = NULL;
}

void clsh_shared_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"shared", comm_shared}, {NULL, NULL}};
  clsh_comm_add(L, functions);
}
