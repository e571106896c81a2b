/*
** fork.c - whether drivers may be called: neither in a child of fork(), nor
** once the program ends while commands run.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>

#include "cl.h"
#include "process.h"

static bool touched;   /* OpenCL has been called in this process */
static bool child;     /* ... and this process was forked after that */
static bool abandoned; /* the program ends while commands run */

static void inchild(void) {
  child = touched;
}

/* To be called before the first OpenCL call. */
void clsh_fork_touch(void) {
  if (!touched)
    pthread_atfork(NULL, NULL, inchild);
  touched = true;
}

/* Whether this process was forked from another that had used OpenCL. */
bool clsh_fork_child(void) {
  return child;
}

/* Whether drivers must be left alone, objects of theirs included. */
bool clsh_fork_handsoff(void) {
  return child || abandoned;
}

/* From now on nothing is released: a driver might wait for what runs. */
void clsh_fork_abandon(void) {
  abandoned = true;
}

bool clsh_fork_abandoned(void) {
  return abandoned;
}
