/*
** enqueue.c - the message of a command, and what has to be there before it
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>

#include "remote.h"

/* A command to wait for that failed fails this one. */
Message *clsh_enqueue_begin(uint32_t op, const Event *e, cl_uint n,
                            const cl_event *list, cl_int *err) {
  Message *m = clsh_channel_begin(op);
  wire_putn(m, e->queue->head.id);
  wire_putn(m, e->slot);
  wire_putn(m, n);
  for (cl_uint i = 0; i < n; i++) {
    const Event *w = (const Event *)list[i];
    wire_putn(m, w->slot);
    if (clsh_heap_status(w->slot) < 0)
      *err = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return m;
}

/*
** A command that the driver is known to accept is posted. It may end the
** worker before that answers: then it was under way, and its Event tells.
*/
cl_int clsh_enqueue_send(Event *e, bool known, cl_int err, cl_event *result) {
  if (err == CL_SUCCESS) {
    clsh_command_add(e);
    e->queue->dirty = true;
    err = known ? clsh_channel_post() : clsh_channel_call();
    if (err == WORKER_DIED)
      err = CL_SUCCESS;
    if (err != CL_SUCCESS)
      clsh_command_refuse(e);
  }
  if (err == CL_SUCCESS && result != NULL)
    *result = (cl_event)e;
  else
    clsh_command_release(e);
  return err;
}

cl_int clsh_enqueue_prepare(Queue *q, Memory *m, bool reads) {
  cl_int err = q != NULL ? clsh_thing_ensure(q) : CL_SUCCESS;
  if (err == CL_SUCCESS && m != NULL)
    err = clsh_thing_ensure(m);
  if (err == CL_SUCCESS && reads && m->root->state == 'l') {
    char text[160];
    snprintf(text, sizeof text,
             WORKER_NOTICE
             "the content of this %s of %zu bytes was lost with a "
             "worker\nwrite all of it before it is read",
             m->root->image ? "Image" : "Buffer", m->root->size);
    clsh_thing_tell(text);
    err = CONTENT_LOST;
  }
  return err;
}

cl_int clsh_enqueue_mark(cl_command_queue queue, uint32_t op,
                         cl_command_type type, cl_uint n, const cl_event *list,
                         cl_event *result) {
  Queue *q = (Queue *)queue;
  cl_int err = clsh_enqueue_prepare(q, NULL, false);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, type, 0) : NULL;
  if (e == NULL)
    return err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY;
  clsh_enqueue_begin(op, e, n, list, &err);
  return clsh_enqueue_send(e, true, err, result);
}
