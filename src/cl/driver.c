/*
** driver.c - whether drivers may be called: neither in a child of fork(), nor
** once the program ends while commands run. The threads that a driver starts,
** and the compilers and linkers that these start in turn, get no signals: they
** inherit the blocked signals. Ctrl-C is sent to all of them, and is for the
** shell alone.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

static bool touched;   /* OpenCL has been called in this process */
static bool child;     /* ... and this process was forked after that */
static bool abandoned; /* the program ends while commands run */

static void inchild(void) {
  child = touched;
}

/*
** Has PoCL keep each of its threads on a processor of its own. Left to Linux,
** two threads share a processor for tens of ms where other threads ran before,
** such as a BLAS's, and a launch takes twice as long. Not for a process that
** may use some processors only: PoCL would take other processors.
*/
static void pinthreads(void) {
#ifdef __linux__
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0 &&
      CPU_COUNT(&mine) == sysconf(_SC_NPROCESSORS_ONLN))
    setenv("POCL_AFFINITY", "1", 0);
#endif
}

/*
** Finds a function of a library; false: the library lacks it. `f` points to a
** pointer to a function, to which ISO C casts no address of an object.
*/
bool clsh_driver_function(void *lib, const char *name, void *f) {
  void *found = dlsym(lib, name);
  if (found != NULL)
    memcpy(f, &found, sizeof found);
  return found != NULL;
}

/* To be called before the first OpenCL call. */
void clsh_driver_touch(void) {
  if (!touched) {
    pthread_atfork(NULL, NULL, inchild);
    pinthreads();
  }
  touched = true;
}

/* Whether this process was forked from another that had used OpenCL. */
bool clsh_driver_child(void) {
  return child;
}

/* Whether drivers, and objects of drivers, must be left alone. */
bool clsh_driver_handsoff(void) {
  return child || abandoned;
}

/*
** Signals that stay open: the signals of a fault in their thread, and the
** signals that end the program where a driver hangs as it starts (--timeout).
*/
static const int others[] = {SIGABRT, SIGBUS, SIGFPE,  SIGILL,  SIGSEGV,
                             SIGTRAP, SIGSYS, SIGALRM, SIGQUIT, SIGTERM};

static const int faults[] = {SIGABRT, SIGBUS, SIGILL, SIGSEGV};
#define NFAULTS (sizeof faults / sizeof faults[0])
static struct sigaction onfault[NFAULTS];

/* To be called before a driver may set actions for the signals of a crash. */
void clsh_driver_keepfaults(void) {
  for (size_t i = 0; i < NFAULTS; i++)
    sigaction(faults[i], NULL, &onfault[i]);
}

/*
** Undoes actions that work only once, such as LLVM's, which removes its files.
** While the first thread that faults is there, a second thread finds no action
** and ends the process, and after abort() no other action runs.
*/
void clsh_driver_restorefaults(void) {
  struct sigaction now;
  for (size_t i = 0; i < NFAULTS; i++)
    if (sigaction(faults[i], NULL, &now) == 0 &&
        (now.sa_flags & (int)SA_RESETHAND) != 0)
      sigaction(faults[i], &onfault[i], NULL);
}

static sigset_t before;
static int depth;

/* Blocks all signals but the open ones, until clsh_driver_unblock(). */
void clsh_driver_block(void) {
  sigset_t all;
  if (depth++ > 0)
    return;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    sigdelset(&all, others[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  clsh_driver_keepfaults();
}

void clsh_driver_unblock(void) {
  assert(depth > 0);
  if (--depth > 0)
    return;
  clsh_driver_restorefaults();
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Stops all releases: a driver might wait for running commands. */
void clsh_driver_abandon(void) {
  abandoned = true;
}

bool clsh_driver_abandoned(void) {
  return abandoned;
}

/*
** Starts a thread with a stack of at least `stack` bytes, which gets no
** signals and which no thread joins; false where that fails.
*/
bool clsh_driver_thread(void *(*work)(void *), void *arg, size_t stack) {
  pthread_t thread;
  pthread_attr_t attr;
  sigset_t all, own;
  size_t size = 0;
  sigfillset(&all);
  pthread_attr_init(&attr);
  if (pthread_attr_getstacksize(&attr, &size) != 0 || size < stack)
    pthread_attr_setstacksize(&attr, stack);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &own);
  bool started = pthread_create(&thread, &attr, work, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &own, NULL);
  pthread_attr_destroy(&attr);
  return started;
}
