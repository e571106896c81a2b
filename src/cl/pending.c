/*
** pending.c - the commands that have not ended, by queue. Launches keep no
** count of them: they are counted after a Ctrl-C and at the program's end.
** SPDX-License-Identifier: MIT
*/
#include <stdatomic.h>
#include <stdlib.h>

#include "driver.h"
#include "program.h"
#include "queue.h"

#define MOST 10000   /* commands of a queue that are counted */
#define MOMENT 20e-3 /* seconds that a marker on an idle queue may take */

/* The i-th queue of the list at the top, if it is live and `abandoned` says
** whether it was abandoned; else NULL. */
static Queue *queueat(lua_State *L, int i, bool abandoned) {
  lua_rawgeti(L, -1, i);
  Queue *q = clsh_queue_live(L, -1);
  lua_pop(L, 1);
  return q != NULL && clsh_queue_abandoned(q) == abandoned ? q : NULL;
}

/*
** The number of commands of a queue that have not ended within `seconds`. A
** marker finds commands whose Event is gone. `*kernels` counts known kernels.
*/
static int unfinished(lua_State *L, Queue *q, double seconds, int *kernels) {
  int n = clsh_event_count(q, MOST, kernels);
  if (n == 0 && q->dropped == 0)
    return 0;
  if (n > 0 && seconds <= 0)
    return n;
  if (clsh_event_markerpends(clsh_queue_handle(L, q),
                             seconds > MOMENT ? seconds : MOMENT)) {
    n = clsh_event_count(q, MOST, kernels);
    if (n == 0)
      *kernels = q->kernel[0] != '\0';
    return n > 0 ? n : 1;
  }
  q->dropped = 0;
  q->kernel[0] = '\0';
  return 0;
}

/*
** The number of commands that still run after `seconds`: the abandoned
** commands, with the compilations that were given up, or the others.
*/
int clsh_pending_count(lua_State *L, double seconds, bool abandoned) {
  int sum = abandoned ? clsh_compiler_running() : 0, kernels;
  double end = clsh_poll_now() + seconds;
  int n = clsh_queue_pushall(L);
  for (int i = 1; i <= n; i++) {
    Queue *q = queueat(L, i, abandoned);
    if (q != NULL)
      sum += unfinished(L, q, end - clsh_poll_now(), &kernels);
  }
  lua_pop(L, 1);
  return sum;
}

/* Pushes the name of a kernel that was not abandoned and runs, or nil. */
void clsh_pending_pushkernel(lua_State *L) {
  const char *name = NULL;
  int n = clsh_queue_pushall(L);
  for (int i = 1; i <= n && name == NULL; i++) {
    Queue *q = queueat(L, i, false);
    name = q != NULL ? clsh_event_kernel(q) : NULL;
  }
  lua_pushstring(L, name);
  lua_remove(L, -2);
}

/* The queues of a thread that waits for them in the driver. */
typedef struct Finish {
  int n;
  cl_command_queue list[];
} Finish;

static atomic_bool finished;

static void *finish(void *arg) {
  Finish *f = arg;
  for (int i = 0; i < f->n; i++) {
    clFinish(f->list[i]);
    clReleaseCommandQueue(f->list[i]);
  }
  free(f);
  finished = true;
  return NULL;
}

/* Whether the thread of clsh_pending_finish() has ended. */
bool clsh_pending_finished(void) {
  return finished;
}

/*
** Starts a thread that waits, by clFinish, for all queues that are not
** abandoned: clFinish returns even where a driver never ends an event. False:
** the thread did not start.
*/
bool clsh_pending_finish(lua_State *L) {
  int n = clsh_queue_pushall(L);
  Finish *f = malloc(sizeof *f + (size_t)n * sizeof f->list[0]);
  if (f == NULL)
    return false;
  f->n = 0;
  for (int i = 1; i <= n; i++) {
    Queue *q = queueat(L, i, false);
    if (q == NULL)
      continue;
    f->list[f->n] = clsh_queue_handle(L, q);
    clRetainCommandQueue(f->list[f->n++]);
  }
  lua_pop(L, 1);
  return clsh_driver_thread(finish, f, 0);
}

/** cl.unfinished() -> list
 * The queues with commands that have not ended, after a Ctrl-C say: a list of
 * {queue, device, commands, kernels}. `commands` counts all of them, `kernels`
 * the kernels; where only commands without an Event are left, commands is 1,
 * and kernels is 1 if there is a kernel among them. `u.queue:finish()` waits.
 * Example:
 * local list = cl.unfinished() -- of kernels that still run
 * print(#list) --> 0
 */
static int cl_unfinished(lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  int queues = clsh_queue_pushall(L);
  for (int i = 1; i <= queues; i++) {
    int kernels;
    lua_settop(L, 2);
    lua_rawgeti(L, 2, i);
    Queue *q = clsh_queue_live(L, 3);
    int n = q != NULL ? unfinished(L, q, 0, &kernels) : 0;
    if (n == 0)
      continue;
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, 3);
    lua_setfield(L, 4, "queue");
    lua_getfield(L, 3, "context");
    lua_getfield(L, -1, "device");
    lua_setfield(L, 4, "device");
    lua_pop(L, 1);
    lua_pushinteger(L, n);
    lua_setfield(L, 4, "commands");
    lua_pushinteger(L, kernels);
    lua_setfield(L, 4, "kernels");
    lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
  }
  lua_settop(L, 1);
  return 1;
}

void clsh_pending_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"unfinished", cl_unfinished},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
