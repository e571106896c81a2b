/*
** calls.c - what the functions of the driver have in common: the lock, the
** worker, a value that is asked for, an object that is new, retained, released
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "remote.h"

#define MAXPLATFORMS 32

static Platform platforms[MAXPLATFORMS];
static cl_uint nplatforms;

/* Asks for all platforms and their devices, once. */
static bool getplatforms(void) {
  static bool done;
  uint32_t id = 1;
  if (done)
    return true;
  if (clsh_heap_wire == NULL && !clsh_heap_open())
    return false;
  clsh_command_open();
  if (!clsh_channel_start())
    return false;
  Message *in = wire_in(clsh_heap_wire);
  uint64_t n = wire_getn(in);
  for (uint64_t i = 0; i < n && i < MAXPLATFORMS; i++) {
    Platform *p = &platforms[nplatforms++];
    uint32_t count = (uint32_t)wire_getn(in);
    *p = (Platform){&clsh_thing_dispatch, id++, count, NULL};
    p->devices = calloc(count + 1, sizeof *p->devices);
    if (p->devices == NULL)
      return false;
    for (uint32_t j = 0; j < count; j++) {
      cl_device_type type = wire_getn(in);
      p->devices[j] =
          (Device){&clsh_thing_dispatch, p, id++, type, wire_getn(in) != 0};
    }
  }
  done = true;
  return true;
}

bool clsh_calls_enter(void) {
  clsh_channel_lock();
  if (clsh_channel_usable() && getplatforms() && clsh_channel_start()) {
    clsh_command_sweep();
    if (clsh_channel_start()) /* a fault may have ended it */
      return true;
  }
  clsh_channel_unlock();
  return false;
}

cl_int clsh_calls_leave(cl_int err) {
  clsh_channel_unlock();
  return err;
}

void *clsh_calls_leavewith(void *p, cl_int err, cl_int *errp) {
  clsh_channel_unlock();
  if (errp != NULL)
    *errp = err;
  return err == CL_SUCCESS ? p : NULL;
}

cl_uint clsh_calls_platforms(Platform **list) {
  *list = platforms;
  return nplatforms;
}

cl_int clsh_calls_give(const void *value, size_t n, size_t size, void *p,
                       size_t *real) {
  if (real != NULL)
    *real = n;
  if (p != NULL && size < n)
    return CL_INVALID_VALUE;
  if (p != NULL)
    memcpy(p, value, n);
  return CL_SUCCESS;
}

/* A worker that a kernel has ended meanwhile is replaced. */
cl_int clsh_calls_info(int kind, void *thing, uint32_t id, uint64_t other,
                       cl_uint what, size_t size, void *p, size_t *real) {
  if (!clsh_calls_enter())
    return NOWORKER;
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = thing != NULL          ? clsh_thing_ensure(thing)
          : clsh_channel_start() ? CL_SUCCESS
                                 : NOWORKER;
    if (err == CL_SUCCESS)
      err = clsh_thing_info(kind, id, other, what, size, p, real);
  }
  return clsh_calls_leave(err);
}

void *clsh_calls_made(void *thing, cl_int *errp) {
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++)
    err = clsh_thing_ensure(thing);
  if (err != CL_SUCCESS)
    clsh_thing_release(thing);
  return clsh_calls_leavewith(thing, err, errp);
}

cl_int clsh_calls_retain(void *thing) {
  clsh_channel_lock();
  clsh_thing_retain(thing);
  return clsh_calls_leave(CL_SUCCESS);
}

cl_int clsh_calls_release(void *thing) {
  clsh_channel_lock();
  if (clsh_channel_usable()) {
    clsh_command_sweep();
    clsh_thing_release(thing);
  }
  return clsh_calls_leave(CL_SUCCESS);
}
