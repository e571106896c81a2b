/*
** transit.c - transits, the transfers that MPI is at work on. Each keeps its
** memory until MPI has done with it, even if nobody waits for it or an error
** came in between.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "comm.h"

#define LOOKS 1000 /* between two questions for ranks that have ended */

static Transit *all; /* transits that have not ended */
static bool over;    /* MPI has ended */

/* Returns a transit with `scratch` bytes of its own and no other memory; NULL:
** there is no memory. clsh_transit_leave() ends it. */
Transit *clsh_transit_try(size_t scratch) {
  Transit *t = calloc(1, sizeof *t + scratch);
  if (t == NULL)
    return NULL;
  t->request[0] = t->request[1] = MPI_REQUEST_NULL;
  t->next = all;
  all = t;
  return t;
}

Transit *clsh_transit_begin(lua_State *L, size_t scratch) {
  Transit *t = clsh_transit_try(scratch);
  if (t == NULL)
    clsh_error(L, "not enough memory");
  return t;
}

/* Keeps the memory of `x` until the end. */
void clsh_transit_hold(lua_State *L, Transit *t, const Payload *x) {
  if (x->array == 0)
    return;
  const Array *a = clsh_array_check(L, x->array);
  clsh_array_data(L, a);
  t->block[t->block[0] != NULL] = a->block;
  a->block->refs++;
}

static void end(Transit *t) {
  Transit **link = &all;
  while (*link != t)
    link = &(*link)->next;
  *link = t->next;
  for (int i = 0; i < 2; i++)
    if (t->block[i] != NULL)
      clsh_array_unref(t->block[i]);
  free(t->text);
  free(t);
}

/* Whether request `i` has ended; its status is kept. */
static bool hasended(Transit *t, int i) {
  int done = 0;
  if (t->request[i] == MPI_REQUEST_NULL)
    return true;
  int error = MPI_Test(&t->request[i], &done, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS)
    return done;
  t->error = error;
  t->request[i] = MPI_REQUEST_NULL;
  return true;
}

/* Whether a transit has ended; its error is set by then. */
bool clsh_transit_test(Transit *t) {
  if (over)
    return true;
  if (t->ready != NULL && !t->ready(t))
    return false;
  bool first = hasended(t, 0);
  return hasended(t, 1) && first;
}

/* Ends transits that nobody waits for, as far as MPI has done with them. */
static void sweep(void) {
  for (Transit *t = all, *next; t != NULL; t = next) {
    next = t->next;
    if (t->left && clsh_transit_test(t))
      end(t);
  }
}

/*
** Waits until done(what). Ctrl-C raises, and so does the end of a rank that
** the wait needs. Each look moves messages on, so there are no naps before the
** wait gets long.
*/
void clsh_transit_until(lua_State *L, bool (*done)(void *), void *what,
                        const Await *on) {
  double start = clsh_poll_now();
  for (unsigned n = 1; !done(what); n++) {
    clsh_poll(L);
    if (n % LOOKS == 0 && clsh_comm_lacks(on) && !done(what))
      clsh_comm_refuse(L, on);
    clsh_comm_giveway(clsh_poll_now() - start);
  }
}

static bool isthrough(void *t) {
  return clsh_transit_test(t);
}

/* Waits for a transit that somebody keeps. */
void clsh_transit_await(lua_State *L, Transit *t) {
  clsh_transit_until(L, isthrough, t, &t->on);
}

static void cancel(Transit *t, int i) {
  if (hasended(t, i))
    return;
  MPI_Cancel(&t->request[i]);
  MPI_Wait(&t->request[i], MPI_STATUS_IGNORE);
}

/* Whether the transit has ended, or a wait for it: by an interrupt, or by the
** end of a rank that it needs. */
static bool isthroughorstopped(void *arg) {
  Transit *t = arg;
  if (clsh_poll_interrupt != 0 || clsh_transit_test(t))
    return true;
  t->lacks = ++t->looks % LOOKS == 0 && clsh_comm_lacks(&t->on) &&
             !clsh_transit_test(t);
  return t->lacks;
}

/*
** Waits for a transit that the caller leaves afterwards. Ctrl-C leaves it,
** too, and the end of a rank: a message that has not come yet is for a later
** call.
*/
void clsh_transit_wait(lua_State *L, Transit *t) {
  t->left = true;
  clsh_transit_until(L, isthroughorstopped, t, &(Await){0});
  if ((clsh_poll_interrupt != 0 || t->lacks) && t->receives)
    cancel(t, 0);
  clsh_poll(L);
  if (t->lacks)
    clsh_comm_refuse(L, &t->on);
  t->left = false;
}

/* Leaves a transit for good; its memory is given back when it has ended. */
void clsh_transit_leave(Transit *t) {
  t->left = true;
  sweep();
}

/* Waits for a transit that call `call` of MPI has begun, or refused. */
void clsh_transit_run(lua_State *L, Transit *t, int code, const char *call) {
  if (code == MPI_SUCCESS) {
    clsh_transit_wait(L, t);
    code = t->error;
  }
  clsh_transit_leave(t);
  clsh_comm_fault(L, code, call);
}

/* Returns how a transit has ended; the transit is gone with this call. */
Outcome clsh_transit_outcome(Transit *t) {
  Outcome o = {t->error, t->from.rank, t->from.tag, t->header};
  clsh_transit_leave(t);
  return o;
}

/*
** Ends MPI. Nothing waits for messages under way: receiving is cancelled, and
** the memory of a message that is sent stays until MPI has ended.
*/
void clsh_transit_finalize(void) {
  for (Transit *t = all; t != NULL; t = t->next)
    for (int i = 0; i < 2 && t->receives; i++)
      cancel(t, i);
  MPI_Finalize();
  over = true;
  sweep();
}
