/*
** memory.h - host memory: how much is left, its copies, and the pinned memory
** of a context: pieces that its devices reach at the full speed of their bus.
** SPDX-License-Identifier: MIT
*/
#ifndef memory_h
#define memory_h

#include "cl.h"

/* memory.c: the memory left; arrays and shared buffers take some of it */
size_t clsh_memory_left(void);
bool clsh_memory_fits(size_t bytes);
void clsh_memory_take(size_t bytes);
void clsh_memory_give(size_t bytes);
void *clsh_memory_map(size_t bytes, bool *old); /* or NULL */
void clsh_memory_unmap(void *data, size_t bytes);
void clsh_memory_reclaim(void);

/* hostcopy.c: work by several threads */
void clsh_hostcopy_parts(void (*part)(void *job, size_t i), void *job,
                         size_t n, int threads);
void clsh_hostcopy_touch(void *to, size_t bytes);
void clsh_hostcopy(void *to, const void *from, size_t bytes);

/* pinned.c */
#define PIECEBYTES ((size_t)8 << 20) /* bytes of a piece */
#define PIECES 4

typedef struct Piece {
  cl_mem mem;
  char *data;
  cl_event busy;    /* the command that uses it, or NULL */
  size_t at, bytes; /* the bytes of host memory that it holds */
} Piece;

typedef struct Pool {
  cl_command_queue queue; /* of the mappings */
  bool pinned;            /* by the driver */
  Piece list[PIECES];
} Pool;
Pool *clsh_pinned_new(cl_context c, cl_device_id d); /* or NULL */
void clsh_pinned_free(Pool *p, bool ours);

#endif
