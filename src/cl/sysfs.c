/*
** sysfs.c - a source of readings: the files of Linux's drivers of AMD's and
** Intel's GPUs and of the processors' clocks. Linux: Documentation/gpu/amdgpu,
** ABI/testing/sysfs-driver-intel-i915-hwmon and -xe-hwmon, i915's and xe's
** sources (gt), admin-guide/pm/cpufreq. CLSHELL_SYSFS names another root, for
** tests.
** SPDX-License-Identifier: MIT
*/
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sensor.h"

#define MOST 8 /* files of a row: some processors stand for all */
#define DRM "drm/card*/"
#define XE "tile*/gt*/freq*/"
#define CPUS "devices/system/cpu/cpu[0-9]*/cpufreq/"

/*
** Files by devices (a AMD, i Intel, c processors), below the PCI device's
** folder, or the root for c. The first row of a value with files counts, and
** of several files the mean; all rows of limits count. scale: of the number in
** the file, 0: of the last line "7: 1800Mhz *" or of the line with the star.
*/
static const struct {
  char kind;
  int value; /* -1: a limit */
  double scale;
  unsigned limit; /* with scale 0: 1: the starred line */
  const char *path;
} rows[] = {
    {'a', MHZ, 1e-6, 0, "hwmon/hwmon*/freq1_input"},
    {'a', MHZ, 0, 1, "pp_dpm_sclk"},
    {'a', MHZ_MAX, 0, 0, "pp_dpm_sclk"},
    {'a', MEM_MHZ, 1e-6, 0, "hwmon/hwmon*/freq2_input"},
    {'a', MEM_MHZ, 0, 1, "pp_dpm_mclk"},
    {'a', MEM_MHZ_MAX, 0, 0, "pp_dpm_mclk"},
    {'a', WATTS, 1e-6, 0, "hwmon/hwmon*/power1_input"},
    {'a', WATTS, 1e-6, 1, "hwmon/hwmon*/power1_average"},
    {'a', WATTS_LIMIT, 1e-6, 0, "hwmon/hwmon*/power1_cap"},
    {'a', CELSIUS, 1e-3, 0, "hwmon/hwmon*/temp1_input"},
    {'a', JOULES, 1e-6, 0, "hwmon/hwmon*/energy1_input"},
    {'i', MHZ, 1, 0, DRM "gt_act_freq_mhz"},
    {'i', MHZ, 1, 0, XE "act_freq"},
    {'i', MHZ_MAX, 1, 0, DRM "gt_RP0_freq_mhz"},
    {'i', MHZ_MAX, 1, 0, XE "rp0_freq"},
    {'i', WATTS_LIMIT, 1e-6, 0, "hwmon/hwmon*/power1_max"},
    {'i', JOULES, 1e-6, 0, "hwmon/hwmon*/energy1_input"},
    {'i', CELSIUS, 1e-3, 0, "hwmon/hwmon*/temp[12]_input"},
    {'i', -1, 1, LIMIT_POWER, DRM "gt/gt*/throttle_reason_pl*"},
    {'i', -1, 1, LIMIT_HEAT, DRM "gt/gt*/throttle_reason_*thermal*"},
    {'i', -1, 1, LIMIT_HEAT, DRM "gt/gt*/throttle_reason_prochot"},
    {'i', -1, 1, LIMIT_CURRENT, DRM "gt/gt*/throttle_reason_vr_tdc"},
    {'i', -1, 1, LIMIT_POWER, XE "throttle/reason_pl*"},
    {'i', -1, 1, LIMIT_HEAT, XE "throttle/reason_*thermal*"},
    {'i', -1, 1, LIMIT_HEAT, XE "throttle/reason_prochot"},
    {'i', -1, 1, LIMIT_CURRENT, XE "throttle/reason_vr_tdc"},
    {'c', MHZ, 1e-3, 0, CPUS "scaling_cur_freq"},
    {'c', MHZ_MAX, 1e-3, 0, CPUS "cpuinfo_max_freq"},
};
#define NROWS (sizeof rows / sizeof *rows)

typedef struct Files {
  int n;
  int fd[NROWS * MOST];
  unsigned char row[NROWS * MOST];
} Files;

static const char *root(void) {
  const char *name = getenv("CLSHELL_SYSFS");
  return name != NULL ? name : "/sys";
}

/* Reads a whole small file, from its beginning; false: it has nothing. */
static bool readtext(int fd, char *s, size_t room) {
  ssize_t n = fd >= 0 ? pread(fd, s, room - 1, 0) : -1;
  s[n > 0 ? n : 0] = '\0';
  return n > 0;
}

unsigned clsh_sysfs_vendor(const char *pci) {
  char path[512], s[32];
  snprintf(path, sizeof path, "%s/bus/pci/devices/%s/vendor", root(), pci);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool found = readtext(fd, s, sizeof s);
  if (fd >= 0)
    close(fd);
  return found ? (unsigned)strtoul(s, NULL, 16) : 0;
}

/* Opens the files of a row: as many as there may be, with equal steps. */
static void openrow(Files *f, size_t row, const char *folder) {
  char path[512];
  glob_t found;
  snprintf(path, sizeof path, "%s/%s", folder, rows[row].path);
  if (glob(path, 0, NULL, &found) != 0)
    return;
  size_t step = (found.gl_pathc + MOST - 1) / MOST;
  for (size_t i = 0; i < found.gl_pathc; i += step) {
    int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
    char s[16];
    if (readtext(fd, s, sizeof s)) {
      f->row[f->n] = (unsigned char)row;
      f->fd[f->n++] = fd;
    } else if (fd >= 0) {
      close(fd);
    }
  }
  globfree(&found);
}

static void *sysfs_open(const Address *a) {
  char folder[256];
  bool have[NREADINGS] = {false};
  Files *f = calloc(1, sizeof *f);
  if (f == NULL)
    return NULL;
  snprintf(folder, sizeof folder, "%s%s%s", root(),
           a->kind == 'c' ? "" : "/bus/pci/devices/", a->pci);
  for (size_t i = 0; i < NROWS; i++) {
    int before = f->n, value = rows[i].value;
    if (rows[i].kind != a->kind || (value >= 0 && have[value]))
      continue;
    openrow(f, i, folder);
    if (value >= 0)
      have[value] = f->n > before;
  }
  if (f->n > 0)
    return f;
  free(f);
  return NULL;
}

static void sysfs_close(void *state) {
  Files *f = state;
  for (int i = 0; i < f->n; i++)
    close(f->fd[i]);
  free(f);
}

/* The MHz of the starred or the last line of "0: 500Mhz\n1: 1800Mhz *\n". */
static double level(const char *s, bool starred) {
  double mhz = NAN, x;
  for (; s != NULL && *s != '\0'; s = strchr(s, '\n')) {
    s += *s == '\n';
    size_t n = strcspn(s, "\n");
    if (sscanf(s, "%*[^:\n]: %lf", &x) == 1 &&
        (!starred || memchr(s, '*', n) != NULL))
      mhz = x;
  }
  return mhz;
}

static bool sysfs_read(void *state, Reading *r, int depth) {
  Files *f = state;
  char s[1024], *end;
  (void)depth;
  for (int i = 0; i < f->n;) {
    size_t row = f->row[i];
    double sum = 0;
    int n = 0;
    for (; i < f->n && f->row[i] == row; i++) {
      if (!readtext(f->fd[i], s, sizeof s))
        continue;
      double x = rows[row].scale > 0 ? strtod(s, &end) * rows[row].scale
                                     : level(s, rows[row].limit == 1);
      if (rows[row].scale > 0 && end == s)
        continue;
      sum += x;
      n++;
    }
    if (rows[row].value < 0)
      r->limits |= n > 0 && sum > 0 ? rows[row].limit : 0;
    else if (n > 0)
      r->value[rows[row].value] = sum / n;
    if (n > 0 && rows[row].value == WATTS)
      r->value[WATTS_OVER] = rows[row].limit == 1 ? 1 : 0.1;
  }
  return true;
}

const Source clsh_sysfs_source = {sysfs_open, sysfs_read, sysfs_close};
