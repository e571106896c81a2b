/*
** remote.h - what the files of worker.so share, each calling only those before
** it: an OpenCL driver that has its work done by a process of its own, the
** worker. When the worker ends, whatever the reason, the next call starts
** another, and objects are made again in it where they are needed.
** All functions but the driver's own, which calls.c lets in, are called with
** the lock held.
** SPDX-License-Identifier: MIT
*/
#ifndef remote_h
#define remote_h

#include "thing.h"

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

/* calls.c: what the functions of the driver have in common */
#define NOWORKER CL_DEVICE_NOT_AVAILABLE
bool clsh_calls_enter(void); /* takes the lock; false: there is no worker */
cl_int clsh_calls_leave(cl_int err); /* gives it back, returns err */
void *clsh_calls_leavewith(void *p, cl_int err, cl_int *errp);
cl_uint clsh_calls_platforms(Platform **list);
/* Has the worker make a new object, and leaves; one that it refuses goes. */
void *clsh_calls_made(void *thing, cl_int *errp);
/* Without the lock, which they take: a value of the driver's, references. */
cl_int clsh_calls_info(int kind, void *thing, uint32_t id, uint64_t other,
                       cl_uint what, size_t size, void *p, size_t *real);
cl_int clsh_calls_retain(void *thing);
cl_int clsh_calls_release(void *thing);
/* Hands out a value of our own. */
cl_int clsh_calls_give(const void *value, size_t n, size_t size, void *p,
                       size_t *real);

/* enqueue.c: the message of a command, whose Event is new */
Message *clsh_enqueue_begin(uint32_t op, const Event *e, cl_uint n,
                            const cl_event *list, cl_int *err);
cl_int clsh_enqueue_send(Event *e, bool known, cl_int err, cl_event *result);
/* Has the worker hold a queue and memory; says when that was lost. */
cl_int clsh_enqueue_prepare(Queue *q, Memory *m, bool reads);
cl_int clsh_enqueue_mark(cl_command_queue queue, uint32_t op,
                         cl_command_type type, cl_uint n, const cl_event *list,
                         cl_event *result);

/* The functions of the driver, for its table */
void clsh_devicecalls_fill(cl_icd_dispatch *d); /* contexts and queues, too */
void clsh_programcalls_fill(cl_icd_dispatch *d);
void clsh_kernelcalls_fill(cl_icd_dispatch *d); /* and launches */
void clsh_buffercalls_fill(cl_icd_dispatch *d);
void clsh_imagecalls_fill(cl_icd_dispatch *d); /* and samplers */
void clsh_eventcalls_fill(cl_icd_dispatch *d);

#endif
