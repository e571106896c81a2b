/*
** perf.c - a source of readings: Linux's performance counters of the threads
** that the process has when a sampler begins, where the system lets this user
** read them (see perf_event_open(2)). Time in the kernel does not count.
** SPDX-License-Identifier: MIT
*/
#include "sensor.h"

#ifdef __linux__
#include <dirent.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 256
#define COUNTERS 4

/* The first leads the group of a thread; the last is its time, in ns. */
static const struct {
  unsigned type;
  unsigned long long config;
} counters[COUNTERS] = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
                        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}};

typedef struct Counts {
  int n, fd[THREADS][COUNTERS];
  double cycles, time; /* of the last reading */
} Counts;

/* Opens the group of a thread: all counters, or none. */
static bool opengroup(int *fd, pid_t thread) {
  for (int i = 0; i < COUNTERS; i++) {
    struct perf_event_attr a = {.type = counters[i].type,
                                .size = sizeof a,
                                .config = counters[i].config,
                                .read_format = PERF_FORMAT_GROUP |
                                               PERF_FORMAT_TOTAL_TIME_ENABLED |
                                               PERF_FORMAT_TOTAL_TIME_RUNNING,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    fd[i] = (int)syscall(SYS_perf_event_open, &a, thread, -1,
                         i > 0 ? fd[0] : -1, PERF_FLAG_FD_CLOEXEC);
    while (fd[i] < 0 && i > 0)
      close(fd[--i]);
    if (fd[i] < 0)
      return false;
  }
  return true;
}

static void perf_close(void *state) {
  Counts *c = state;
  for (int i = 0; i < c->n; i++)
    for (int k = COUNTERS; k-- > 0;)
      close(c->fd[i][k]);
  free(c);
}

/* Counts no thread where one cannot be counted, as the sum would be wrong. */
static void *perf_open(const Address *a) {
  DIR *tasks = a->kind == 'c' ? opendir("/proc/self/task") : NULL;
  Counts *c = tasks != NULL ? calloc(1, sizeof *c) : NULL;
  struct dirent *d;
  bool all = c != NULL;
  while (all && (d = readdir(tasks)) != NULL) {
    pid_t thread = (pid_t)strtol(d->d_name, NULL, 10);
    if (thread <= 0)
      continue;
    all = c->n < THREADS && opengroup(c->fd[c->n], thread);
    c->n += all;
  }
  if (tasks != NULL)
    closedir(tasks);
  if (!all && c != NULL)
    perf_close(c);
  return all ? c : NULL;
}

/* Adds up the groups; a group that shared the counters with other programs
** counts for the part of the time that it had none. */
static bool perf_read(void *state, Reading *r, int depth) {
  Counts *c = state;
  double sum[COUNTERS] = {0};
  (void)depth;
  for (int i = 0; i < c->n; i++) {
    unsigned long long v[3 + COUNTERS]; /* n, enabled, running, counts */
    if (read(c->fd[i][0], v, sizeof v) != (ssize_t)sizeof v ||
        (v[1] > 0 && v[2] == 0))
      return false;
    double part = v[2] > 0 ? (double)v[1] / (double)v[2] : 1;
    for (int k = 0; k < COUNTERS; k++)
      sum[k] += (double)v[3 + k] * part;
  }
  r->value[CYCLES] = sum[0];
  r->value[INSTRUCTIONS] = sum[1];
  r->value[LLC_MISSES] = sum[2];
  if (c->time > 0 && sum[3] - c->time > 1e6)
    r->value[MHZ] = (sum[0] - c->cycles) / (sum[3] - c->time) * 1e3;
  c->cycles = sum[0];
  c->time = sum[3];
  return true;
}

const Source clsh_perf_source = {perf_open, perf_read, perf_close};
#endif
