/*
** later.c - functions of OpenCL 2.0 and later, which an older loader or driver
** lacks: they are looked up when a script needs them.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <string.h>

#include "context.h"

/*
** The loader's function `name` of OpenCL `version` (210 for 2.1). A driver's
** table of functions ends with those of its version. Raises where one is
** missing; `instead` tells what serves then.
*/
void clsh_later_find(lua_State *L, const Context *c, int version,
                     const char *name, const char *instead, void *f) {
  void *found = dlsym(RTLD_DEFAULT, name);
  if (c->limits.version < version)
    clsh_error_call(L, CL_INVALID_OPERATION, name,
                    "this needs OpenCL %d.%d; the device has %d.%d; %s",
                    version / 100, version / 10 % 10, c->limits.version / 100,
                    c->limits.version / 10 % 10, instead);
  if (found == NULL)
    clsh_error_call(L, CL_INVALID_OPERATION, name,
                    "this needs a loader (libOpenCL) of OpenCL %d.%d; %s",
                    version / 100, version / 10 % 10, instead);
  memcpy(f, &found, sizeof found);
}
