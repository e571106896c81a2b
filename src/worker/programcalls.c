/*
** programcalls.c - the functions of the driver about programs
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "remote.h"

static Program *newprogram(cl_context context, bool source, size_t size,
                           cl_int *errp) {
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Program *p = clsh_thing_new('P', sizeof *p + size + 1, context);
  if (p == NULL)
    return clsh_calls_leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  p->device = ((Context *)context)->device;
  p->source = source;
  p->size = size;
  return p;
}

static cl_program CL_API_CALL createwithsource(cl_context context, cl_uint n,
                                               const char **strings,
                                               const size_t *lengths,
                                               cl_int *errp) {
  size_t size = 0;
  for (cl_uint i = 0; i < n; i++)
    size +=
        lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(strings[i]);
  Program *p = newprogram(context, true, size, errp);
  if (p == NULL)
    return NULL;
  size = 0;
  for (cl_uint i = 0; i < n; i++) {
    size_t len =
        lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(strings[i]);
    memcpy(p->text + size, strings[i], len);
    size += len;
  }
  return clsh_calls_made(p, errp);
}

static cl_program CL_API_CALL createwithbinary(cl_context context, cl_uint n,
                                               const cl_device_id *devices,
                                               const size_t *lengths,
                                               const unsigned char **binaries,
                                               cl_int *status, cl_int *errp) {
  (void)devices;
  if (n != 1) {
    *errp = CL_INVALID_VALUE;
    return NULL;
  }
  Program *p = newprogram(context, false, lengths[0], errp);
  if (p == NULL)
    return NULL;
  memcpy(p->text, binaries[0], lengths[0]);
  cl_program result = clsh_calls_made(p, errp);
  if (status != NULL)
    *status = *errp;
  return result;
}

static cl_int CL_API_CALL
buildprogram(cl_program program, cl_uint n, const cl_device_id *devices,
             const char *options,
             void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
  Program *p = (Program *)program;
  (void)n, (void)devices, (void)notify, (void)user;
  options = options != NULL ? options : "";
  if (!clsh_calls_enter())
    return NOWORKER;
  cl_int err = WORKER_DIED;
  p->built = false;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = clsh_thing_ensure(p);
    if (err == CL_SUCCESS)
      err = clsh_thing_build(p, options, true);
  }
  free(p->options);
  p->options = strdup(options);
  p->built = err == CL_SUCCESS && p->options != NULL;
  return clsh_calls_leave(err);
}

static cl_int CL_API_CALL getprograminfo(cl_program program,
                                         cl_program_info what, size_t size,
                                         void *p, size_t *real) {
  Program *o = (Program *)program;
  if (what != CL_PROGRAM_BINARIES)
    return clsh_calls_info('P', o, o->head.id, 0, what, size, p, real);
  if (!clsh_calls_enter())
    return NOWORKER;
  cl_int err = clsh_thing_ensure(o);
  Message *m = clsh_channel_begin(OP_GETBINARY);
  wire_putn(m, o->head.id);
  if (err == CL_SUCCESS)
    err = clsh_channel_call();
  if (err == CL_SUCCESS) {
    size_t n = (size_t)wire_getn(wire_in(clsh_heap_wire));
    const void *bytes = wire_get(wire_in(clsh_heap_wire), n);
    if (bytes != NULL)
      memcpy(*(void **)p, bytes, n);
    else
      err = CL_OUT_OF_HOST_MEMORY;
  }
  return clsh_calls_leave(err);
}

static cl_int CL_API_CALL getbuildinfo(cl_program program, cl_device_id device,
                                       cl_program_build_info what, size_t size,
                                       void *p, size_t *real) {
  Program *o = (Program *)program;
  return clsh_calls_info('b', o, o->head.id, ((Device *)device)->id, what,
                         size, p, real);
}

#define MAXARGS 65536 /* a driver that tells of more is wrong */

static cl_int CL_API_CALL retainprogram(cl_program p) {
  return clsh_calls_retain(p);
}

static cl_int CL_API_CALL releaseprogram(cl_program p) {
  return clsh_calls_release(p);
}

void clsh_programcalls_fill(cl_icd_dispatch *d) {
  d->clCreateProgramWithSource = createwithsource;
  d->clCreateProgramWithBinary = createwithbinary;
  d->clRetainProgram = retainprogram;
  d->clReleaseProgram = releaseprogram;
  d->clBuildProgram = buildprogram;
  d->clGetProgramInfo = getprograminfo;
  d->clGetProgramBuildInfo = getbuildinfo;
}
