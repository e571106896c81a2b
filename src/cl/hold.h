/*
** hold.h - memory objects that closed Buffers leave for the next results of
** calculations: a driver may take longer to allocate and free memory than for
** a kernel.
** The rule: memory is held only if no commands but those of its context's
** default queue, which is in order, have used it, and is given only to a
** Buffer whose first command is on that queue. So the new content comes behind
** commands that are still under way.
** SPDX-License-Identifier: MIT
*/
#ifndef hold_h
#define hold_h

#include "cl.h"

#define HELD 64 /* memory objects of a context, at most */
#define SHARE 8 /* of its device's memory, an 8th at most */

typedef struct Hold {
  int n;
  size_t bytes;              /* of all */
  bool shared;               /* they are host memory, see memory.c */
  struct Hold *next, **link; /* in the list of all that are not empty */
  struct {
    cl_mem mem;
    size_t bytes;
  } list[HELD]; /* the oldest first */
} Hold;

/* hold.c */
void clsh_hold_keep(Hold *h, cl_mem mem, size_t bytes, cl_ulong most);
cl_mem clsh_hold_take(Hold *h, size_t bytes);
void clsh_hold_empty(Hold *h);
void clsh_hold_emptyall(void);
bool clsh_hold_retry(cl_int code);

#endif
