/*
** remote.h - what the files of worker.so share, each calling only those before
** it: an OpenCL driver that has its work done by a process of its own, the
** worker. When the worker ends, whatever the reason, the next call starts
** another, and objects are made again in it where they are needed.
** All functions but the driver's own are called with the lock held.
** SPDX-License-Identifier: MIT
*/
#ifndef remote_h
#define remote_h

#include "wire.h"

#include <CL/cl_icd.h>

/* heap.c: the shared memory and its heap; offset 0: there is no room */
extern Wire *clsh_heap_wire;
extern int clsh_heap_fd;
bool clsh_heap_open(void);
size_t clsh_heap_take(size_t bytes);
void clsh_heap_give(size_t offset);
size_t clsh_heap_takeguarded(size_t bytes, size_t *content, size_t *guard);
uint32_t clsh_heap_takeslot(void); /* WIRE_SLOTS: none is left */
void clsh_heap_giveslot(uint32_t slot);
void clsh_heap_failslots(cl_int err); /* all that are pending */
cl_int clsh_heap_status(uint32_t slot);

/* channel.c: the process, and messages to it */
#define CHANNEL_KILLED (-1) /* the status, where we have ended it */
typedef struct Channel {
  unsigned generation; /* counts the workers, from 1 */
  int status;          /* of waitpid, of the last one that ended */
  uint32_t op;         /* the message under way when it ended, or OP_LAUNCH */
  void (*ended)(void); /* called after that */
} Channel;
extern Channel clsh_channel;
void clsh_channel_lock(void);
void clsh_channel_unlock(void);
bool clsh_channel_usable(void);        /* not in a child of fork() */
bool clsh_channel_start(void);         /* unless it runs */
void clsh_channel_look(void);          /* whether it has ended */
void clsh_channel_end(void);           /* kills it */
Message *clsh_channel_begin(uint32_t); /* a message, to be filled in */
cl_int clsh_channel_call(void);        /* sends it, waits for the answer */
cl_int clsh_channel_post(void);        /* sends it; nobody asks for errors */

/* thing.c: objects, and how to make each again */
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

/* command.c: commands under way, and how their end is seen */
typedef struct Passed {
  char kind; /* of an Arg; 'i': memory that is an image */
  size_t size;
  char data[16]; /* the beginning of a value */
} Passed;

typedef struct Launch {
  Kernel *kernel;
  Shape shape;
  Passed arg[];
} Launch;

typedef struct Event {
  Thing head;
  struct Event *next; /* of the commands under way, the oldest first */
  Queue *queue;
  cl_command_type type;
  uint32_t slot;
  size_t staging; /* in the heap, until the end */
  void *target;   /* of a read: where its bytes go at the end */
  size_t bytes;
  unsigned version; /* of the memory, where all of it is moved */
  bool whole;       /* ... */
  Launch *launch;   /* of a kernel */
  int nheld;
  Memory *held[]; /* the memory that it works on */
} Event;

Event *clsh_command_new(Queue *q, cl_command_type type, int nheld);
void clsh_command_hold(Event *e, Memory *m);
Launch *clsh_command_launch(Event *e, Kernel *k);
void clsh_command_add(Event *e);
void clsh_command_refuse(Event *e); /* after all */
void clsh_command_release(Event *e);
cl_int
clsh_command_status(Event *e); /* CL_COMPLETE, CL_SUBMITTED or an error */
void clsh_command_sweep(void);
void clsh_command_open(void);

#endif
