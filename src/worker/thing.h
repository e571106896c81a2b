/*
** thing.h - the objects of OpenCL that the program has, and how each is made
** again in a worker. All functions are called with the lock held.
** SPDX-License-Identifier: MIT
*/
#ifndef thing_h
#define thing_h

#include "channel.h"

#include <CL/cl_icd.h>

typedef struct Thing {
  const cl_icd_dispatch *dispatch;
  char kind; /* 'c'ontext 'q'ueue 'm'emory 's'ampler 'P'rogram 'k'ernel 'e'vent
              */
  int refs;
  uint32_t id;
  unsigned generation;  /* of the worker that has it */
  struct Thing *parent; /* is made before, and kept alive */
} Thing;

typedef struct Device {
  const cl_icd_dispatch *dispatch;
  struct Platform *platform;
  uint32_t id;
  cl_device_type type;
  bool shared; /* works in the memory of the host */
} Device;

typedef struct Platform {
  const cl_icd_dispatch *dispatch;
  uint32_t id;
  uint32_t ndevices;
  Device *devices;
} Platform;

typedef struct Context {
  Thing head;
  Device *device;
  void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);
  void *user;
} Context;

typedef struct Queue {
  Thing head;
  cl_command_queue_properties properties;
  bool dirty; /* has commands that were not flushed */
} Queue;

typedef struct Memory {
  Thing head;
  struct Memory *root; /* itself unless a sub-buffer */
  struct Memory *next; /* of all roots */
  cl_mem_flags flags;
  size_t size, origin;
  size_t block;      /* of the heap, or 0 */
  size_t guard;      /* the page behind it, which nobody may touch */
  size_t content;    /* there: the content (shared), or a copy of it */
  size_t npattern;   /* > 0: it was filled with the pattern */
  char pattern[128]; /* ... */
  char state; /* 'n'ew, the 'h'ost has the content, or the 'd'evice; 'l'ost */
  unsigned version; /* counts the commands that change it */
  bool shared;
  bool image; /* of this form; of a buffer where that is its parent */
  cl_image_format format;
  cl_image_desc desc;
} Memory;

typedef struct Sampler {
  Thing head;
  cl_bool normalized;
  cl_addressing_mode address;
  cl_filter_mode filter;
} Sampler;

typedef struct Program {
  Thing head;
  Device *device;
  bool source, built;
  char *options;
  size_t size;
  char text[];
} Program;

/* What the driver tells of an argument: a text or a number, or its error. */
typedef struct Fact {
  cl_int err;
  size_t size;
  char value[256];
} Fact;

enum { FACT_NAME, FACT_TYPE, FACT_SPACE, FACT_ACCESS, FACT_QUALIFIER, FACTS };

typedef struct Arg {
  char kind;  /* 'm'emory, 's'ampler, 'v'alue, 'n'one (local); 0: not set */
  bool dirty; /* the worker does not have it */
  size_t size, room;
  Memory *memory; /* not retained: OpenCL does not either */
  Sampler *sampler;
  void *data;
  Fact fact[FACTS];
} Arg;

/* A launch as the driver has accepted it: another one need not be asked. */
typedef struct Shape {
  unsigned generation;
  Queue *queue;
  cl_uint dims;
  bool hasoffset, haslocal;
  size_t size[9]; /* offset, global, local */
} Shape;

typedef struct Kernel {
  Thing head;
  Shape accepted; /* with arguments of the kinds and sizes that it has */
  cl_uint nargs;
  Arg *args;
  char name[];
} Kernel;

extern cl_icd_dispatch clsh_thing_dispatch;
extern int clsh_thing_building; /* builds under way */
void *clsh_thing_new(char kind, size_t size, void *parent);
void *clsh_thing_retain(void *t);
void clsh_thing_release(void *t);
cl_int clsh_thing_ensure(void *t); /* that the worker has it */
cl_int clsh_thing_info(int kind, uint32_t id, uint64_t other, cl_uint what,
                       size_t size, void *p, size_t *real);
cl_int clsh_thing_build(Program *p, const char *options, bool aloud);
bool clsh_thing_ismemory(const void *p);
void clsh_thing_keep(Memory *m, size_t content);      /* a copy in the heap */
void clsh_thing_lose(unsigned *kept, unsigned *lost); /* after an end */
void clsh_thing_tell(const char *text);               /* to all contexts */

#endif
