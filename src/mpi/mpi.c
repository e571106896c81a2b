/*
** mpi.c - opens module mpi: starts MPI, and ends it with the program.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "comm.h"
#include "shell/shell.h"

static MPI_Comm host;   /* the ranks of this host */
static bool incomplete; /* a rank is known to be gone */

/* Flushes the output: MPI_Abort leaves no process the time for it. */
static void endoutput(void) {
  fflush(stdout);
  clsh_lines_end();
}

/*
** Ends MPI with the program. A rank that failed ends all ranks, as they may
** wait for it; else all end together. Called once, before the state is closed.
*/
static void atend(int code) {
  int ended = 0, size = 1;
  MPI_Finalized(&ended);
  if (ended)
    return;
  endoutput();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (code != 0 && size > 1)
    MPI_Abort(MPI_COMM_WORLD, code);
  if (incomplete)
    return;
  clsh_comm_part();
  clsh_shared_finalize();
  clsh_transit_finalize();
}

/* Raises where a launcher has started more ranks than this MPI knows of. */
static void checklauncher(lua_State *L) {
  Launch l;
  int size = 1, n;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!clsh_launcher_get(&l) || l.size == size || size > 1)
    return;
  MPI_Get_library_version(version, &n);
  version[strcspn(version, ",\n")] = '\0';
  clsh_error(L,
             "mpi: %s has started %d processes, but %s, which this clshell "
             "was built with, sees one; start it with the mpirun of that "
             "MPI, or build clshell where mpicc belongs to the launcher",
             l.launcher, l.size, version);
}

static void start(lua_State *L) {
  int started = 0, level;
  MPI_Initialized(&started);
  if (started)
    return;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
    clsh_error(L, "mpi: MPI_Init failed");
  clsh_exit_library = atend;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  checklauncher(L);
  int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                 MPI_INFO_NULL, &host);
  clsh_comm_fault(L, code, "MPI_Comm_split_type");
}

/** mpi.local_rank() -> number
 * The number of this process among the processes of its host, from 0.
 * Example: print(mpi.local_rank() < mpi.local_size()) --> true
 */
static int mpi_local_rank(lua_State *L) {
  int n = 0;
  MPI_Comm_rank(host, &n);
  lua_pushinteger(L, n);
  return 1;
}

/** mpi.local_size() -> number
 * The number of the processes on this host.
 * Example:
 * local hosts = mpi.allreduce(mpi.local_rank() == 0 and 1 or 0)
 * print(hosts >= 1 and mpi.local_size() <= mpi.size()) --> true
 */
static int mpi_local_size(lua_State *L) {
  int n = 1;
  MPI_Comm_size(host, &n);
  lua_pushinteger(L, n);
  return 1;
}

/** mpi.version() -> string
 * The name and version of the library, as it gives them.
 * Example: print(#mpi.version() > 0) --> true
 */
int clsh_mpi_version(lua_State *L) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int n = 0;
  MPI_Get_library_version(text, &n);
  lua_pushlstring(L, text, (size_t)n);
  return 1;
}

/** mpi.device_aware() -> boolean
 * Whether MPI takes the memory of Buffers itself: always false. MPIs that take
 * device memory take pointers of CUDA and HIP, and OpenCL has none. The
 * elements of Buffers go through host memory.
 * Example: print(mpi.device_aware()) --> false
 */
static int mpi_device_aware(lua_State *L) {
  lua_pushboolean(L, 0);
  return 1;
}

/** mpi.abort([code])
 * Ends all processes at once, with an exit code, 1 by default.
 * Example:
 * local left = 1e-6 -- an error that all ranks know
 * if left ~= left then
 *   mpi.abort(3)
 * end
 */
static int mpi_abort(lua_State *L) {
  int code = (int)luaL_optinteger(L, 1, EXIT_SCRIPT);
  endoutput();
  MPI_Abort(MPI_COMM_WORLD, code);
  return 0;
}

/** mpi.incomplete()
 * Says that a rank has ended before its time, where mpirun lets the others go
 * on: this rank then ends without MPI_Finalize, which could wait for the other
 * rank for ever. Calls that take all ranks, such as mpi.barrier, are over as
 * well.
 * Example:
 * local silent = false -- a rank has sent nothing for an hour, say
 * if silent then
 *   mpi.incomplete()
 * end
 */
static int mpi_incomplete(lua_State *L) {
  (void)L;
  incomplete = true;
  return 0;
}

int luaopen_mpi(lua_State *L) {
  static const luaL_Reg functions[] = {{"abort", mpi_abort},
                                       {"device_aware", mpi_device_aware},
                                       {"incomplete", mpi_incomplete},
                                       {"local_rank", mpi_local_rank},
                                       {"local_size", mpi_local_size},
                                       {"version", clsh_mpi_version},
                                       {NULL, NULL}};
  lua_settop(L, 0);
  start(L);
  luaL_newlib(L, functions);
  clsh_comm_open(L);
  clsh_message_open(L);
  clsh_collective_open(L);
  clsh_shared_open(L);
  lua_settop(L, 1);
  return 1;
}
