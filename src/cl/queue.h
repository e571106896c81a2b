/*
** queue.h - class Queue, class Event, and the commands that have not ended.
** SPDX-License-Identifier: MIT
*/
#ifndef queue_h
#define queue_h

#include "array.h"
#include "context.h"

#define MAXEVENTS 64 /* events in one `after` list */
#define MAXNAME 48   /* of a kernel's name, for messages; the rest is cut */

/* queue.c */
typedef struct Queue {
  Object head;
  cl_command_queue handle;
  Context *context; /* user value 1 keeps it */
  bool profiled;
  bool out_of_order;
  bool standard; /* its context's default queue */
  bool halted;   /* the driver fails all commands behind a failed one */
  unsigned long commands; /* so far; the newest has this number */
  unsigned long dropped;  /* the newest that may run without an Event; or 0 */
  char kernel[MAXNAME];   /* the last such command's; "": not known */
  unsigned interrupts;    /* before its newest command */
  uint64_t traced;        /* its place in a timeline, see timeline.c */
} Queue;
extern const Class clsh_queue_class;
#define clsh_queue_check(L, i)                                                \
  ((Queue *)clsh_class_check(L, i, &clsh_queue_class))
#define clsh_queue_any(L, i) ((Queue *)clsh_class_any(L, i, &clsh_queue_class))
Queue *clsh_queue_option(lua_State *L, int idx);
Queue *clsh_queue_push(lua_State *L, int ctxarg); /* its default queue */
cl_command_queue clsh_queue_handle(lua_State *L, Queue *q);
cl_int clsh_queue_flush(const Queue *q);
int clsh_queue_pushall(lua_State *L);
Queue *clsh_queue_live(lua_State *L, int arg);
bool clsh_queue_abandoned(const Queue *q);
void clsh_queue_open(lua_State *L);

/* results.c: whether the caller at a level takes result number i */
bool clsh_results_taken(lua_State *L, int level, int i);
void clsh_results_open(lua_State *L);

/* event.c: commands under way. An `after` list is gathered, then passed. */
typedef struct After {
  cl_uint n;
  const cl_event *list; /* the events, or NULL: none */
  cl_event events[MAXEVENTS];
} After;
typedef struct Event {
  Object head;
  cl_event handle;  /* NULL once the command is done and read out */
  cl_event first;   /* of several commands; `handle` is the last; or NULL */
  Queue *queue;     /* user value 1 keeps it; NULL: a user event */
  Context *context; /* kept by the queue, or user value 1 of a user event */
  Block *pin;       /* host memory the command uses */
  unsigned long number; /* of the command on its queue, or 0 */
  cl_int status;
  cl_command_type command;
  cl_ulong stamp[4]; /* queued, submit, start, end; ns */
  bool stamped;
  bool recorded;              /* its launch was recorded, not enqueued */
  bool waits;                 /* its command has an `after` list */
  char kernel[MAXNAME];       /* the name; "": another command */
  unsigned flight;            /* of the kernel, or of the newest before */
  uint64_t mark;              /* its record in a timeline; 0: none */
  lua_Number flop, bytes;     /* of the command; 0: not known */
  struct Event *next, **link; /* in `pending`, or NULL, NULL */
} Event;
Event *clsh_event_new(lua_State *L, int queuearg); /* pending, empty */
Event *clsh_event_newrecorded(lua_State *L, int queuearg);
void clsh_event_spare(lua_State *L, int queuearg, const char *kernel,
                      Event *e);
/* begins a recording: commands and waits raise; NULL: ends it */
void clsh_event_record(lua_State *thread);
bool clsh_event_recording(void);
void clsh_event_checkwait(lua_State *L, const Event *e);
void clsh_event_pin(Event *e, Block *b);
void clsh_event_setkernel(Event *e, const char *name);
const char *clsh_event_kernel(const Queue *q); /* under way, or NULL */
void clsh_event_join(Event *e, cl_command_type command, cl_int status,
                     const cl_ulong *stamp);
void clsh_event_wait(lua_State *L, int arg);
void clsh_event_after(lua_State *L, int arg, Context *c, After *a);
int clsh_event_count(const Queue *q, int most, int *kernels);
bool clsh_event_markerpends(cl_command_queue queue, double seconds);
bool clsh_event_none(lua_State *L, Queue *q);
extern const Class clsh_event_class;
#define clsh_event_check(L, i)                                                \
  ((Event *)clsh_class_check(L, i, &clsh_event_class))
void clsh_event_open(lua_State *L);

/* transfer.c: a command that moves data */
typedef struct Transfer {
  Context *context;
  int queue, after; /* stack indexes */
  bool async;
  bool fresh;              /* the host memory has no pages yet */
  cl_command_queue handle; /* from begin on, as are the events */
  After waits;
} Transfer;
void clsh_transfer_check(lua_State *L, Context *c, int opts, const char *names,
                         Transfer *m);
Event *clsh_transfer_begin(lua_State *L, const Object *o, Transfer *m,
                           size_t bytes);
void clsh_transfer_shift(lua_State *L);
bool clsh_transfer_place(lua_State *L, int opts, const char *name, int n,
                         lua_Integer least, size_t *v);
void *clsh_transfer_pin(lua_State *L, Event *e, int arr);
void clsh_transfer_end(lua_State *L, const Transfer *m, cl_int err,
                       const char *call);

/* mapping.c: mapped rows, in bytes from row to row and slice to slice */
typedef struct Mapping Mapping;
typedef struct Rows {
  size_t width, rows, slices, pitch, slice;
} Rows;
cl_map_flags clsh_mapping_flags(lua_State *L, int arg);
Mapping *clsh_mapping_new(lua_State *L, Array *a, cl_mem mem,
                          const Transfer *m, size_t bytes);
void clsh_mapping_set(Mapping *k, void *mapped);
void clsh_mapping_setrows(lua_State *L, Mapping *k, const Array *a,
                          const Rows *r, cl_map_flags flags);
int clsh_mapping_unmap(lua_State *L, const Object *o, const cl_mem *handle);

/* wait.c: the waits of scripts */
void clsh_wait_open(lua_State *L);

/* pending.c */
void clsh_pending_open(lua_State *L);

#endif
