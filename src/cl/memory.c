/*
** memory.c - the host memory that is left to this process. A system promises
** more than it has, and ends a process that uses all of the promise. So
** arrays, and the buffers of devices that work in host memory, are compared
** with the memory left of the machine, of the process's cgroups and of its
** address space (ulimit -v).
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "memory.h"

#define CGROUPS "/sys/fs/cgroup"
#define SHARE 16 /* a 16th of the rest stays for drivers and tables */
#define STRIDE 8 /* an 8th of the rest is given without a new look */
#define PART 8   /* a held map is at most an 8th of the rest */

static size_t taken;   /* by arrays and buffers, touched or not */
static size_t granted; /* bytes to take without a new look */

/* The number after `key` at the beginning of a line of a file. */
static bool readnumber(const char *path, const char *key, uint64_t *n) {
  char line[256];
  unsigned long long value;
  size_t len = strlen(key);
  bool found = false;
  FILE *f = fopen(path, "r");
  while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
    found = strncmp(line, key, len) == 0 &&
            sscanf(line + len, "%llu", &value) == 1;
  if (f != NULL)
    fclose(f);
  if (found)
    *n = value;
  return found;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* The files of a cgroup, version 2 or 1. */
typedef struct Files {
  const char *controller, *folder, *limit, *usage, *cache;
} Files;

static const Files versions[] = {
    {"", "", "memory.max", "memory.current", "inactive_file "},
    {"memory", "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "}};

static bool readfile(const Files *v, const char *group, const char *name,
                     const char *key, uint64_t *n) {
  char path[4096];
  int len =
      snprintf(path, sizeof path, CGROUPS "%s%s/%s", v->folder, group, name);
  return len < (int)sizeof path && readnumber(path, key, n);
}

/* The memory left to a cgroup and to the cgroups around it. Cuts the path. */
static uint64_t groupleft(const Files *v, char *group) {
  uint64_t left = UINT64_MAX;
  for (;;) {
    uint64_t limit, usage, cache = 0;
    char *slash = strrchr(group, '/');
    if (slash != NULL && slash[1] == '\0')
      *slash = '\0';
    if (readfile(v, group, v->limit, "", &limit) &&
        readfile(v, group, v->usage, "", &usage)) {
      readfile(v, group, "memory.stat", v->cache, &cache);
      usage -= least(usage, cache); /* given back at need */
      left = least(left, limit - least(limit, usage));
    }
    if ((slash = strrchr(group, '/')) == NULL)
      return left;
    *slash = '\0';
  }
}

/* The memory left to the cgroups of this process: lines "4:memory:/a/b". */
static uint64_t cgroupleft(void) {
  char line[4096];
  uint64_t left = UINT64_MAX;
  FILE *f = fopen("/proc/self/cgroup", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    char *list = strchr(line, ':');
    char *group = list != NULL ? strchr(list + 1, ':') : NULL;
    if (group == NULL)
      continue;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
      if (strcmp(list + 1, versions[i].controller) == 0)
        left = least(left, groupleft(&versions[i], group));
  }
  if (f != NULL)
    fclose(f);
  return left;
}

/* The physical memory and swap space that nobody uses. */
static uint64_t machineleft(void) {
  uint64_t kib, swap = 0;
  if (readnumber("/proc/meminfo", "MemAvailable:", &kib)) {
    readnumber("/proc/meminfo", "SwapFree:", &swap);
    return (kib + swap) << 10;
  }
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

/* The bytes of this process's address space, and of its own memory. */
static void footprint(uint64_t *space, uint64_t *own) {
  unsigned long long all, resident, shared;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%llu %llu %llu", &all, &resident, &shared) != 3)
    all = resident = shared = 0;
  if (f != NULL)
    fclose(f);
  *space = all * page;
  *own = (resident - shared) * page;
}

/*
** The bytes of host memory that arrays and buffers may still take. No number
** of the system counts buffers that no command has touched yet.
*/
size_t clsh_memory_left(void) {
  static uint64_t base; /* memory of this process without arrays and buffers */
  struct rlimit limit;
  uint64_t space, own;
  footprint(&space, &own);
  if (taken == 0 || own < base)
    base = own;
  uint64_t left = least(machineleft(), cgroupleft());
  left -= least(left, taken - least(taken, own - base));
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    left = least(left, limit.rlim_cur - least(limit.rlim_cur, space));
  return (size_t)least(left - left / SHARE, PTRDIFF_MAX);
}

/* Whether `bytes` bytes are left. */
bool clsh_memory_fits(size_t bytes) {
  if (bytes > granted) {
    size_t left = clsh_memory_left();
    if (bytes > left)
      return false;
    granted = bytes + (left - bytes) / STRIDE;
  }
  granted -= bytes;
  return true;
}

/* Counts memory that was allocated, or given back. */
void clsh_memory_take(size_t bytes) {
  taken += bytes;
}

void clsh_memory_give(size_t bytes) {
  taken -= bytes;
}

/*
** The map of the last large Array that is gone, for the result of a read: it
** has its pages, which the system takes longer to make than a bus to fill. It
** counts as taken; the system takes its pages back where it has few.
*/
static void *held;
static size_t heldbytes;

/* Gives the held map to the system. */
void clsh_memory_reclaim(void) {
  if (held != NULL) {
    munmap(held, heldbytes);
    clsh_memory_give(heldbytes);
  }
  held = NULL;
}

/*
** A map of zeros, or NULL. `old`, if not NULL: any content will do; whether
** the map has its pages.
*/
void *clsh_memory_map(size_t bytes, bool *old) {
  void *data = held;
  if (old != NULL && (*old = held != NULL && heldbytes == bytes)) {
    held = NULL;
    return data;
  }
  if (!clsh_memory_fits(bytes))
    return NULL;
  data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
  if (data == MAP_FAILED)
    return NULL;
#ifdef MADV_HUGEPAGE
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
  clsh_memory_take(bytes);
  return data;
}

/* Holds a map, or gives it up. */
void clsh_memory_unmap(void *data, size_t bytes) {
  clsh_memory_reclaim();
  held = data;
  heldbytes = bytes;
  if (bytes > clsh_memory_left() / PART)
    clsh_memory_reclaim();
#ifdef MADV_FREE
  else
    madvise(data, bytes, MADV_FREE);
#endif
}
