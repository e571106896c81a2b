/*
** eventcalls.c - the functions of the driver about events: markers, barriers,
** what is known of a command, and waiting for it
** SPDX-License-Identifier: MIT
*/
#include <time.h>

#include "remote.h"

static cl_int CL_API_CALL enqueuemarker(cl_command_queue queue, cl_uint n,
                                        const cl_event *list,
                                        cl_event *result) {
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(
      clsh_enqueue_mark(queue, OP_MARKER, CL_COMMAND_MARKER, n, list, result));
}

static cl_int CL_API_CALL enqueuebarrier(cl_command_queue queue, cl_uint n,
                                         const cl_event *list,
                                         cl_event *result) {
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(clsh_enqueue_mark(
      queue, OP_BARRIER, CL_COMMAND_BARRIER, n, list, result));
}

static cl_int CL_API_CALL flush(cl_command_queue queue) {
  Queue *q = (Queue *)queue;
  if (!clsh_calls_enter())
    return NOWORKER;
  if (q->dirty && q->head.generation == clsh_channel.generation) {
    Message *m = clsh_channel_begin(OP_FLUSH);
    wire_putn(m, q->head.id);
    clsh_channel_post();
  }
  q->dirty = false;
  return clsh_calls_leave(CL_SUCCESS);
}

static cl_int eventstatus(Event *e) {
  clsh_channel_lock();
  return clsh_calls_leave(clsh_channel_usable() ? clsh_command_status(e)
                                                : WORKER_DIED);
}

static cl_int await(Event *e) {
  const struct timespec nap = {0, 50 * 1000};
  cl_int status;
  while ((status = eventstatus(e)) > CL_COMPLETE)
    nanosleep(&nap, NULL);
  return status;
}

static cl_int CL_API_CALL waitforevents(cl_uint n, const cl_event *list) {
  cl_int err = CL_SUCCESS;
  for (cl_uint i = 0; i < n; i++)
    if (await((Event *)list[i]) < 0)
      err = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return err;
}

static cl_int CL_API_CALL retainevent(cl_event e) {
  return clsh_calls_retain(e);
}

static cl_int CL_API_CALL releaseevent(cl_event e) {
  clsh_channel_lock();
  clsh_command_release((Event *)e);
  return clsh_calls_leave(CL_SUCCESS);
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
  cl_event marker = NULL;
  cl_int err = enqueuemarker(queue, 0, NULL, &marker);
  if (err != CL_SUCCESS)
    return err;
  flush(queue);
  waitforevents(1, &marker);
  return releaseevent(marker);
}

static cl_int CL_API_CALL geteventinfo(cl_event event, cl_event_info what,
                                       size_t size, void *p, size_t *real) {
  Event *e = (Event *)event;
  if (what == CL_EVENT_COMMAND_TYPE)
    return clsh_calls_give(&e->type, sizeof e->type, size, p, real);
  if (what != CL_EVENT_COMMAND_EXECUTION_STATUS)
    return CL_INVALID_VALUE;
  cl_int status = eventstatus(e);
  return clsh_calls_give(&status, sizeof status, size, p, real);
}

static cl_int CL_API_CALL getprofilinginfo(cl_event event,
                                           cl_profiling_info what, size_t size,
                                           void *p, size_t *real) {
  const Event *e = (const Event *)event;
  if (what < CL_PROFILING_COMMAND_QUEUED || what > CL_PROFILING_COMMAND_END)
    return CL_INVALID_VALUE;
  cl_ulong t =
      clsh_heap_wire->slot[e->slot].stamp[what - CL_PROFILING_COMMAND_QUEUED];
  if (clsh_heap_status(e->slot) != CL_COMPLETE || t == UINT64_MAX)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  return clsh_calls_give(&t, sizeof t, size, p, real);
}

void clsh_eventcalls_fill(cl_icd_dispatch *d) {
  d->clEnqueueMarkerWithWaitList = enqueuemarker;
  d->clEnqueueBarrierWithWaitList = enqueuebarrier;
  d->clFlush = flush;
  d->clFinish = finish;
  d->clWaitForEvents = waitforevents;
  d->clRetainEvent = retainevent;
  d->clReleaseEvent = releaseevent;
  d->clGetEventInfo = geteventinfo;
  d->clGetEventProfilingInfo = getprofilinginfo;
}
