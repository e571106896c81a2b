/*
** isolate.c - --worker: has the OpenCL loader take worker.so for its only
** driver, which hands all work to a process of its own. The user's variables
** for the loader are as they were when that has been done.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define DRIVER "worker.so"
#define ICD "worker.icd" /* names it to the loader */
#define SLACK 1000UL     /* ns that a nap of this thread may last longer */
#define KEPT "CLSHELL_"  /* before the name: what the user's variable is */

static const char *const names[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"};
static const char *const kept[] = {KEPT "OCL_ICD_VENDORS",
                                   KEPT "OCL_ICD_FILENAMES"};

static void *driver; /* of dlopen; NULL: OpenCL runs in this process */

/*
** Makes a folder that names one driver, the file at `path`: all loaders take a
** folder for OCL_ICD_VENDORS, few a file. NVIDIA's needs the slash at its end.
*/
static bool newvendors(lua_State *L, const char *path, char *folder) {
  const char *tmp = getenv("TMPDIR");
  int n = snprintf(folder, PATH_MAX, "%s/clshell-XXXXXX",
                   tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
  if (n >= PATH_MAX - 1 || mkdtemp(folder) == NULL)
    return false;
  strcat(folder, "/");
  FILE *f = fopen(lua_pushfstring(L, "%s" ICD, folder), "w");
  bool fine = f != NULL && fprintf(f, "%s\n", path) > 0;
  return f != NULL && fclose(f) == 0 && fine;
}

/* Has the OpenCL loader load its drivers: those that `folder` names. */
static void load(const char *folder) {
  const char *values[] = {folder, ""};
  cl_uint n;
  for (int i = 0; i < 2; i++) {
    const char *value = getenv(names[i]);
    setenv(kept[i], value != NULL ? value : "", 1);
    setenv(names[i], values[i], 1);
  }
  clGetPlatformIDs(0, NULL, &n);
  for (int i = 0; i < 2; i++) {
    const char *value = getenv(kept[i]);
    if (*value != '\0')
      setenv(names[i], value, 1);
    else
      unsetenv(names[i]);
    unsetenv(kept[i]);
  }
}

/* Pushes the path of the driver: beside the program, or in its home. */
static const char *pushdriver(lua_State *L, const char *home) {
  clsh_home_pushprogram(L);
  clsh_home_pushfolder(L, lua_tostring(L, -1));
  const char *path = lua_pushfstring(L, "%s/" DRIVER, lua_tostring(L, -1));
  return access(path, R_OK) == 0 ? path
                                 : lua_pushfstring(L, "%s/" DRIVER, home);
}

/* Whether the environment asks for a worker: CLSHELL_WORKER=1. */
static bool iswished(void) {
  const char *s = getenv("CLSHELL_WORKER");
  return s != NULL && *s != '\0' && strcmp(s, "0") != 0;
}

/*
** Has OpenCL run in a worker where the user wants that. To be called before
** the first call of OpenCL.
*/
void clsh_isolate_open(lua_State *L, const Options *o, const char *home) {
  if (!o->worker && (!iswished() || o->tool != NULL))
    return;
  int base = lua_gettop(L);
  char folder[PATH_MAX] = "";
  const char *path = pushdriver(L, home);
  if (access(path, R_OK) != 0)
    clsh_error(L, "--worker: %s is not there; make builds it, on Linux", path);
  if (!newvendors(L, path, folder))
    clsh_error(L, "--worker: no file can be written in %s", folder);
  load(folder);
  unlink(lua_pushfstring(L, "%s" ICD, folder));
  rmdir(folder);
  driver = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (driver == NULL)
    clsh_error(L,
               "--worker: the OpenCL loader does not load %s; it must heed "
               "OCL_ICD_VENDORS, as those of ocl-icd and Khronos do",
               path);
  lua_settop(L, base);
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, SLACK); /* launches end soon after a first look */
#endif
}

/* isolate.worker() -> whether OpenCL runs in a process of its own */
static int isolate_worker(lua_State *L) {
  lua_pushboolean(L, driver != NULL);
  return 1;
}

/*
** isolate.kill() -> string, or nil. Ends that process and with it all that
** runs on its devices, and tells what that was.
*/
static int isolate_kill(lua_State *L) {
  void *p = driver != NULL ? dlsym(driver, "clsh_remote_kill") : NULL;
  void (*kill)(void);
  memcpy(&kill, &p, sizeof kill);
  if (p != NULL)
    kill();
  clsh_context_pushended(L);
  return 1;
}

/* require "clshell.isolate" */
int luaopen_clshell_isolate(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"kill", isolate_kill}, {"worker", isolate_worker}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
