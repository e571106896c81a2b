/*
** imagecalls.c - the functions of the driver about images and samplers
** SPDX-License-Identifier: MIT
*/
#include "remote.h"

static cl_int CL_API_CALL getimageformats(cl_context context,
                                          cl_mem_flags flags,
                                          cl_mem_object_type what,
                                          cl_uint room, cl_image_format *list,
                                          cl_uint *n) {
  Context *c = (Context *)context;
  size_t bytes = 0;
  cl_int err = clsh_calls_info('f', c, c->head.id, flags, what,
                               room * sizeof *list, list, &bytes);
  if (n != NULL)
    *n = (cl_uint)(bytes / sizeof *list);
  return err;
}

static cl_int CL_API_CALL getimageinfo(cl_mem memory, cl_image_info what,
                                       size_t size, void *p, size_t *real) {
  Memory *m = (Memory *)memory;
  return clsh_calls_info('i', m, m->head.id, 0, what, size, p, real);
}

/* The bytes of an image as the host has it; no driver is asked. */
static size_t imagebytes(const cl_image_desc *d, size_t pixel) {
  size_t height = d->image_height > 0 ? d->image_height : 1;
  size_t depth = d->image_depth > 0 ? d->image_depth : 1;
  size_t count = d->image_array_size > 0 ? d->image_array_size : 1;
  return d->image_width * height * depth * count * pixel;
}

static cl_mem CL_API_CALL createimage(cl_context context, cl_mem_flags flags,
                                      const cl_image_format *format,
                                      const cl_image_desc *desc, void *host,
                                      cl_int *errp) {
  Memory *buffer = (Memory *)desc->buffer;
  size_t pixel = 0;
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = host == NULL ? clsh_thing_new('m', sizeof *m,
                                            buffer != NULL ? (void *)buffer
                                                           : (void *)context)
                           : NULL;
  if (m == NULL)
    return clsh_calls_leavewith(
        NULL, host != NULL ? CL_INVALID_OPERATION : CL_OUT_OF_HOST_MEMORY,
        errp);
  m->root = buffer != NULL ? buffer->root : m;
  m->shared = m->root->shared;
  m->flags = flags;
  m->image = true;
  m->format = *format;
  m->desc = *desc;
  m->desc.buffer = NULL;
  m = clsh_calls_made(m, errp);
  cl_int err = m != NULL ? getimageinfo((cl_mem)m, CL_IMAGE_ELEMENT_SIZE,
                                        sizeof pixel, &pixel, NULL)
                         : CL_SUCCESS;
  if (err != CL_SUCCESS) {
    clsh_calls_release(m);
    *errp = err;
    return NULL;
  }
  if (m != NULL)
    m->size = imagebytes(desc, pixel);
  return (cl_mem)m;
}

static cl_sampler CL_API_CALL createsampler(cl_context context,
                                            cl_bool normalized,
                                            cl_addressing_mode address,
                                            cl_filter_mode filter,
                                            cl_int *errp) {
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Sampler *s = clsh_thing_new('s', sizeof *s, context);
  if (s == NULL)
    return clsh_calls_leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  s->normalized = normalized;
  s->address = address;
  s->filter = filter;
  return clsh_calls_made(s, errp);
}

static cl_int CL_API_CALL releasesampler(cl_sampler s) {
  return clsh_calls_release(s);
}

#define COLOR 16 /* bytes of the one that fills */

/* What moves pixels: between two objects, or one and the host. */
typedef struct Pixels {
  cl_command_type type;
  Memory *from, *to; /* NULL: the host */
  const size_t *at, *toat, *region;
  size_t offset;     /* in a buffer */
  const void *bytes; /* written or filled with */
  void *target;      /* read into */
} Pixels;

static cl_int move(cl_command_queue queue, const Pixels *p, cl_uint n,
                   const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *image = p->from != NULL && p->from->image ? p->from : p->to;
  bool fill = p->type == CL_COMMAND_FILL_IMAGE;
  size_t pixel = image->size / imagebytes(&image->desc, 1);
  size_t bytes = p->region[0] * p->region[1] * p->region[2] * pixel;
  bool whole = p->to != NULL && p->to->image && bytes == p->to->size;
  if (!clsh_calls_enter())
    return NOWORKER;
  cl_int err = clsh_enqueue_prepare(q, p->from, p->from != NULL);
  if (err == CL_SUCCESS)
    err = clsh_enqueue_prepare(NULL, p->to, p->to != NULL && !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, p->type, 2) : NULL;
  if (e == NULL)
    return clsh_calls_leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  if (p->from != NULL)
    clsh_command_hold(e, p->from);
  if (p->to != NULL)
    clsh_command_hold(e, p->to);
  bool hosted = p->from == NULL || p->to == NULL;
  size_t room = fill ? COLOR : bytes;
  if (hosted && (e->staging = clsh_heap_take(room)) == 0) {
    clsh_command_release(e);
    return clsh_calls_leave(CL_OUT_OF_HOST_MEMORY);
  }
  if (p->bytes != NULL)
    memcpy(wire_at(clsh_heap_wire, e->staging), p->bytes, room);
  Message *m = clsh_enqueue_begin(OP_PIXELS, e, n, list, &err);
  wire_putn(m, p->type);
  wire_putn(m, p->from != NULL ? p->from->head.id : 0);
  wire_putn(m, p->to != NULL ? p->to->head.id : 0);
  for (int i = 0; i < 3; i++) {
    wire_putn(m, p->at[i]);
    wire_putn(m, p->toat[i]);
    wire_putn(m, p->region[i]);
  }
  wire_putn(m, p->offset);
  wire_putn(m, e->staging);
  e->target = p->target;
  e->bytes = bytes;
  if (p->to != NULL)
    clsh_thing_keep(p->to, 0);
  e->whole = hosted && !fill && image->root == image && bytes == image->size;
  e->version = image->root->version;
  return clsh_calls_leave(clsh_enqueue_send(e, false, err, result));
}

static cl_int CL_API_CALL enqueuereadimage(
    cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *at,
    const size_t *region, size_t pitch, size_t slice, void *p, cl_uint n,
    const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_READ_IMAGE,
                    .from = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .target = p};
  if (blocking || pitch != 0 || slice != 0)
    return CL_INVALID_OPERATION;
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuewriteimage(
    cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *at,
    const size_t *region, size_t pitch, size_t slice, const void *p, cl_uint n,
    const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_WRITE_IMAGE,
                    .to = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .bytes = p};
  if (blocking || pitch != 0 || slice != 0)
    return CL_INVALID_OPERATION;
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuefillimage(
    cl_command_queue queue, cl_mem image, const void *color, const size_t *at,
    const size_t *region, cl_uint n, const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_FILL_IMAGE,
                    .to = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .bytes = color};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuecopyimage(cl_command_queue queue, cl_mem from,
                                           cl_mem to, const size_t *at,
                                           const size_t *toat,
                                           const size_t *region, cl_uint n,
                                           const cl_event *list,
                                           cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_IMAGE,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = toat,
                    .region = region};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuetobuffer(cl_command_queue queue, cl_mem from,
                                          cl_mem to, const size_t *at,
                                          const size_t *region, size_t offset,
                                          cl_uint n, const cl_event *list,
                                          cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_IMAGE_TO_BUFFER,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .offset = offset};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuefrombuffer(cl_command_queue queue,
                                            cl_mem from, cl_mem to,
                                            size_t offset, const size_t *at,
                                            const size_t *region, cl_uint n,
                                            const cl_event *list,
                                            cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_BUFFER_TO_IMAGE,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .offset = offset};
  return move(queue, &o, n, list, result);
}

void clsh_imagecalls_fill(cl_icd_dispatch *d) {
  d->clGetSupportedImageFormats = getimageformats;
  d->clGetImageInfo = getimageinfo;
  d->clCreateImage = createimage;
  d->clCreateSampler = createsampler;
  d->clReleaseSampler = releasesampler;
  d->clEnqueueReadImage = enqueuereadimage;
  d->clEnqueueWriteImage = enqueuewriteimage;
  d->clEnqueueFillImage = enqueuefillimage;
  d->clEnqueueCopyImage = enqueuecopyimage;
  d->clEnqueueCopyImageToBuffer = enqueuetobuffer;
  d->clEnqueueCopyBufferToImage = enqueuefrombuffer;
}
