/*
** pool.h - pinned host memory of a context: pieces that its devices reach at
** the full speed of their bus.
** SPDX-License-Identifier: MIT
*/
#ifndef pool_h
#define pool_h

#include "cl.h"
#include "hostcopy.h"

#define PIECE ((size_t)8 << 20) /* bytes of one */
#define PIECES 4

typedef struct Piece {
  cl_mem mem;
  char *data;
  cl_event busy;    /* the command that uses it, or NULL */
  size_t at, bytes; /* what it holds: bytes of the host's memory from there */
} Piece;

/* pool.c */
typedef struct Pool {
  cl_command_queue queue; /* of the mappings */
  bool pinned;            /* by the driver */
  Piece list[PIECES];
} Pool;
Pool *clsh_pool_new(cl_context c, cl_device_id d); /* or NULL */
void clsh_pool_free(Pool *p, bool ours);

#endif
