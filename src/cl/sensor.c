/*
** sensor.c - class Sampler: readings of a device's own sensors, taken by a
** thread without Lua while a script works. The thread and the Sampler own the
** readings together: a driver that hangs in a reading holds up neither the
** script nor the end of the process.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "driver.h"
#include "object.h"
#include "sensor.h"

#define ROOM 4096      /* readings; when full, each second one is dropped */
#define RARELY 0.25e9  /* ns between two readings of depth SELDOM */
#define PATIENCE 0.1   /* seconds that a script waits for the last reading */
#define STACK 262144   /* bytes, for a driver's functions */
#define PERIOD 0.01    /* seconds between two readings */
#define LONGEST 3600.0 /* period, in seconds */

/* Names in Lua, and the values that are believed: drivers err. */
static const struct {
  const char *name;
  double least, most;
} values[NREADINGS] = {
    [MHZ] = {"mhz", 1, 2e4},
    [MHZ_MAX] = {"mhz_max", 1, 2e4},
    [MEM_MHZ] = {"mem_mhz", 1, 1e5},
    [MEM_MHZ_MAX] = {"mem_mhz_max", 1, 1e5},
    [WATTS] = {"watts", 1e-3, 1e4},
    [WATTS_OVER] = {"watts_over", 0, 10},
    [WATTS_LIMIT] = {"watts_limit", 1e-3, 1e4},
    [CELSIUS] = {"celsius", 1, 200},
    [JOULES] = {"joules", 1e-9, 1e15},
    [OTHERS] = {"others", 0, 1e6},
    [ACTIVE] = {"active", 0, 1},
    [OCCUPANCY] = {"occupancy", 0, 1},
    [TENSOR] = {"tensor", 0, 1},
    [FP64] = {"fp64", 0, 1},
    [FP32] = {"fp32", 0, 1},
    [FP16] = {"fp16", 0, 1},
    [DRAM] = {"dram", 0, 1},
    [CYCLES] = {"cycles", 1, 1e18},
    [INSTRUCTIONS] = {"instructions", 1, 1e18},
    [LLC_MISSES] = {"llc_misses", 0, 1e18},
};

/* The words of the bits of Reading.limits, in their order. */
static const char *const limits[] = {
    "power limit", "temperature",   "current limit", "hardware slowdown",
    "power brake", "clock setting", "sync boost"};

/* Of two that know a value the last one counts. */
static const Source *const sources[] = {
    &clsh_nvml_source,
    &clsh_sysfs_source,
#ifdef __linux__
    &clsh_perf_source,
#endif
};
#define NSOURCES (sizeof sources / sizeof *sources)

typedef struct Run {
  pthread_mutex_t lock;
  pthread_cond_t bell; /* rung by both sides */
  bool stop, done;     /* asked of the thread; by the thread */
  bool dropped;        /* the Sampler is gone or has no more patience */
  int owners;
  Address at;
  long long period; /* ns */
  int n;
  Reading list[ROOM];
} Run;

typedef struct Sampler {
  Object head;
  Run *run;
  pid_t pid; /* of the process that has the thread */
} Sampler;

static atomic_bool ending;      /* the process ends: drivers go away */
static atomic_int inside;       /* threads in a source */
static atomic_int late;         /* threads that did not stop in time */
static pid_t starter;           /* the process of these threads */
static atomic_bool nothing[26]; /* by kind: no source serves this system */

static long long now(void) {
  return (long long)(clsh_poll_now() * 1e9);
}

/* Waits for the bell of a locked Run, `ns` at most; false: it did not ring. */
static bool await(Run *run, long long ns) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  ns += t.tv_nsec;
  t.tv_sec += (time_t)(ns / 1000000000);
  t.tv_nsec = (long)(ns % 1000000000);
  return pthread_cond_timedwait(&run->bell, &run->lock, &t) == 0;
}

/* Gives up a share of a locked Run. */
static void leave(Run *run) {
  bool last = --run->owners == 0;
  pthread_mutex_unlock(&run->lock);
  if (!last)
    return;
  pthread_cond_destroy(&run->bell);
  pthread_mutex_destroy(&run->lock);
  free(run);
}

/* Adds a reading to a locked Run; a full list keeps each second one. */
static void add(Run *run, const Reading *r) {
  if (run->n == ROOM) {
    for (int i = 1; i < ROOM / 2; i++)
      run->list[i] = run->list[2 * i];
    run->n = ROOM / 2;
    run->period *= 2;
  }
  run->list[run->n++] = *r;
}

/* Before the calls of sources: the thread waits for a process that ends. */
static void enter(void) {
  atomic_fetch_add(&inside, 1);
  while (atomic_load(&ending)) {
    atomic_fetch_sub(&inside, 1);
    pause();
    atomic_fetch_add(&inside, 1);
  }
}

/* Takes a reading of all sources; closes those that have no more. */
static bool take(void *states[NSOURCES], Reading *r, int depth) {
  bool any = false;
  *r = (Reading){.ns = now()};
  for (int i = 0; i < NREADINGS; i++)
    r->value[i] = NAN;
  enter();
  for (size_t i = 0; i < NSOURCES; i++)
    if (states[i] != NULL && !sources[i]->read(states[i], r, depth)) {
      sources[i]->close(states[i]);
      states[i] = NULL;
    } else {
      any = any || states[i] != NULL;
    }
  atomic_fetch_sub(&inside, 1);
  for (int i = 0; i < NREADINGS; i++)
    if (!(r->value[i] >= values[i].least && r->value[i] <= values[i].most))
      r->value[i] = NAN;
  if (isnan(r->value[WATTS]))
    r->value[WATTS_OVER] = NAN;
  return any;
}

/* Takes readings until the Sampler stops, or no source is left. */
static void sample(Run *run, void *states[NSOURCES]) {
  Reading r;
  long long seldom = 0;
  int depth = ENDS;
  while (take(states, &r, depth)) {
    pthread_mutex_lock(&run->lock);
    if (!run->dropped)
      add(run, &r);
    if (run->dropped || (run->stop && depth == ENDS && seldom != 0)) {
      pthread_mutex_unlock(&run->lock);
      return;
    }
    if (depth != OFTEN)
      seldom = r.ns;
    long long next = r.ns + run->period, t;
    while (!run->stop && (t = now()) < next)
      await(run, next - t);
    depth = run->stop ? ENDS : now() - seldom >= RARELY ? SELDOM : OFTEN;
    pthread_mutex_unlock(&run->lock);
  }
}

/*
** Lets no thread be in a driver's library while the end of the process takes
** the library down. Called before the library's own functions, as it is
** registered after them.
*/
static void atend(void) {
  atomic_store(&ending, true);
  for (double t = 0;
       starter == getpid() && atomic_load(&inside) > 0 && t < PATIENCE;
       t += 1e-3)
    clsh_poll_nap(1e-3);
}

static void registered(void) {
  starter = getpid();
  atexit(atend);
}

static void *work(void *arg) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  Run *run = arg;
  void *states[NSOURCES];
  bool any = false;
  enter();
  for (size_t i = 0; i < NSOURCES; i++) {
    states[i] = sources[i]->open(&run->at);
    any = any || states[i] != NULL;
  }
  pthread_once(&once, registered);
  atomic_fetch_sub(&inside, 1);
  if (any)
    sample(run, states);
  else
    atomic_store(&nothing[run->at.kind - 'a'], true);
  enter();
  for (size_t i = 0; i < NSOURCES; i++)
    if (states[i] != NULL)
      sources[i]->close(states[i]);
  atomic_fetch_sub(&inside, 1);
  pthread_mutex_lock(&run->lock);
  run->done = true;
  if (run->dropped)
    atomic_fetch_sub(&late, 1);
  pthread_cond_broadcast(&run->bell);
  leave(run);
  return NULL;
}

/* Has the thread take its last reading, and waits for it, not for ever. */
static void stop(Sampler *s, double seconds) {
  Run *run = s->run;
  if (run == NULL || s->pid != getpid()) /* the parent has the thread */
    return;
  pthread_mutex_lock(&run->lock);
  run->stop = true;
  pthread_cond_broadcast(&run->bell);
  long long end = now() + (long long)(seconds * 1e9), t;
  while (!run->done && (t = now()) < end)
    await(run, end - t);
  if (!run->done && !run->dropped) {
    run->dropped = true;
    atomic_fetch_add(&late, 1);
  }
  pthread_mutex_unlock(&run->lock);
}

static void sampler_release(Object *o) {
  Sampler *s = (Sampler *)o;
  stop(s, PATIENCE);
  if (s->run != NULL && s->pid == getpid()) {
    pthread_mutex_lock(&s->run->lock);
    leave(s->run);
  }
  s->run = NULL;
}

/* Starts the thread of a Sampler; without memory there is none. */
static void start(Sampler *s, const Address *a, double period) {
  Run *run = calloc(1, sizeof *run);
  if (run == NULL)
    return;
  pthread_mutex_init(&run->lock, NULL);
  pthread_cond_init(&run->bell, NULL);
  run->owners = 2;
  run->at = *a;
  run->period = (long long)(period * 1e9);
  s->run = run;
  s->pid = getpid();
  if (!clsh_driver_thread(work, run, STACK)) {
    run->owners = 1;
    run->done = true;
  }
}

/* Where a device is on the PCI bus, by the extensions that tell it. */
static bool findpci(cl_device_id id, cl_uint at[4]) {
  enum {
    KHR = 0x410F,
    NV_BUS = 0x4008,
    NV_SLOT,
    NV_DOMAIN,
    TOPOLOGY = 0x4037
  };
  unsigned char amd[24] = {0};
  cl_uint slot = 0;
  size_t n = 0;
  memset(at, 0, 4 * sizeof *at);
  if (clGetDeviceInfo(id, KHR, 4 * sizeof *at, at, &n) == CL_SUCCESS &&
      n == 4 * sizeof *at)
    return true;
  if (clGetDeviceInfo(id, NV_BUS, sizeof *at, &at[1], NULL) == CL_SUCCESS &&
      clGetDeviceInfo(id, NV_SLOT, sizeof slot, &slot, NULL) == CL_SUCCESS) {
    clGetDeviceInfo(id, NV_DOMAIN, sizeof *at, &at[0], NULL);
    at[2] = slot >> 3;
    at[3] = slot & 7;
    return true;
  }
  if (clGetDeviceInfo(id, TOPOLOGY, sizeof amd, amd, &n) == CL_SUCCESS &&
      n == sizeof amd && amd[0] == 1) {
    for (int i = 1; i < 4; i++)
      at[i] = amd[20 + i];
    return true;
  }
  return false;
}

/*
** Finds the sensors of a device; false: none are known. For tests CLSHELL_PCI
** is the place of every device.
*/
static bool locate(cl_device_id id, Address *a) {
  cl_uint at[4];
  cl_device_type type = 0;
  const char *pci = getenv("CLSHELL_PCI");
  memset(a, 0, sizeof *a);
  clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (pci == NULL && (type & CL_DEVICE_TYPE_CPU) != 0) {
    a->kind = 'c';
    return true;
  }
  if (pci != NULL)
    snprintf(a->pci, sizeof a->pci, "%s", pci);
  else if (findpci(id, at))
    snprintf(a->pci, sizeof a->pci, "%04x:%02x:%02x.%x", at[0], at[1] & 0xff,
             at[2] & 0x1f, at[3] & 7);
  else
    return false;
  unsigned vendor = clsh_sysfs_vendor(a->pci);
  a->kind = vendor == 0x1002 ? 'a' : vendor == 0x8086 ? 'i' : 'n';
  return true;
}

static const Class class;

/** Device:sampler([period]) -> Sampler, or nil
 * Begins to read the sensors of a device every `period` seconds (0.01), in a
 * thread of its own, until `sampler:stop()` or `close`: NVML on NVIDIA's GPUs,
 * sysfs on AMD's and Intel's, and on a processor its performance counters,
 * where the system allows them, else its clock. nil: the device has no
 * sensors that can be read here. See Sampler:readings, Device:sensors.
 * Example:
 * local sampler <close> = cl.device():sampler()
 * local x = cl.buffer("float", 2 ^ 20, 1)
 * for _, r in ipairs(sampler and sampler:stop() or {}) do
 *   print(r.ns, r.mhz, r.watts) -- nil: the device does not tell
 * end
 */
static int device_sampler(lua_State *L) {
  Address a;
  cl_device_id id = clsh_device_check(L, 1);
  double period = luaL_optnumber(L, 2, PERIOD);
  if (!(period >= 1e-3 && period <= LONGEST))
    clsh_error_arg(L, 2, "must be seconds from 0.001 to 3600; got %f", period);
  if (clsh_driver_handsoff() || atomic_load(&late) > 0 || !locate(id, &a) ||
      atomic_load(&nothing[a.kind - 'a'])) {
    lua_pushnil(L);
    return 1;
  }
  Sampler *s = clsh_class_new(L, &class, 0);
  start(s, &a, period);
  return 1;
}

/* Pushes a reading as a table; an unknown value is absent. */
static void pushreading(lua_State *L, const Reading *r) {
  lua_createtable(L, 0, 12);
  clsh_field_integer(L, "ns", r->ns);
  for (int i = 0; i < NREADINGS; i++)
    if (!isnan(r->value[i])) {
      lua_pushnumber(L, r->value[i]);
      lua_setfield(L, -2, values[i].name);
    }
  if (r->limits == 0)
    return;
  lua_newtable(L);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if ((r->limits >> i & 1) != 0) {
      lua_pushstring(L, limits[i]);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  lua_setfield(L, -2, "throttle");
}

/* Pushes the readings so far, copied before Lua may raise. */
static int pushreadings(lua_State *L, Sampler *s) {
  Run *run = s->run;
  bool ours = run != NULL && s->pid == getpid();
  Reading *copy = NULL;
  int n = 0;
  if (ours) {
    pthread_mutex_lock(&run->lock);
    n = run->n;
    pthread_mutex_unlock(&run->lock);
    copy = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *copy, 0);
    pthread_mutex_lock(&run->lock);
    n = n < run->n ? n : run->n;
    memcpy(copy, run->list, (size_t)n * sizeof *copy);
    pthread_mutex_unlock(&run->lock);
  }
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    pushreading(L, &copy[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/** Sampler:readings() -> list of tables
 * The readings so far, in order, also while the Sampler works. Each has `ns`,
 * its time on the clock of cl.now(), in nanoseconds, and what the device tells
 * then: mhz, mhz_max (the clock of its compute units), mem_mhz, mem_mhz_max,
 * watts, watts_over (the seconds of which watts is the mean), watts_limit,
 * celsius, joules (a meter that counts up; NVIDIA's at the first and the last
 * reading only), throttle (a list of what holds the clock down: "power
 * limit", "temperature", "current limit", "hardware slowdown", "power brake",
 * "clock setting", "sync boost"), others (processes on the device besides this
 * one). Four times a second on Hopper, where the driver lets this user read
 * them, parts of the time (0 to 1): active, occupancy, tensor, fp64, fp32,
 * fp16, dram. Of a processor: cycles, instructions, llc_misses of the process
 * (they count up). A value that is absent is not known. Of more than 4096
 * readings every second is dropped, and the period is doubled.
 * Example:
 * local sampler <close> = cl.device():sampler(0.02)
 * local list = sampler and sampler:readings() or {}
 * for name, value in pairs(list[#list] or {}) do
 *   print(name, value)
 * end
 */
static int sampler_readings(lua_State *L) {
  return pushreadings(L, clsh_class_check(L, 1, &class));
}

/** Sampler:stop([seconds]) -> list of tables
 * Ends the readings with a last one and returns them all, as readings() does.
 * Where the driver does not answer within `seconds` (0.1), that last one is
 * missing.
 * Example:
 * local sampler <close> = cl.device():sampler()
 * print(sampler and #sampler:stop() or "no sensors")
 */
static int sampler_stop(lua_State *L) {
  Sampler *s = clsh_class_check(L, 1, &class);
  stop(s, luaL_optnumber(L, 2, PATIENCE));
  return pushreadings(L, s);
}

static const luaL_Reg methods[] = {
    {"readings", sampler_readings}, {"stop", sampler_stop}, {NULL, NULL}};
static const Class class = {"Sampler", sizeof(Sampler), methods, NULL, NULL,
                            NULL,      sampler_release};

void clsh_sensor_open(lua_State *L) {
  static const luaL_Reg ofdevice[] = {{"sampler", device_sampler},
                                      {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_class_add(L, "Device", ofdevice, NULL);
}
