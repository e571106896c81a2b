/*
** nvml.c - a source of readings: NVML, the library of NVIDIA's driver, loaded
** when it is first needed. Its names, structures and numbers are those of
** NVIDIA's "NVML API Reference Guide". CLSHELL_NVML names another library, for
** tests.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "sensor.h"

#define LOST 15      /* NVML_ERROR_GPU_IS_LOST */
#define INSTANT 186  /* NVML_FI_DEV_POWER_INSTANT, in mW */
#define UNSIGNED 1   /* NVML_VALUE_TYPE_UNSIGNED_INT */
#define PROCESSES 64 /* of a device, that are looked at */
#define METRICS 512  /* more than any version's NVML_GPM_METRIC_MAX */
#define SOON 100e6   /* ns; metrics of a shorter time are 0 or NaN */

typedef struct GpuDevice *Handle;
typedef int Result; /* 0: success */

typedef struct FieldValue {
  unsigned id, scope;
  long long time, latency;
  unsigned type;
  Result result;
  union {
    unsigned ui;
    unsigned long long ull;
    double d;
  } value;
} FieldValue;

typedef struct Process { /* versions 2 and 3 */
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu, compute; /* instances */
} Process;

typedef struct Metric {
  unsigned id;
  Result result;
  double value;
  const char *names[3];
} Metric;

typedef struct Metrics {
  unsigned version, count;
  void *first, *second;
  Metric list[METRICS];
} Metrics;

/* The functions; those that the library lacks are NULL. */
static struct {
  Result (*init)(void);
  Result (*handle)(const char *pci, Handle *h);
  Result (*clock)(Handle h, unsigned kind, unsigned *mhz);
  Result (*maxclock)(Handle h, unsigned kind, unsigned *mhz);
  Result (*power)(Handle h, unsigned *mw);
  Result (*limit)(Handle h, unsigned *mw);
  Result (*heat)(Handle h, unsigned sensor, unsigned *celsius);
  Result (*reasons)(Handle h, unsigned long long *bits);
  Result (*energy)(Handle h, unsigned long long *mj);
  Result (*fields)(Handle h, int n, FieldValue *list);
  Result (*processes)(Handle h, unsigned *n, Process *list);
  Result (*gpmhas)(Handle h, unsigned *support);
  Result (*gpmnew)(void **sample);
  Result (*gpmfree)(void *sample);
  Result (*gpmsample)(Handle h, void *sample);
  Result (*gpmmetrics)(Metrics *m);
} nvml;

/* Of a function with two names the last one that the library has counts. */
static const struct {
  void *at;
  const char *name;
} functions[] = {
    {&nvml.init, "nvmlInit_v2"},
    {&nvml.handle, "nvmlDeviceGetHandleByPciBusId_v2"},
    {&nvml.clock, "nvmlDeviceGetClockInfo"},
    {&nvml.maxclock, "nvmlDeviceGetMaxClockInfo"},
    {&nvml.power, "nvmlDeviceGetPowerUsage"},
    {&nvml.limit, "nvmlDeviceGetEnforcedPowerLimit"},
    {&nvml.heat, "nvmlDeviceGetTemperature"},
    {&nvml.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"},
    {&nvml.reasons, "nvmlDeviceGetCurrentClocksEventReasons"},
    {&nvml.energy, "nvmlDeviceGetTotalEnergyConsumption"},
    {&nvml.fields, "nvmlDeviceGetFieldValues"},
    {&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v2"},
    {&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3"},
    {&nvml.gpmhas, "nvmlGpmQueryDeviceSupport"},
    {&nvml.gpmnew, "nvmlGpmSampleAlloc"},
    {&nvml.gpmfree, "nvmlGpmSampleFree"},
    {&nvml.gpmsample, "nvmlGpmSampleGet"},
    {&nvml.gpmmetrics, "nvmlGpmMetricsGet"},
};

static const struct {
  unsigned long long bit; /* nvmlClocksEventReason... */
  unsigned limit;
} reasons[] = {
    {0x2, LIMIT_SETTING}, {0x4, LIMIT_POWER},     {0x8, LIMIT_HARDWARE},
    {0x10, LIMIT_SYNC},   {0x20, LIMIT_HEAT},     {0x40, LIMIT_HEAT},
    {0x80, LIMIT_BRAKE},  {0x100, LIMIT_SETTING},
};

static const struct {
  unsigned id; /* nvmlGpmMetricId_t, all in per cent */
  int value;
} metrics[] = {{2, ACTIVE}, {3, OCCUPANCY}, {5, TENSOR}, {10, DRAM},
               {11, FP64},  {12, FP32},     {13, FP16}};
#define NMETRICS (sizeof metrics / sizeof *metrics)

typedef struct State {
  Handle h;
  void *older, *newer; /* samples of GPM, NULL: it has none for this user */
  long long taken;     /* ns, of the older; 0: not yet */
  Metrics metrics;
} State;

static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Loads the library; it stays to the end of the process. */
static void load(void) {
  const char *name = getenv("CLSHELL_NVML");
  void *lib =
      dlopen(name != NULL ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; lib && i < sizeof functions / sizeof *functions; i++)
    clsh_driver_function(lib, functions[i].name, functions[i].at);
  ready = nvml.init != NULL && nvml.handle != NULL && nvml.init() == 0;
}

/* Takes the first sample of GPM; a device or a user without it gets none. */
static void opengpm(State *s) {
  unsigned support[2] = {1, 0}; /* version, answer */
  if (nvml.gpmhas == NULL || nvml.gpmnew == NULL || nvml.gpmfree == NULL ||
      nvml.gpmsample == NULL || nvml.gpmmetrics == NULL ||
      nvml.gpmhas(s->h, support) != 0 || support[1] == 0)
    return;
  if (nvml.gpmnew(&s->older) != 0)
    s->older = NULL;
  if (s->older != NULL && nvml.gpmnew(&s->newer) != 0)
    s->newer = NULL;
}

static void *nvml_open(const Address *a) {
  Handle h = NULL;
  if (a->kind != 'n')
    return NULL;
  pthread_once(&once, load);
  if (!ready || nvml.handle(a->pci, &h) != 0)
    return NULL;
  State *s = calloc(1, sizeof *s);
  if (s != NULL) {
    s->h = h;
    opengpm(s);
  }
  return s;
}

static void nvml_close(void *state) {
  State *s = state;
  if (s->older != NULL)
    nvml.gpmfree(s->older);
  if (s->newer != NULL)
    nvml.gpmfree(s->newer);
  free(s);
}

/* The mean of the last 25 to 100 ms where the driver has it, else what the
** driver calls the usage: since Ampere the mean of a second. */
static Result readpower(State *s, Reading *r) {
  FieldValue v = {.id = INSTANT};
  unsigned mw;
  if (nvml.fields != NULL && nvml.fields(s->h, 1, &v) == 0 && v.result == 0 &&
      v.type == UNSIGNED && v.value.ui > 0) {
    r->value[WATTS] = v.value.ui / 1e3;
    r->value[WATTS_OVER] = 0.1;
    return 0;
  }
  Result err = nvml.power != NULL ? nvml.power(s->h, &mw) : 1;
  if (err == 0) {
    r->value[WATTS] = mw / 1e3;
    r->value[WATTS_OVER] = 1;
  }
  return err;
}

static void readreasons(State *s, Reading *r) {
  unsigned long long bits = 0;
  if (nvml.reasons == NULL || nvml.reasons(s->h, &bits) != 0)
    return;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    r->limits |= (bits & reasons[i].bit) != 0 ? reasons[i].limit : 0;
}

/*
** The number of other processes. Where this process is not in the list, as in
** a container with numbers of its own, only an empty list tells something.
*/
static void readothers(State *s, Reading *r) {
  Process list[PROCESSES];
  unsigned n = PROCESSES, own = 0;
  if (nvml.processes == NULL || nvml.processes(s->h, &n, list) != 0 ||
      n > PROCESSES)
    return;
  for (unsigned i = 0; i < n; i++)
    own += list[i].pid == (unsigned)getpid();
  if (own > 0 || n == 0)
    r->value[OTHERS] = n - (own > 0);
}

/* The metrics of the time since the older sample, which the newer replaces. */
static void readgpm(State *s, Reading *r) {
  if (s->newer == NULL || (s->taken != 0 && r->ns - s->taken < SOON))
    return;
  if (nvml.gpmsample(s->h, s->newer) != 0) {
    nvml.gpmfree(s->newer);
    s->newer = NULL;
    return;
  }
  Metrics *m = &s->metrics;
  m->version = 1;
  m->count = NMETRICS;
  m->first = s->older;
  m->second = s->newer;
  for (size_t i = 0; i < NMETRICS; i++)
    m->list[i] = (Metric){.id = metrics[i].id, .result = 1};
  if (s->taken != 0 && nvml.gpmmetrics(m) == 0)
    for (size_t i = 0; i < NMETRICS; i++)
      if (m->list[i].result == 0)
        r->value[metrics[i].value] = m->list[i].value / 100;
  s->newer = s->older;
  s->older = m->second;
  s->taken = r->ns;
}

/* A number of one of the functions of a device, times a scale. */
static void readclock(Result (*f)(Handle, unsigned, unsigned *), Handle h,
                      unsigned kind, double *value) {
  unsigned n = 0;
  if (f != NULL && f(h, kind, &n) == 0)
    *value = n;
}

static bool nvml_read(void *state, Reading *r, int depth) {
  State *s = state;
  unsigned mw;
  unsigned long long mj;
  if (readpower(s, r) == LOST)
    return false;
  readclock(nvml.clock, s->h, 1, &r->value[MHZ]);
  readclock(nvml.clock, s->h, 2, &r->value[MEM_MHZ]);
  readclock(nvml.heat, s->h, 0, &r->value[CELSIUS]);
  readreasons(s, r);
  if (depth >= SELDOM) {
    readclock(nvml.maxclock, s->h, 1, &r->value[MHZ_MAX]);
    readclock(nvml.maxclock, s->h, 2, &r->value[MEM_MHZ_MAX]);
    if (nvml.limit != NULL && nvml.limit(s->h, &mw) == 0)
      r->value[WATTS_LIMIT] = mw / 1e3;
    readothers(s, r);
    readgpm(s, r);
  }
  if (depth >= ENDS && nvml.energy != NULL && nvml.energy(s->h, &mj) == 0)
    r->value[JOULES] = (double)mj / 1e3;
  return true;
}

const Source clsh_nvml_source = {nvml_open, nvml_read, nvml_close};
