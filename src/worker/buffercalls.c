/*
** buffercalls.c - the functions of the driver about buffers: parts, transfers,
** copies, fills and mappings
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "remote.h"

static cl_mem CL_API_CALL createbuffer(cl_context context, cl_mem_flags flags,
                                       size_t size, void *host, cl_int *errp) {
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = host == NULL ? clsh_thing_new('m', sizeof *m, context) : NULL;
  if (m == NULL)
    return clsh_calls_leavewith(
        NULL, host != NULL ? CL_INVALID_OPERATION : CL_OUT_OF_HOST_MEMORY,
        errp);
  m->root = m;
  m->size = size;
  m->shared = ((Context *)context)->device->shared;
  m->flags = flags;
  if (m->shared) {
    m->flags &= ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR;
    m->block = clsh_heap_takeguarded(size, &m->content, &m->guard);
  }
  if (m->shared && m->block == 0) {
    clsh_thing_release(m);
    return clsh_calls_leavewith(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errp);
  }
  return clsh_calls_made(m, errp);
}

static cl_mem CL_API_CALL createsubbuffer(cl_mem root, cl_mem_flags flags,
                                          cl_buffer_create_type type,
                                          const void *info, cl_int *errp) {
  const cl_buffer_region *r = info;
  (void)type; /* there is but one */
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = clsh_thing_new('m', sizeof *m, root);
  if (m == NULL)
    return clsh_calls_leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  m->root = (Memory *)root;
  m->shared = m->root->shared;
  m->flags = flags;
  m->origin = r->origin;
  m->size = r->size;
  return clsh_calls_made(m, errp);
}

static cl_int CL_API_CALL retainmemory(cl_mem m) {
  return clsh_calls_retain(m);
}

static cl_int CL_API_CALL releasememory(cl_mem m) {
  return clsh_calls_release(m);
}

/* A part of a buffer: rows, `pitch` bytes apart, 0: one row; in slices. */
typedef struct Rows {
  size_t origin[3], region[3], pitch, slice;
} Rows;

/*
** Enqueues a read into, or a write from, a staging block in the heap. A write
** has its bytes at once; `target` gets those of a read at its end.
*/
static cl_int transfer(cl_command_queue queue, cl_mem memory, const Rows *r,
                       cl_command_type type, size_t staging, const void *from,
                       void *target, cl_uint n, const cl_event *list,
                       cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *b = (Memory *)memory;
  bool write = type == CL_COMMAND_WRITE_BUFFER ||
               type == CL_COMMAND_WRITE_BUFFER_RECT ||
               type == CL_COMMAND_UNMAP_MEM_OBJECT;
  size_t bytes = r->region[0] * r->region[1] * r->region[2];
  bool whole = b->root == b && r->pitch == 0 && bytes == b->size;
  cl_int err = clsh_enqueue_prepare(q, b, !(write && whole));
  if (err != CL_SUCCESS)
    return err;
  Event *e = clsh_command_new(q, type, 1);
  if (e == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  clsh_command_hold(e, b);
  e->staging = staging != 0 ? staging : clsh_heap_take(bytes);
  if (e->staging == 0) {
    clsh_command_release(e);
    return CL_OUT_OF_HOST_MEMORY;
  }
  if (from != NULL)
    memcpy(wire_at(clsh_heap_wire, e->staging), from, bytes);
  Message *m =
      clsh_enqueue_begin(write ? OP_WRITE : OP_READ, e, n, list, &err);
  wire_putn(m, b->head.id);
  for (int i = 0; i < 3; i++)
    wire_putn(m, r->origin[i]);
  for (int i = 0; i < 3; i++)
    wire_putn(m, r->region[i]);
  wire_putn(m, r->pitch);
  wire_putn(m, r->slice);
  wire_putn(m, e->staging);
  e->target = target;
  e->bytes = bytes;
  if (write)
    clsh_thing_keep(b, 0);
  e->whole = whole && type != CL_COMMAND_MAP_BUFFER;
  e->version = b->root->version;
  if (type == CL_COMMAND_MAP_BUFFER) /* the mapping's, until it is unmapped */
    e->staging = 0;
  return clsh_enqueue_send(e, false, err, result);
}

static cl_int CL_API_CALL enqueueread(cl_command_queue queue, cl_mem memory,
                                      cl_bool blocking, size_t offset,
                                      size_t size, void *p, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  if (blocking)
    return CL_INVALID_OPERATION;
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(transfer(queue, memory, &r, CL_COMMAND_READ_BUFFER,
                                   0, NULL, p, n, list, result));
}

/* A blocking write may return at once: the bytes are copied. */
static cl_int CL_API_CALL enqueuewrite(cl_command_queue queue, cl_mem memory,
                                       cl_bool blocking, size_t offset,
                                       size_t size, const void *p, cl_uint n,
                                       const cl_event *list,
                                       cl_event *result) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  (void)blocking;
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(transfer(queue, memory, &r, CL_COMMAND_WRITE_BUFFER,
                                   0, p, NULL, n, list, result));
}

/* Rows that are dense on the host: all that module cl has. */
static bool isdense(const size_t *origin, const size_t *region, size_t pitch,
                    size_t slice) {
  return origin[0] == 0 && origin[1] == 0 && origin[2] == 0 && slice == 0 &&
         (pitch == 0 || pitch == region[0]);
}

static cl_int CL_API_CALL enqueuereadrect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking,
    const size_t *origin, const size_t *hostorigin, const size_t *region,
    size_t pitch, size_t slice, size_t hostpitch, size_t hostslice, void *p,
    cl_uint n, const cl_event *list, cl_event *result) {
  const Rows r = {{origin[0], origin[1], origin[2]},
                  {region[0], region[1], region[2]},
                  pitch,
                  slice};
  if (blocking || !isdense(hostorigin, region, hostpitch, hostslice))
    return CL_INVALID_OPERATION;
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(transfer(queue, memory, &r,
                                   CL_COMMAND_READ_BUFFER_RECT, 0, NULL, p, n,
                                   list, result));
}

static cl_int CL_API_CALL enqueuewriterect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking,
    const size_t *origin, const size_t *hostorigin, const size_t *region,
    size_t pitch, size_t slice, size_t hostpitch, size_t hostslice,
    const void *p, cl_uint n, const cl_event *list, cl_event *result) {
  const Rows r = {{origin[0], origin[1], origin[2]},
                  {region[0], region[1], region[2]},
                  pitch,
                  slice};
  (void)blocking;
  if (!isdense(hostorigin, region, hostpitch, hostslice))
    return CL_INVALID_OPERATION;
  if (!clsh_calls_enter())
    return NOWORKER;
  return clsh_calls_leave(transfer(queue, memory, &r,
                                   CL_COMMAND_WRITE_BUFFER_RECT, 0, p, NULL, n,
                                   list, result));
}

/* Enqueues a copy of `bytes`, or of rows where `region` is more. */
static cl_int copy(Queue *q, Memory *from, Memory *to, cl_command_type type,
                   const size_t n[13], cl_uint nwaits, const cl_event *list,
                   cl_event *result) {
  if (!clsh_calls_enter())
    return NOWORKER;
  bool rows = type == CL_COMMAND_COPY_BUFFER_RECT;
  bool whole = !rows && to->root == to && n[6] == to->size;
  cl_int err = clsh_enqueue_prepare(q, from, true);
  if (err == CL_SUCCESS)
    err = clsh_enqueue_prepare(NULL, to, !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, type, 2) : NULL;
  if (e == NULL)
    return clsh_calls_leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  clsh_command_hold(e, from);
  clsh_command_hold(e, to);
  Message *m = clsh_enqueue_begin(OP_COPY, e, nwaits, list, &err);
  wire_putn(m, from->head.id);
  wire_putn(m, to->head.id);
  wire_putn(m, rows);
  for (int i = 0; i < 13; i++)
    wire_putn(m, n[i]);
  clsh_thing_keep(to, 0);
  return clsh_calls_leave(clsh_enqueue_send(e, false, err, result));
}

static cl_int CL_API_CALL enqueuecopy(cl_command_queue queue, cl_mem from,
                                      cl_mem to, size_t at, size_t toat,
                                      size_t size, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  const size_t sizes[13] = {at, 0, 0, toat, 0, 0, size};
  return copy((Queue *)queue, (Memory *)from, (Memory *)to,
              CL_COMMAND_COPY_BUFFER, sizes, n, list, result);
}

static cl_int CL_API_CALL
enqueuecopyrect(cl_command_queue queue, cl_mem from, cl_mem to,
                const size_t *at, const size_t *toat, const size_t *region,
                size_t pitch, size_t slice, size_t topitch, size_t toslice,
                cl_uint n, const cl_event *list, cl_event *result) {
  const size_t sizes[13] = {at[0],   at[1],     at[2],     toat[0],   toat[1],
                            toat[2], region[0], region[1], region[2], pitch,
                            slice,   topitch,   toslice};
  return copy((Queue *)queue, (Memory *)from, (Memory *)to,
              CL_COMMAND_COPY_BUFFER_RECT, sizes, n, list, result);
}

static cl_int CL_API_CALL enqueuefill(cl_command_queue queue, cl_mem memory,
                                      const void *pattern, size_t npattern,
                                      size_t offset, size_t size, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *b = (Memory *)memory;
  if (!clsh_calls_enter())
    return NOWORKER;
  bool whole = b->root == b && size == b->size;
  cl_int err = clsh_enqueue_prepare(q, b, !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, CL_COMMAND_FILL_BUFFER, 1)
                               : NULL;
  if (e == NULL)
    return clsh_calls_leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  clsh_command_hold(e, b);
  Message *m = clsh_enqueue_begin(OP_FILL, e, n, list, &err);
  wire_putn(m, b->head.id);
  wire_putn(m, offset);
  wire_putn(m, size);
  wire_putn(m, npattern);
  wire_put(m, pattern, npattern);
  err = clsh_enqueue_send(e, false, err, result);
  if (err == CL_SUCCESS)
    clsh_thing_keep(b, 0);
  if (err == CL_SUCCESS && whole && npattern <= sizeof b->pattern) {
    memcpy(b->pattern, pattern, npattern);
    b->npattern = npattern;
    b->state = 'h';
  }
  return clsh_calls_leave(err);
}

/* A mapping: a copy in the heap, which unmapping writes back. */
typedef struct Mapping {
  struct Mapping *next;
  Memory *memory;
  size_t staging, offset, size;
  bool writes;
} Mapping;

static Mapping *mappings;

static void *CL_API_CALL enqueuemap(cl_command_queue queue, cl_mem memory,
                                    cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint n,
                                    const cl_event *list, cl_event *result,
                                    cl_int *errp) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  if (blocking || !clsh_calls_enter()) {
    *errp = blocking ? CL_INVALID_OPERATION : NOWORKER;
    return NULL;
  }
  Mapping *p = malloc(sizeof *p);
  size_t staging = clsh_heap_take(size);
  cl_int err = CL_OUT_OF_HOST_MEMORY;
  if (p != NULL && staging != 0)
    err = transfer(queue, memory, &r, CL_COMMAND_MAP_BUFFER, staging, NULL,
                   NULL, n, list, result);
  if (err != CL_SUCCESS) {
    clsh_heap_give(staging);
    free(p);
    return clsh_calls_leavewith(NULL, err, errp);
  }
  *p = (Mapping){mappings, clsh_thing_retain(memory),
                 staging,  offset,
                 size,     (flags & ~(cl_map_flags)CL_MAP_READ) != 0};
  mappings = p;
  return clsh_calls_leavewith(wire_at(clsh_heap_wire, staging), CL_SUCCESS,
                              errp);
}

static cl_int CL_API_CALL enqueueunmap(cl_command_queue queue, cl_mem memory,
                                       void *mapped, cl_uint n,
                                       const cl_event *list,
                                       cl_event *result) {
  Mapping **at = &mappings;
  if (!clsh_calls_enter())
    return NOWORKER;
  while (*at != NULL && wire_at(clsh_heap_wire, (*at)->staging) != mapped)
    at = &(*at)->next;
  Mapping *p = *at;
  if (p == NULL)
    return clsh_calls_leave(CL_INVALID_VALUE);
  const Rows r = {{p->offset, 0, 0}, {p->size, 1, 1}, 0, 0};
  *at = p->next;
  cl_int err;
  if (p->writes)
    err = transfer(queue, memory, &r, CL_COMMAND_UNMAP_MEM_OBJECT, p->staging,
                   NULL, NULL, n, list, result);
  else {
    clsh_heap_give(p->staging);
    err = clsh_enqueue_mark(queue, OP_MARKER, CL_COMMAND_UNMAP_MEM_OBJECT, n,
                            list, result);
  }
  clsh_thing_release(p->memory);
  free(p);
  return clsh_calls_leave(err);
}

void clsh_buffercalls_fill(cl_icd_dispatch *d) {
  d->clCreateBuffer = createbuffer;
  d->clCreateSubBuffer = createsubbuffer;
  d->clRetainMemObject = retainmemory;
  d->clReleaseMemObject = releasememory;
  d->clEnqueueReadBuffer = enqueueread;
  d->clEnqueueWriteBuffer = enqueuewrite;
  d->clEnqueueReadBufferRect = enqueuereadrect;
  d->clEnqueueWriteBufferRect = enqueuewriterect;
  d->clEnqueueCopyBuffer = enqueuecopy;
  d->clEnqueueCopyBufferRect = enqueuecopyrect;
  d->clEnqueueFillBuffer = enqueuefill;
  d->clEnqueueMapBuffer = enqueuemap;
  d->clEnqueueUnmapMemObject = enqueueunmap;
}
