/*
** wire.h - the memory that the program and its worker share: messages, the
** states of commands, and a heap for what they hand to each other. A few
** messages may be under way, of which the last alone has its answer read.
** Places in the heap go by their offset.
** SPDX-License-Identifier: MIT
*/
#ifndef wire_h
#define wire_h

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "cl/worker.h"

#define WIRE_MEMORY 3 /* file descriptors of the worker: this memory */
#define WIRE_LIFE 4   /* ... and a pipe that ends with the program */

#define WIRE_SLOTS (1u << 18) /* commands that have an Event or run */
#define WIRE_ROOM ((size_t)16 << 20)
#define WIRE_RING 16   /* messages under way */
#define WIRE_PENDING 1 /* status of a slot; 0 or an error: it has ended */
#define WIRE_LOST 101  /* exit code: a device has failed for good */

enum Op {
  OP_PLATFORMS, /* all later ones may name an object by its id */
  OP_INFO,
  OP_CONTEXT,
  OP_QUEUE,
  OP_BUFFER,
  OP_SUBBUFFER,
  OP_IMAGE,
  OP_SAMPLER,
  OP_SOURCE,
  OP_BINARY,
  OP_BUILD,
  OP_GETBINARY,
  OP_KERNEL,
  OP_ARG,
  OP_RELEASE,
  OP_FLUSH,
  OP_LAUNCH, /* from here on commands: queue, slot, wait list */
  OP_READ,
  OP_WRITE,
  OP_COPY,
  OP_FILL,
  OP_PIXELS, /* what an image is read, written, filled or copied by */
  OP_MARKER,
  OP_BARRIER
};

/* A message; reading past its end gives zeros, writing is cut. */
typedef struct Message {
  uint32_t op;
  int32_t err;
  uint64_t posted; /* nobody waits for the answer */
  uint64_t size;   /* of data in use */
  uint64_t at;     /* of the reader */
  char data[];
} Message;

typedef struct Slot {
  _Atomic int32_t status;
  uint64_t stamp[4]; /* the times of a command on a profiled queue */
} Slot;

typedef struct Wire {
  uint64_t size;            /* of the whole memory */
  _Atomic uint32_t request; /* counts messages */
  _Atomic uint32_t answer;  /* the last one that was answered */
  _Atomic uint32_t asleep;  /* bits: 1 the worker, 2 the program waits */
  uint32_t spare;
  Slot slot[WIRE_SLOTS];
} Wire;

#define WIRE_PAGE ((size_t)4096)
#define WIRE_OUT ((sizeof(Wire) + WIRE_PAGE - 1) & ~(WIRE_PAGE - 1))
#define WIRE_IN (WIRE_OUT + WIRE_RING * WIRE_ROOM)
#define WIRE_HEAP (WIRE_IN + WIRE_ROOM)

static inline void *wire_at(Wire *w, size_t offset) {
  return (char *)w + offset;
}

/* Message n of the program, and what the worker answers. */
static inline Message *wire_out(Wire *w, uint32_t n) {
  return wire_at(w, WIRE_OUT + n % WIRE_RING * WIRE_ROOM);
}

static inline Message *wire_in(Wire *w) {
  return wire_at(w, WIRE_IN);
}

static inline void wire_begin(Message *m, uint32_t op) {
  m->op = op;
  m->err = CL_SUCCESS;
  m->posted = m->size = m->at = 0;
}

static inline void wire_put(Message *m, const void *p, size_t n) {
  if (n > WIRE_ROOM - sizeof *m - m->size) {
    m->err = CL_OUT_OF_HOST_MEMORY;
    return;
  }
  memcpy(m->data + m->size, p, n);
  m->size += n;
}

static inline void wire_putn(Message *m, uint64_t n) {
  wire_put(m, &n, sizeof n);
}

/* The next n bytes; NULL: there are fewer. */
static inline const void *wire_get(Message *m, size_t n) {
  if (m->size > WIRE_ROOM - sizeof *m || m->at > m->size ||
      n > m->size - m->at)
    return NULL;
  const void *p = m->data + m->at;
  m->at += n;
  return p;
}

static inline uint64_t wire_getn(Message *m) {
  uint64_t n = 0;
  const void *p = wire_get(m, sizeof n);
  if (p != NULL)
    memcpy(&n, p, sizeof n);
  return n;
}

#endif
