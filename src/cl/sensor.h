/*
** sensor.h - what a device tells of itself while it works: clocks, power,
** temperature, counters. A thread without Lua asks the sources.
** SPDX-License-Identifier: MIT
*/
#ifndef sensor_h
#define sensor_h

#include "cl.h"

/* sensor.c: the values of a reading, in the order of its table of names */
enum {
  MHZ, /* of the compute units, and the highest */
  MHZ_MAX,
  MEM_MHZ,
  MEM_MHZ_MAX,
  WATTS,
  WATTS_OVER, /* the seconds of which `watts` is the mean */
  WATTS_LIMIT,
  CELSIUS,
  JOULES, /* these count up; so do the last */
  OTHERS, /* processes on the device besides this one */
  ACTIVE, /* parts of the time, 0 to 1; of the units, of the wavefronts */
  OCCUPANCY,
  TENSOR,
  FP64,
  FP32,
  FP16,
  DRAM,
  CYCLES,
  INSTRUCTIONS,
  LLC_MISSES,
  NREADINGS
};

/* Why the clock is below its highest: bits of Reading.limits. */
enum {
  LIMIT_POWER = 1,
  LIMIT_HEAT = 2,
  LIMIT_CURRENT = 4,
  LIMIT_HARDWARE = 8,
  LIMIT_BRAKE = 16,
  LIMIT_SETTING = 32,
  LIMIT_SYNC = 64
};

typedef struct Reading {
  long long ns; /* on the host's monotonic clock, as cl.now() */
  unsigned limits;
  double value[NREADINGS]; /* NAN: not known */
} Reading;

/* Of a device: 'n' NVIDIA, 'a' AMD, 'i' Intel, 'c' the host's processor */
typedef struct Address {
  char kind;
  char pci[32]; /* "0000:3b:00.0" */
} Address;

/* How much of a reading to take: some values are dear. */
enum { OFTEN, SELDOM, ENDS }; /* each time; some times a second; both ends */

/*
** A source of values, asked by one thread. open: NULL where it does not serve
** the device. read: sets the values that it knows; false: never ask again.
*/
typedef struct Source {
  void *(*open)(const Address *a);
  bool (*read)(void *state, Reading *r, int depth);
  void (*close)(void *state);
} Source;

extern const Source clsh_nvml_source;  /* nvml.c */
extern const Source clsh_sysfs_source; /* sysfs.c */
extern const Source clsh_perf_source;  /* perf.c */

/* sysfs.c: the number of a PCI device's vendor; 0: not known */
unsigned clsh_sysfs_vendor(const char *pci);

/* sensor.c: Device:sampler */
void clsh_sensor_open(lua_State *L);

#endif
