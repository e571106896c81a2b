/*
** timeout.c - --timeout: stops the whole run, inside a call of a driver too.
** A thread watches the clock. It first interrupts the run as Ctrl-C does, so
** that the results so far are printed and kept; it ends the process if the
** run does not stop, or does not finish soon afterwards.
** SPDX-License-Identifier: MIT
*/
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define DEAF 2.0    /* seconds for a call that does not stop to return */
#define FINISH 20.0 /* seconds to print and keep the results */

static atomic_bool expired;
static double limit; /* by clsh_poll_now() */
static pthread_t mainthread;

/* Whether the time of --timeout is over. */
bool clsh_timeout_expired(void) {
  return expired;
}

/* Ends the process, its output flushed where that cannot block. */
static void quit(void) {
  static const char text[] =
      "\n" PROGRAM ": --timeout: stopped inside a call that does not end\n";
  struct pollfd fd = {STDOUT_FILENO, POLLOUT, 0};
  clsh_interrupt_restoreterminal();
  ssize_t n = write(clsh_compiler_stderr, text, sizeof text - 1);
  (void)n;
  if (poll(&fd, 1, 0) == 1 && ftrylockfile(stdout) == 0)
    fflush(stdout);
  _exit(EXIT_TIMEOUT);
}

/*
** Takes SIGALRM in the main thread. The first one ends a wait for input; the
** others do not disturb the writing of results.
*/
static void onalarm(int sig) {
  struct sigaction action;
  if (expired)
    return;
  expired = true;
  memset(&action, 0, sizeof action);
  action.sa_handler = onalarm;
  action.sa_flags = SA_RESTART;
  sigaction(sig, &action, NULL);
  clsh_interrupt_stop();
}

static void *watch(void *unused) {
  (void)unused;
  clsh_poll_nap(limit - clsh_poll_now());
  for (;;) {
    pthread_kill(mainthread, SIGALRM);
    clsh_poll_nap(1);
    bool deaf = !expired || clsh_poll_interrupt;
    if (clsh_poll_now() > limit + (deaf ? DEAF : FINISH))
      quit();
  }
  return NULL;
}

/* Stops this run at a time of clsh_poll_now(). */
void clsh_timeout_start(lua_State *L, double end) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = onalarm;
  sigaction(SIGALRM, &action, NULL);
  mainthread = pthread_self();
  limit = end;
  if (!clsh_driver_thread(watch, NULL, 0))
    clsh_error(L, "--timeout: the system gives no thread for the watch");
}
