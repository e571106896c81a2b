/*
** devicecalls.c - the functions of the driver about platforms, devices,
** contexts and queues
** SPDX-License-Identifier: MIT
*/
#include "remote.h"

#define SVM_CAPABILITIES 0x1053 /* CL_DEVICE_... of OpenCL 2.0 */
#define IL_VERSION 0x105B       /* and 2.1 */
#define NOPLATFORM (-1001)      /* of the loader */

static cl_int CL_API_CALL getplatformids(cl_uint room, cl_platform_id *list,
                                         cl_uint *n) {
  Platform *platforms;
  if (!clsh_calls_enter())
    return NOPLATFORM;
  cl_uint count = clsh_calls_platforms(&platforms);
  for (cl_uint i = 0; list != NULL && i < room && i < count; i++)
    list[i] = (cl_platform_id)&platforms[i];
  if (n != NULL)
    *n = count;
  return clsh_calls_leave(count > 0 ? CL_SUCCESS : NOPLATFORM);
}

/* The loader trusts that texts end: they do, whatever the driver gives. */
static cl_int CL_API_CALL getplatforminfo(cl_platform_id platform,
                                          cl_platform_info what, size_t size,
                                          void *p, size_t *real) {
  const Platform *o = (const Platform *)platform;
  cl_int err = clsh_calls_info('p', NULL, o->id, 0, what, size, p, real);
  if (err == CL_SUCCESS && p != NULL && size > 0)
    ((char *)p)[size - 1] = '\0';
  if (err == CL_SUCCESS && real != NULL && *real == 0)
    *real = 1;
  return err;
}

static cl_int CL_API_CALL getdeviceids(cl_platform_id platform,
                                       cl_device_type type, cl_uint room,
                                       cl_device_id *list, cl_uint *n) {
  Platform *o = (Platform *)platform;
  cl_uint found = 0;
  for (uint32_t i = 0; i < o->ndevices; i++) {
    if (type != CL_DEVICE_TYPE_ALL && (o->devices[i].type & type) == 0)
      continue;
    if (list != NULL && found < room)
      list[found] = (cl_device_id)&o->devices[i];
    found++;
  }
  if (n != NULL)
    *n = found;
  return found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL getdeviceinfo(cl_device_id device,
                                        cl_device_info what, size_t size,
                                        void *p, size_t *real) {
  const Device *d = (const Device *)device;
  if (what == SVM_CAPABILITIES || what == IL_VERSION) { /* it has neither */
    const cl_bitfield none = 0;                         /* or an empty text */
    return clsh_calls_give(&none, what == IL_VERSION ? 1 : sizeof none, size,
                           p, real);
  }
  cl_int err = clsh_calls_info('d', NULL, d->id, 0, what, size, p, real);
  if (err == CL_SUCCESS && what == CL_DEVICE_PLATFORM && p != NULL)
    memcpy(p, &d->platform, sizeof d->platform);
  return err;
}

static cl_context CL_API_CALL createcontext(
    const cl_context_properties *properties, cl_uint n,
    const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
    void *user, cl_int *errp) {
  (void)properties;
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Context *c = n == 1 ? clsh_thing_new('c', sizeof *c, NULL) : NULL;
  if (c == NULL)
    return clsh_calls_leavewith(
        NULL, n == 1 ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_VALUE, errp);
  c->device = (Device *)devices[0];
  c->notify = notify;
  c->user = user;
  return clsh_calls_made(c, errp);
}

static cl_command_queue CL_API_CALL
createqueue(cl_context context, cl_device_id device,
            cl_command_queue_properties properties, cl_int *errp) {
  (void)device; /* that of the context */
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Queue *q = clsh_thing_new('q', sizeof *q, context);
  if (q == NULL)
    return clsh_calls_leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  q->properties = properties;
  return clsh_calls_made(q, errp);
}

static cl_int CL_API_CALL retainqueue(cl_command_queue q) {
  return clsh_calls_retain(q);
}

static cl_int CL_API_CALL releasecontext(cl_context c) {
  return clsh_calls_release(c);
}

static cl_int CL_API_CALL releasequeue(cl_command_queue q) {
  return clsh_calls_release(q);
}

void clsh_devicecalls_fill(cl_icd_dispatch *d) {
  d->clGetPlatformIDs = getplatformids;
  d->clGetPlatformInfo = getplatforminfo;
  d->clGetDeviceIDs = getdeviceids;
  d->clGetDeviceInfo = getdeviceinfo;
  d->clCreateContext = createcontext;
  d->clReleaseContext = releasecontext;
  d->clCreateCommandQueue = createqueue;
  d->clRetainCommandQueue = retainqueue;
  d->clReleaseCommandQueue = releasequeue;
}
