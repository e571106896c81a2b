/*
** thing.c - the objects of the driver. Each knows how it was made: it is made
** again in a new worker when it is needed there. A buffer of a device that
** works in the host's memory lies in the shared heap, and outlives workers. Of
** others a copy is kept while the host knows their content.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "thing.h"

#define SAID 8192 /* bytes of a compiler's words on standard error */

cl_icd_dispatch clsh_thing_dispatch;
int clsh_thing_building;

static uint32_t lastid = 1 << 16; /* platforms and devices have the lower */
static uint32_t *spareids;        /* of objects that are gone */
static size_t nspare, roomspare;

static Thing *contexts[64]; /* those that are told of an end */
static Memory *memories;    /* all, sub-buffers too */

static uint32_t newid(void) {
  return nspare > 0 ? spareids[--nspare] : ++lastid;
}

static void giveid(uint32_t id) {
  if (nspare == roomspare) {
    size_t n = roomspare * 2 + 64;
    uint32_t *list = realloc(spareids, n * sizeof *list);
    if (list == NULL)
      return;
    spareids = list;
    roomspare = n;
  }
  spareids[nspare++] = id;
}

/* A new object, zeros behind its head; NULL: no memory. */
void *clsh_thing_new(char kind, size_t size, void *parent) {
  Thing *t = calloc(1, size);
  if (t == NULL)
    return NULL;
  t->dispatch = &clsh_thing_dispatch;
  t->kind = kind;
  t->refs = 1;
  t->id = kind != 'e' ? newid() : 0;
  t->parent = clsh_thing_retain(parent);
  if (kind == 'm') {
    Memory *m = (Memory *)t;
    m->state = 'n';
    m->next = memories;
    memories = m;
  }
  for (int i = 0; kind == 'c' && i < 64; i++)
    if (contexts[i] == NULL) {
      contexts[i] = t;
      break;
    }
  return t;
}

void *clsh_thing_retain(void *p) {
  Thing *t = p;
  if (t != NULL)
    t->refs++;
  return t;
}

static void freememory(Memory *m) {
  Memory **p = &memories;
  while (*p != m)
    p = &(*p)->next;
  *p = m->next;
  if (m->root == m)
    clsh_heap_give(m->block);
}

static void freekernel(Kernel *k) {
  for (cl_uint i = 0; i < k->nargs; i++)
    free(k->args[i].data);
  free(k->args);
}

/* Lets go of an object. The worker's part ends first. */
void clsh_thing_release(void *p) {
  Thing *t = p;
  if (t == NULL || --t->refs > 0)
    return;
  if (t->generation == clsh_channel.generation && t->generation != 0) {
    Message *m = clsh_channel_begin(OP_RELEASE);
    wire_putn(m, (uint64_t)t->kind);
    wire_putn(m, t->id);
    wire_putn(m, t->kind == 'm' ? ((Memory *)t)->guard : 0);
    clsh_channel_post();
  }
  if (t->kind == 'm')
    freememory(p);
  else if (t->kind == 'k')
    freekernel(p);
  else if (t->kind == 'P')
    free(((Program *)p)->options);
  for (int i = 0; t->kind == 'c' && i < 64; i++)
    if (contexts[i] == t)
      contexts[i] = NULL;
  giveid(t->id);
  clsh_thing_release(t->parent);
  free(t);
}

/* Whether p is a memory object: for arguments of unknown type. */
bool clsh_thing_ismemory(const void *p) {
  const Memory *m = memories;
  while (m != NULL && m != p)
    m = m->next;
  return m != NULL;
}

/* clGet*Info of the worker. */
cl_int clsh_thing_info(int kind, uint32_t id, uint64_t other, cl_uint what,
                       size_t size, void *p, size_t *real) {
  Message *m = clsh_channel_begin(OP_INFO);
  wire_putn(m, (uint64_t)kind);
  wire_putn(m, id);
  wire_putn(m, other);
  wire_putn(m, what);
  wire_putn(m, p != NULL ? size : 0);
  cl_int err = clsh_channel_call();
  if (err != CL_SUCCESS)
    return err;
  Message *in = wire_in(clsh_heap_wire);
  size_t n = (size_t)wire_getn(in);
  const void *value = wire_get(in, n < size ? n : size);
  if (real != NULL)
    *real = n;
  if (p != NULL && value != NULL)
    memcpy(p, value, n < size ? n : size);
  return CL_SUCCESS;
}

/* What the compiler wrote to its standard error goes to ours. */
static void pass(const char *said) {
  size_t n = strnlen(said, SAID);
  while (n > 0) {
    ssize_t done = write(STDERR_FILENO, said, n);
    if (done <= 0)
      return;
    said += done;
    n -= (size_t)done;
  }
}

/*
** Builds a program and waits, without the lock where only this call has it. A
** kernel that ends the worker meanwhile ends the build.
*/
cl_int clsh_thing_build(Program *p, const char *options, bool aloud) {
  const struct timespec nap = {0, 200 * 1000};
  size_t said = clsh_heap_take(SAID);
  uint32_t slot = clsh_heap_takeslot();
  if (said == 0 || slot == WIRE_SLOTS) {
    clsh_heap_give(said);
    return CL_OUT_OF_HOST_MEMORY;
  }
  *(char *)wire_at(clsh_heap_wire, said) = '\0';
  Message *m = clsh_channel_begin(OP_BUILD);
  wire_putn(m, p->head.id);
  wire_putn(m, p->device->id);
  wire_putn(m, slot);
  wire_putn(m, said);
  wire_putn(m, SAID);
  wire_putn(m, strlen(options));
  wire_put(m, options, strlen(options));
  clsh_thing_building++;
  cl_int err = clsh_channel_call();
  while (err == CL_SUCCESS && clsh_heap_status(slot) == WIRE_PENDING) {
    clsh_channel_unlock();
    nanosleep(&nap, NULL);
    clsh_channel_lock();
    clsh_channel_look();
  }
  clsh_thing_building--;
  if (err == CL_SUCCESS)
    err = clsh_heap_status(slot);
  if (aloud)
    pass(wire_at(clsh_heap_wire, said));
  clsh_heap_give(said);
  clsh_heap_giveslot(slot);
  return err;
}

static cl_int makecontext(Context *c) {
  Message *m = clsh_channel_begin(OP_CONTEXT);
  wire_putn(m, c->head.id);
  wire_putn(m, c->device->id);
  return clsh_channel_call();
}

static cl_int makequeue(Queue *q) {
  Message *m = clsh_channel_begin(OP_QUEUE);
  wire_putn(m, q->head.id);
  wire_putn(m, q->head.parent->id);
  wire_putn(m, ((Context *)q->head.parent)->device->id);
  wire_putn(m, q->properties);
  return clsh_channel_call();
}

static cl_int makesub(Memory *b) {
  Message *m = clsh_channel_begin(OP_SUBBUFFER);
  wire_putn(m, b->head.id);
  wire_putn(m, b->root->head.id);
  wire_putn(m, b->flags);
  wire_putn(m, b->origin);
  wire_putn(m, b->size);
  return clsh_channel_call();
}

/* A part of the heap with the pattern of a buffer that was filled. */
static size_t stagepattern(const Memory *b) {
  size_t offset = clsh_heap_take(b->size);
  char *p = wire_at(clsh_heap_wire, offset);
  for (size_t i = 0; offset != 0 && i < b->size; i += b->npattern)
    memcpy(p + i, b->pattern, b->npattern);
  return offset;
}

static cl_int makeimage(Memory *b) {
  Message *m = clsh_channel_begin(OP_IMAGE);
  Thing *from = b->head.parent, *context = from;
  while (context->kind != 'c')
    context = context->parent;
  wire_putn(m, b->head.id);
  wire_putn(m, context->id);
  wire_putn(m, from != context ? from->id : 0);
  wire_putn(m, b->flags | (b->content != 0 ? CL_MEM_COPY_HOST_PTR : 0));
  wire_put(m, &b->format, sizeof b->format);
  wire_put(m, &b->desc, sizeof b->desc);
  wire_putn(m, b->content);
  return clsh_channel_call();
}

static cl_int makesampler(Sampler *s) {
  Message *m = clsh_channel_begin(OP_SAMPLER);
  wire_putn(m, s->head.id);
  wire_putn(m, s->head.parent->id);
  wire_putn(m, s->normalized);
  wire_putn(m, s->address);
  wire_putn(m, s->filter);
  return clsh_channel_call();
}

static cl_int makememory(Memory *b) {
  if (b->image)
    return makeimage(b);
  if (b->root != b)
    return makesub(b);
  bool filled = !b->shared && b->state == 'h' && b->npattern > 0;
  size_t content = filled ? stagepattern(b) : b->content;
  cl_mem_flags how = b->shared      ? CL_MEM_USE_HOST_PTR
                     : content != 0 ? CL_MEM_COPY_HOST_PTR
                                    : 0;
  Message *m = clsh_channel_begin(OP_BUFFER);
  wire_putn(m, b->head.id);
  wire_putn(m, b->head.parent->id);
  wire_putn(m, b->flags | how);
  wire_putn(m, b->size);
  wire_putn(m, content);
  wire_putn(m, b->guard);
  cl_int err = clsh_channel_call();
  if (filled)
    clsh_heap_give(content);
  return err;
}

static cl_int makeprogram(Program *p) {
  Message *m = clsh_channel_begin(p->source ? OP_SOURCE : OP_BINARY);
  wire_putn(m, p->head.id);
  wire_putn(m, p->head.parent->id);
  wire_putn(m, p->device->id);
  wire_putn(m, p->size);
  wire_put(m, p->text, p->size);
  cl_int err = clsh_channel_call();
  if (err == CL_SUCCESS && p->built) {
    p->head.generation = clsh_channel.generation;
    err = clsh_thing_build(p, p->options, false);
  }
  return err;
}

static cl_int makekernel(Kernel *k) {
  Message *m = clsh_channel_begin(OP_KERNEL);
  wire_putn(m, k->head.id);
  wire_putn(m, k->head.parent->id);
  wire_putn(m, strlen(k->name));
  wire_put(m, k->name, strlen(k->name) + 1);
  for (cl_uint i = 0; i < k->nargs; i++)
    k->args[i].dirty = true;
  return clsh_channel_call();
}

static cl_int make(Thing *t) {
  switch (t->kind) {
  case 'c':
    return makecontext((Context *)t);
  case 'q':
    return makequeue((Queue *)t);
  case 'm':
    return makememory((Memory *)t);
  case 's':
    return makesampler((Sampler *)t);
  case 'P':
    return makeprogram((Program *)t);
  default:
    return makekernel((Kernel *)t);
  }
}

/* Has the worker hold an object, and those that it is made of. */
cl_int clsh_thing_ensure(void *p) {
  Thing *t = p;
  if (!clsh_channel_usable() || !clsh_channel_start())
    return CL_DEVICE_NOT_AVAILABLE;
  if (t->generation == clsh_channel.generation)
    return CL_SUCCESS;
  cl_int err = t->parent != NULL ? clsh_thing_ensure(t->parent) : CL_SUCCESS;
  if (err == CL_SUCCESS)
    err = make(t);
  if (err == CL_SUCCESS)
    t->generation = clsh_channel.generation;
  return err;
}

/*
** Notes that the host has the content of a buffer at `content`, in the heap;
** 0: the device alone has it now.
*/
void clsh_thing_keep(Memory *b, size_t content) {
  b = b->root;
  b->version += content == 0;
  if (b->shared)
    return;
  clsh_heap_give(b->block);
  b->block = b->content = content;
  b->npattern = 0;
  b->state = content != 0 ? 'h' : 'd';
}

/* Counts the buffers whose content outlives a worker, and marks the others. */
void clsh_thing_lose(unsigned *kept, unsigned *lost) {
  *kept = *lost = 0;
  for (Memory *b = memories; b != NULL; b = b->next) {
    if (b->root != b || (b->state == 'n' && !b->shared))
      continue;
    if (!b->shared && b->state != 'h')
      b->state = 'l';
    ++*(b->state == 'l' ? lost : kept);
  }
}

/* Hands a text to the functions that contexts were made with. */
void clsh_thing_tell(const char *text) {
  for (int i = 0; i < 64; i++) {
    Context *c = (Context *)contexts[i];
    if (c != NULL && c->notify != NULL)
      c->notify(text, NULL, 0, c->user);
  }
}
