/*
** transit.c - what MPI is at work on. Each has its memory until MPI has done
** with it, whether somebody waits for it or an error came in between.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "cl/process.h"
#include "comm.h"

static Transit *all; /* that have not ended */
static bool over;    /* MPI has ended */

/* One that holds no memory but so many bytes of its own; leaving ends it. */
Transit *clsh_transit_begin(lua_State *L, size_t scratch) {
  Transit *t = calloc(1, sizeof *t + scratch);
  if (t == NULL)
    clsh_error(L, "not enough memory");
  t->request = MPI_REQUEST_NULL;
  t->next = all;
  all = t;
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

static void unlist(Transit *t) {
  Transit **link = &all;
  while (*link != t)
    link = &(*link)->next;
  *link = t->next;
}

static void end(Transit *t) {
  unlist(t);
  for (int i = 0; i < 2; i++)
    if (t->block[i] != NULL)
      clsh_array_unref(t->block[i]);
  free(t);
}

/* Whether it has ended; then its status and error are set. */
bool clsh_transit_test(Transit *t) {
  int done = 0;
  if (t->request == MPI_REQUEST_NULL || over)
    return true;
  int error = MPI_Test(&t->request, &done, &t->status);
  if (error != MPI_SUCCESS)
    t->error = error;
  return done || error != MPI_SUCCESS;
}

/* Ends those that nobody waits for, as far as MPI has done with them. */
static void sweep(void) {
  for (Transit *t = all, *next; t != NULL; t = next) {
    next = t->next;
    if (t->left && clsh_transit_test(t))
      end(t);
  }
}

static bool hasended(void *t) {
  return clsh_transit_test(t);
}

/* Waits for one that somebody keeps; Ctrl-C raises. */
void clsh_transit_await(lua_State *L, Transit *t) {
  clsh_poll_until(L, hasended, t, NULL);
}

/* Waits for one that the caller leaves afterwards, or a Ctrl-C at once. */
void clsh_transit_wait(lua_State *L, Transit *t) {
  t->left = true;
  clsh_poll_until(L, hasended, t, NULL);
  t->left = false;
}

/* Nobody will ask for it again; its memory is given back when it has ended. */
void clsh_transit_leave(Transit *t) {
  t->left = true;
  sweep();
}

/* How one has ended, which is gone with this call. */
Outcome clsh_transit_outcome(Transit *t) {
  Outcome o = {t->error, t->status.MPI_SOURCE, t->receives, t->header};
  clsh_transit_leave(t);
  return o;
}

/*
** Ends MPI. Nothing waits for what is under way: what is being received is
** cancelled, and the memory of what is being sent stays until MPI has ended.
*/
void clsh_transit_finalize(void) {
  for (Transit *t = all; t != NULL; t = t->next)
    if (!clsh_transit_test(t) && t->receives) {
      MPI_Cancel(&t->request);
      MPI_Wait(&t->request, MPI_STATUS_IGNORE);
    }
  MPI_Finalize();
  over = true;
  sweep();
}
