/*
** region.c - parts of buffers: as few pieces as they have, their parts of a
** few MiB, and the commands that read and write them.
** SPDX-License-Identifier: MIT
*/
#include "region.h"

/* The same part in as few pieces as it has. */
Region clsh_region_joined(const Region *from) {
  Region r = *from;
  for (int i = 0; i < 2; i++) {
    if (r.rows > 1 && r.width == r.pitch) {
      r.width *= r.rows;
      r.rows = 1;
    }
    if (r.rows == 1 && r.slices > 1) {
      r.rows = r.slices;
      r.pitch = r.slice;
      r.slices = 1;
      r.slice = 0;
    }
  }
  return r;
}

/* A part in one piece as rows and slices like those of `other`. */
Region clsh_region_laid(const Region *r, const Region *other) {
  Region like = *other;
  like.offset = r->offset;
  like.pitch = like.width;
  like.slice = like.slices > 1 ? like.rows * like.width : 0;
  return like;
}

/* The place of a part in buffers of its pitches. */
void clsh_region_origin(const Region *r, size_t origin[3]) {
  size_t in = r->slice > 0 ? r->offset % r->slice : r->offset;
  origin[0] = in % r->pitch;
  origin[1] = in / r->pitch;
  origin[2] = r->slice > 0 ? r->offset / r->slice : 0;
}

/* The bytes from a region's beginning to its end. */
size_t clsh_region_extent(const Region *r) {
  return (r->slices - 1) * r->slice + (r->rows - 1) * r->pitch + r->width;
}

/* The bytes in a region, without gaps. */
size_t clsh_region_bytes(const Region *r) {
  return r->width * r->rows * r->slices;
}

/*
** The next part of at most `most` bytes behind the first `*done` ones: whole
** rows of one slice, or a part of a row. False: there is none.
*/
bool clsh_region_next(const Region *whole, size_t most, size_t *done,
                      Region *part) {
  size_t col = *done % whole->width, row = *done / whole->width;
  size_t slice = row / whole->rows;
  row %= whole->rows;
  if (slice >= whole->slices)
    return false;
  *part = (Region){.width = whole->width, .rows = 1, .slices = 1};
  part->pitch = whole->rows > 1 ? whole->pitch : whole->width;
  part->offset =
      whole->offset + slice * whole->slice + row * whole->pitch + col;
  if (col > 0 || whole->width > most) {
    part->width = whole->width - col < most ? whole->width - col : most;
  } else {
    size_t rest = whole->rows - row, fit = most / whole->width;
    part->rows = rest < fit ? rest : fit;
  }
  *done += part->width * part->rows;
  return true;
}

static cl_int enqueue(bool write, const Move *m, cl_mem mem, const Region *r,
                      void *host, cl_event *slot) {
  const cl_event *list = m->waits.list;
  const size_t h[3] = {0, 0, 0};
  const size_t region[3] = {r->width, r->rows, r->slices};
  size_t b[3];
  clsh_region_origin(r, b);
  if (r->rows == 1)
    return write ? clEnqueueWriteBuffer(m->handle, mem, CL_FALSE, r->offset,
                                        r->width, host, m->waits.n, list, slot)
                 : clEnqueueReadBuffer(m->handle, mem, CL_FALSE, r->offset,
                                       r->width, host, m->waits.n, list, slot);
  return write ? clEnqueueWriteBufferRect(m->handle, mem, CL_FALSE, b, h,
                                          region, r->pitch, r->slice, r->width,
                                          0, host, m->waits.n, list, slot)
               : clEnqueueReadBufferRect(m->handle, mem, CL_FALSE, b, h,
                                         region, r->pitch, r->slice, r->width,
                                         0, host, m->waits.n, list, slot);
}

/* Enqueues a read or a write between a region and dense host memory. */
cl_int clsh_region_move(bool write, const Move *m, cl_mem mem, const Region *r,
                        void *host, cl_event *slot) {
  cl_int err;
  do
    err = enqueue(write, m, mem, r, host, slot);
  while (clsh_hold_retry(err));
  return err;
}

/* The name of the call that moves a region. */
const char *clsh_region_call(bool write, const Region *r) {
  if (r->rows > 1)
    return write ? "clEnqueueWriteBufferRect" : "clEnqueueReadBufferRect";
  return write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer";
}
