/*
** signals.c - keeps signals away from drivers: the threads that a driver
** starts, and the compilers and linkers that these start in turn, inherit
** what is blocked. Ctrl-C is sent to all of them, and is the shell's alone.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <pthread.h>
#include <signal.h>

#include "process.h"

/*
** Signals that stay open: those that tell of a fault in their thread, and
** those that end the program where a driver hangs as it starts (--timeout).
*/
static const int others[] = {SIGABRT, SIGBUS, SIGFPE,  SIGILL,  SIGSEGV,
                             SIGTRAP, SIGSYS, SIGALRM, SIGQUIT, SIGTERM};

static sigset_t before;
static int depth;

/* Blocks all signals but those, until clsh_signals_unblock() is called. */
void clsh_signals_block(void) {
  sigset_t all;
  if (depth++ > 0)
    return;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    sigdelset(&all, others[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
}

void clsh_signals_unblock(void) {
  assert(depth > 0);
  if (--depth == 0)
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
