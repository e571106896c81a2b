/*
** hostcopy.c - copies within host memory by several threads: one core moves a
** fifth of what a device's bus does. The threads wait for work until the
** program ends; the caller copies too, and is never behind a thread that has
** not woken up yet.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "memory.h"

#define PART ((size_t)256 << 10) /* bytes that a thread takes at a time */
#define THREADS 8                /* the caller among them, at most */

/* A copy under way: the first `taken` bytes are done or under way. */
typedef struct Work {
  char *to;
  const char *from;
  size_t bytes, taken, done;
} Work;

static Work work;
static int helpers = -1; /* -1: not started yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;

/* Copies parts until all are taken. Holds the lock except while copying. */
static void copyparts(void) {
  while (work.taken < work.bytes) {
    size_t at = work.taken, rest = work.bytes - at;
    size_t n = rest < PART ? rest : PART;
    char *to = work.to + at;
    const char *from = work.from + at;
    work.taken += n;
    pthread_mutex_unlock(&lock);
    memcpy(to, from, n);
    pthread_mutex_lock(&lock);
    work.done += n;
  }
  if (work.done == work.bytes)
    pthread_cond_signal(&all);
}

static void *help(void *arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  for (;;) {
    pthread_cond_wait(&more, &lock);
    copyparts();
  }
  return NULL;
}

/*
** The number of threads of a copy: the cores of this process, up to 8. A
** launcher of several processes may tie each process to some of the cores.
*/
int clsh_hostcopy_threads(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0)
    cores = CPU_COUNT(&own);
#endif
  return cores < 1 ? 1 : cores > THREADS ? THREADS : (int)cores;
}

static void start(void) {
  int most = clsh_hostcopy_threads() - 1;
  for (helpers = 0; helpers < most; helpers++)
    if (!clsh_driver_thread(help, NULL, 0))
      return;
}

/* Copies memory; the caller alone copies small pieces. */
void clsh_hostcopy(void *to, const void *from, size_t bytes) {
  if (bytes <= PART) {
    memcpy(to, from, bytes);
    return;
  }
  if (helpers < 0)
    start();
  pthread_mutex_lock(&lock);
  work = (Work){.to = to, .from = from, .bytes = bytes};
  if (helpers > 0)
    pthread_cond_broadcast(&more);
  copyparts();
  while (work.done < work.bytes)
    pthread_cond_wait(&all, &lock);
  pthread_mutex_unlock(&lock);
}
