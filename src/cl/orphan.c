/*
** orphan.c - host memory of commands whose Event was dropped before they
** ended: it is freed when they have.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <time.h>

#include "array.h"
#include "cl.h"
#include "process.h"
#include "queue.h"

typedef struct Orphan {
  struct Orphan *next;
  cl_event handle;
  Block *pin;
} Orphan;

static Orphan *orphans;

/* Lets go of the memory of dropped commands that have ended meanwhile. */
void clsh_orphan_sweep(void) {
  for (Orphan **p = &orphans; *p != NULL && !clsh_fork_handsoff();) {
    Orphan *o = *p;
    if (clsh_wait_status(o->handle) > CL_COMPLETE) {
      p = &o->next;
      continue;
    }
    *p = o->next;
    clReleaseEvent(o->handle);
    clsh_block_release(o->pin);
    free(o);
  }
}

/* Gives the last dropped commands a moment to end before the process does. */
static void atend(void) {
  const struct timespec nap = {0, 1000 * 1000};
  double limit = clsh_wait_now() + 0.1;
  while (orphans != NULL && !clsh_fork_handsoff() && clsh_wait_now() < limit) {
    clsh_orphan_sweep();
    nanosleep(&nap, NULL);
  }
}

/*
** Notes host memory that a dropped command still uses, and its event. If
** there is no memory for the note, both stay allocated.
*/
void clsh_orphan_add(cl_event handle, Block *pin) {
  Orphan *o = malloc(sizeof *o);
  if (o == NULL)
    return;
  static bool registered;
  if (!registered)
    registered = atexit(atend) == 0;
  *o = (Orphan){orphans, handle, pin};
  orphans = o;
}
