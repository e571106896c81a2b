/*
** group.c - the ranks of a Comm as a group: barrier, split.
** SPDX-License-Identifier: MIT
*/
#include "collective.h"

/** mpi.barrier()
 * Waits until all ranks have come here.
 * Example: mpi.barrier()
 */
static int comm_barrier(lua_State *L) {
  Call c = clsh_agree_begin(L, BARRIER, 0);
  clsh_agree_reach(L, &c);
  return 0;
}

/** mpi.split(color [, key]) -> Comm
 * Parts the ranks: those of one `color`, a whole number from 0, become a Comm,
 * numbered in the order of their keys (of their ranks by default). nil for a
 * color gives nil. What mpi.bcast and the other functions do among all ranks,
 * `mpi.world`, comm:bcast does among those of the Comm, counted from 0. A Comm
 * stays to the end of the program.
 * Example:
 * local half = mpi.split(mpi.rank() % 2) -- the even ranks, and the odd ones
 * print(half:allreduce(1) == half:size()) --> true
 */
static int comm_split(lua_State *L) {
  MPI_Comm handle;
  size_t color = 0, key = 0;
  Call c = clsh_agree_begin(L, SPLIT, 2);
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
  clsh_agree_reach(L, &c);
  int code = MPI_Comm_split(c.comm->handle, none ? MPI_UNDEFINED : (int)color,
                            (int)key, &handle);
  clsh_fault_check(L, code, "MPI_Comm_split");
  if (none)
    return 0;
  clsh_comm_new(L, handle);
  return 1;
}

void clsh_group_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"barrier", comm_barrier}, {"split", comm_split}, {NULL, NULL}};
  clsh_comm_add(L, functions);
}
