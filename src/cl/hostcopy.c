/*
** hostcopy.c - copies within host memory, and other work in parts, by several
** threads: one core has a fifth of the rate of a device's bus. The threads
** wait for work until the program ends; the caller works too, and is never
** behind a thread that has not woken up yet.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "memory.h"

#define PART ((size_t)256 << 10) /* bytes that a thread takes at a time */
#define HUGE ((size_t)2 << 20)   /* ... of new memory: a huge page */
#define TOUCH 4096               /* bytes of a page, at least */
#define THREADS 16               /* the caller among them, unless asked */

/* Work under way: the first `taken` parts are done or under way. */
static struct {
  void (*part)(void *job, size_t i);
  void *job;
  size_t n, taken, done;
  int room; /* helpers that may still join */
} work;

static int helpers; /* threads that were started */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;

/* Does parts until all are taken. Holds the lock except during a part. */
static void doparts(void) {
  while (work.taken < work.n) {
    void (*part)(void *, size_t) = work.part;
    void *job = work.job;
    size_t i = work.taken++;
    pthread_mutex_unlock(&lock);
    part(job, i);
    pthread_mutex_lock(&lock);
    work.done++;
  }
  if (work.done == work.n)
    pthread_cond_signal(&all);
}

static void *help(void *arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  for (;;) {
    pthread_cond_wait(&more, &lock);
    if (work.room-- > 0)
      doparts();
  }
  return NULL;
}

/*
** The cores of this process, up to 16. A launcher of several processes may tie
** each process to some of the cores.
*/
static int countcores(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0)
    cores = CPU_COUNT(&own);
#endif
  return cores < 1 ? 1 : cores > THREADS ? THREADS : (int)cores;
}

/*
** Calls part(job, i) for i from 0 to n - 1, on up to `threads` threads, the
** caller among them; 0: as many as there are cores, up to 16.
*/
void clsh_hostcopy_parts(void (*part)(void *job, size_t i), void *job,
                         size_t n, int threads) {
  threads = threads == 0 ? countcores() : threads;
  while (helpers < threads - 1 && clsh_driver_thread(help, NULL, 0))
    helpers++;
  pthread_mutex_lock(&lock);
  work.part = part;
  work.job = job;
  work.n = n;
  work.taken = work.done = 0;
  work.room = threads - 1;
  if (threads > 1)
    pthread_cond_broadcast(&more);
  doparts();
  while (work.done < n)
    pthread_cond_wait(&all, &lock);
  pthread_mutex_unlock(&lock);
}

typedef struct Copy {
  char *to;
  const char *from;
  size_t bytes;
} Copy;

static void copypart(void *job, size_t i) {
  const Copy *c = job;
  size_t at = i * PART, rest = c->bytes - at;
  memcpy(c->to + at, c->from + at, rest < PART ? rest : PART);
}

static void touchpart(void *job, size_t i) {
  const Copy *c = job;
  size_t at = i * HUGE, end = at + HUGE < c->bytes ? at + HUGE : c->bytes;
  for (; at < end; at += TOUCH)
    ((volatile char *)c->to)[at] = 0;
}

/*
** Has the system make the pages of new memory: each thread takes huge pages of
** its own, which threads that copy small parts would make several times.
*/
void clsh_hostcopy_touch(void *to, size_t bytes) {
  Copy c = {to, NULL, bytes};
  clsh_hostcopy_parts(touchpart, &c, (bytes + HUGE - 1) / HUGE, 0);
}

/* Copies memory; the caller alone copies small pieces. */
void clsh_hostcopy(void *to, const void *from, size_t bytes) {
  Copy c = {to, from, bytes};
  if (bytes <= PART)
    memcpy(to, from, bytes);
  else
    clsh_hostcopy_parts(copypart, &c, (bytes + PART - 1) / PART, 0);
}
