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

#endif
