/*
** sensorlayer.c - stands for NVIDIA's NVML (CLSHELL_NVML names this library),
** and, preloaded, for processors' performance counters.
** NVML_SAYS="clock=1290 power=!15 reasons=@file slow=50": the answers, for
** each name below; !15 is an error, @file has the answer, and slow makes all
** calls last that many ms. PERF_SAYS=deny, or count: counters of software
** stand for those of a processor, which a virtual machine may lack.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The text behind "name=", up to a blank. */
static const char *said(const char *name, char *text, size_t room) {
  const char *s = getenv("NVML_SAYS");
  size_t n = strlen(name);
  for (; s != NULL && *s != '\0'; s += strcspn(s, " "), s += *s == ' ')
    if (strncmp(s, name, n) == 0 && s[n] == '=') {
      snprintf(text, room, "%.*s", (int)strcspn(s + n + 1, " "), s + n + 1);
      return text;
    }
  return NULL;
}

/* The answer of a name: its value, or an error. */
static int answer(const char *name, double usual, double *value) {
  char text[256], line[64] = "";
  const char *s = said("slow", text, sizeof text);
  if (s != NULL)
    usleep((useconds_t)(1000 * atof(s)));
  s = said(name, text, sizeof text);
  *value = usual;
  if (s != NULL && *s == '@') {
    FILE *f = fopen(s + 1, "r");
    if (f != NULL && fgets(line, sizeof line, f) != NULL)
      *value = atof(line);
    if (f != NULL)
      fclose(f);
  } else if (s != NULL && *s == '!') {
    return atoi(s + 1);
  } else if (s != NULL) {
    *value = strtod(s, NULL);
  }
  return 0;
}

static int number(const char *name, double usual, unsigned *value) {
  double x;
  int err = answer(name, usual, &x);
  *value = x < 0 ? ~0u : (unsigned)x;
  return err;
}

typedef void *Handle;

int nvmlInit_v2(void) {
  double x;
  return answer("init", 0, &x);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, Handle *h) {
  double x;
  *h = (Handle)pci;
  return answer("handle", 0, &x);
}

int nvmlDeviceGetClockInfo(Handle h, unsigned kind, unsigned *mhz) {
  (void)h;
  return kind == 1 ? number("clock", 1290, mhz) : number("memory", 2619, mhz);
}

int nvmlDeviceGetMaxClockInfo(Handle h, unsigned kind, unsigned *mhz) {
  (void)h;
  return kind == 1 ? number("highest", 1980, mhz)
                   : number("memory", 2619, mhz);
}

int nvmlDeviceGetPowerUsage(Handle h, unsigned *mw) {
  (void)h;
  return number("power", 698000, mw);
}

int nvmlDeviceGetEnforcedPowerLimit(Handle h, unsigned *mw) {
  (void)h;
  return number("limit", 700000, mw);
}

int nvmlDeviceGetTemperature(Handle h, unsigned sensor, unsigned *celsius) {
  (void)h, (void)sensor;
  return number("heat", 61, celsius);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Handle h,
                                              unsigned long long *bits) {
  double x;
  (void)h;
  int err = answer("reasons", 4, &x);
  *bits = (unsigned long long)x;
  return err;
}

int nvmlDeviceGetTotalEnergyConsumption(Handle h, unsigned long long *mj) {
  double mw;
  (void)h;
  int err = answer("energy", 698000, &mw);
  *mj = (unsigned long long)(mw * now());
  return err;
}

typedef struct FieldValue {
  unsigned id, scope;
  long long time, latency;
  unsigned type;
  int result;
  unsigned value, rest;
} FieldValue;

int nvmlDeviceGetFieldValues(Handle h, int n, void *list) {
  FieldValue *v = list;
  (void)h, (void)n;
  v->type = 1;
  v->result = v->id == 186 ? number("instant", 697000, &v->value) : 3;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Handle h, unsigned *n,
                                            void *list) {
  unsigned pids[6] = {0}, count;
  (void)h;
  int err = number("processes", 2, &count);
  if (err == 0 && count > *n) {
    *n = count;
    return 7;
  }
  for (unsigned i = 0; i < count; i++) {
    pids[0] = i == 0 ? (unsigned)getpid() : 1;
    memcpy((char *)list + i * sizeof pids, pids, sizeof pids);
  }
  *n = count;
  return err;
}

int nvmlGpmQueryDeviceSupport(Handle h, unsigned *support) {
  (void)h;
  return number("gpm", 1, &support[1]);
}

int nvmlGpmSampleAlloc(void **sample) {
  *sample = calloc(1, sizeof(double));
  return 0;
}

int nvmlGpmSampleFree(void *sample) {
  free(sample);
  return 0;
}

int nvmlGpmSampleGet(Handle h, void *sample) {
  double x, t = now();
  (void)h;
  memcpy(sample, &t, sizeof t);
  return answer("gpmsample", 0, &x);
}

int nvmlGpmMetricsGet(void *metrics) {
  unsigned head[2];
  double *samples[2];
  char *at = (char *)metrics + 24;
  memcpy(head, metrics, sizeof head);
  memcpy(samples, (char *)metrics + 8, sizeof samples);
  for (unsigned i = 0; i < head[1]; i++, at += 40) {
    double x;
    int err = answer("metric", 89, &x);
    x = *samples[1] - *samples[0] < 0.1 ? 0 : x;
    memcpy(at + 4, &err, sizeof err);
    memcpy(at + 8, &x, sizeof x);
  }
  return 0;
}

/* Preloaded, it stands for the system call as well. */
long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg(list, long);
  va_end(list);
  const char *perf = getenv("PERF_SAYS");
  if (number == SYS_perf_event_open && perf != NULL) {
    struct perf_event_attr *attr = (struct perf_event_attr *)a[0];
    if (strcmp(perf, "deny") == 0) {
      errno = EACCES;
      return -1;
    }
    static const unsigned long long other[] = {PERF_COUNT_SW_TASK_CLOCK,
                                               PERF_COUNT_SW_CPU_CLOCK};
    if (attr->type == PERF_TYPE_HARDWARE) {
      attr->type = PERF_TYPE_SOFTWARE;
      attr->config = attr->config < 2 ? other[attr->config]
                                      : PERF_COUNT_SW_CONTEXT_SWITCHES;
    }
  }
  static long (*real)(long, ...);
  if (real == NULL) {
    void *f = dlsym(RTLD_NEXT, "syscall");
    memcpy(&real, &f, sizeof f);
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
