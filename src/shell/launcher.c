/*
** launcher.c - reads the variables by which mpirun or srun tells a process its
** rank and the number of ranks. That needs no MPI.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shell.h"

/* The variables of a launcher: rank, size, rank and size on the host. */
static const struct {
  const char *name, *rank, *size, *local, *localsize;
} launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MVAPICH's mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS"},
    {"Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
     "SLURM_STEP_TASKS_PER_NODE"}, /* "4(x2)": the number in front serves */
};

/* The variable with the process id of a rank, for the processes it starts. */
#define OWNER "CLSHELL_RANK"

/* Reads variable `name`; false where it is no whole number >= 0. */
static bool number(const char *name, int *n) {
  const char *text = getenv(name);
  char *end;
  if (text == NULL || *text < '0' || *text > '9')
    return false;
  *n = (int)strtol(text, &end, 10);
  return true;
}

/*
** Whether a launcher has started this process, as one of several or alone;
** sets rank and size. Where the launcher tells no rank on the host, the rank
** serves. A process that a rank starts has the rank's variables, but is no
** rank.
*/
bool clsh_launcher_get(Launch *l) {
  int owner;
  if (number(OWNER, &owner) && owner != (int)getpid())
    return false;
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    if (!number(launchers[i].rank, &l->rank) ||
        !number(launchers[i].size, &l->size))
      continue;
    l->launcher = launchers[i].name;
    if (!number(launchers[i].local, &l->local))
      l->local = l->rank;
    if (!number(launchers[i].localsize, &l->localsize))
      l->localsize = l->size;
    return true;
  }
  return false;
}

/* Whether this process is one of several that a launcher has started. */
bool clsh_launcher_several(Launch *l) {
  return clsh_launcher_get(l) && l->size > 1;
}

/* Notes that this process is a rank, and that its children are no ranks. */
void clsh_launcher_own(void) {
  char text[24];
  snprintf(text, sizeof text, "%ld", (long)getpid());
  setenv(OWNER, text, 1);
}
