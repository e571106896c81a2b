/*
** remote.c - the table of the driver's functions, and its way into the OpenCL
** loader
** SPDX-License-Identifier: MIT
*/
#include "remote.h"

static cl_int CL_API_CALL unsupported(void) {
  return WORKER_LACKS;
}

/* The functions of extensions do not go to the worker. */
static void *CL_API_CALL getextension(cl_platform_id platform,
                                      const char *name) {
  (void)platform, (void)name;
  return NULL;
}

/* Fills the table of functions; those that module cl never calls say so. */
static void filldispatch(void) {
  cl_icd_dispatch d;
  memset(&d, 0, sizeof d);
  clsh_devicecalls_fill(&d);
  clsh_programcalls_fill(&d);
  clsh_kernelcalls_fill(&d);
  clsh_buffercalls_fill(&d);
  clsh_imagecalls_fill(&d);
  clsh_eventcalls_fill(&d);
  d.clGetExtensionFunctionAddressForPlatform = getextension;
  void *none = (void *)(uintptr_t)unsupported;
  for (size_t i = 0; i < sizeof d; i += sizeof none) {
    void *f;
    memcpy(&f, (char *)&d + i, sizeof f);
    if (f == NULL)
      memcpy((char *)&d + i, &none, sizeof none);
  }
  clsh_thing_dispatch = d;
}

/* For the program that the driver is loaded in: ends what is under way. */
__attribute__((visibility("default"))) void clsh_remote_kill(void);

void clsh_remote_kill(void) {
  clsh_channel_lock();
  if (clsh_channel_usable())
    clsh_channel_end();
  clsh_channel_unlock();
}

/* Where the loader finds this driver's functions. */
__attribute__((visibility("default"))) void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name) {
  if (clsh_thing_dispatch.clGetPlatformIDs == NULL)
    filldispatch();
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
    return (void *)(uintptr_t)clsh_thing_dispatch.clGetPlatformIDs;
  if (strcmp(name, "clGetPlatformInfo") == 0)
    return (void *)(uintptr_t)clsh_thing_dispatch.clGetPlatformInfo;
  return NULL;
}
