/*
** timeout.c - --timeout: stops the whole run, inside a driver's call too.
** First as Ctrl-C does, so that what was measured is printed and kept. Who
** does not heed that, or is not done soon afterwards, is ended.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define DEAF 2.0   /* seconds for a call that does not stop to return */
#define FINISH 20. /* seconds to print and keep the results */

static volatile sig_atomic_t expired;
static double limit; /* by clsh_now() */
static pthread_t mainthread;

/* Whether --timeout is over. */
bool clsh_timeout_expired(void) {
  return expired != 0;
}

/*
** Ends the process. What was printed is flushed where that cannot block: the
** thread that may be inside the library of standard output stands in a call.
*/
static void quit(void) {
  static const char text[] =
      "\n" PROGRAM ": --timeout: stopped inside a call that does not end\n";
  struct pollfd fd = {STDOUT_FILENO, POLLOUT, 0};
  clsh_interrupt_restoreterminal();
  ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
  (void)n;
  if (poll(&fd, 1, 0) == 1 && ftrylockfile(stdout) == 0)
    fflush(stdout);
  _exit(EXIT_TIMEOUT);
}

static void onalarm(int sig);

/*
** Takes SIGALRM. The first one ends a wait for input; those that follow do not
** disturb the writing of results.
*/
static void install(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = onalarm;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, NULL);
}

/* Once a second from the limit on; any thread may get it. */
static void onalarm(int sig) {
  int saved = errno;
  if (!expired && !pthread_equal(pthread_self(), mainthread))
    pthread_kill(mainthread, sig);
  else if (!expired) {
    expired = 1;
    install(SA_RESTART);
    clsh_interrupt_stop();
  }
  bool deaf = !expired || clsh_interrupt;
  if (clsh_now() > limit + (deaf ? DEAF : FINISH))
    quit();
  errno = saved;
}

/* Stops this run after so many seconds. */
void clsh_timeout_start(double seconds) {
  struct itimerval timer = {{1, 0}, {0, 0}};
  mainthread = pthread_self();
  limit = clsh_now() + seconds;
  timer.it_value.tv_sec = (time_t)seconds;
  timer.it_value.tv_usec =
      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
  if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
    timer.it_value.tv_usec = 1;
  install(0);
  setitimer(ITIMER_REAL, &timer, NULL);
}
