/*
** queue.h - class Queue, class Event, and the commands that have not ended.
** SPDX-License-Identifier: MIT
*/
#ifndef queue_h
#define queue_h

#include "array.h"
#include "context.h"

#define MAXEVENTS 64 /* events in one `after` list */

/* queue.c */
typedef struct Queue Queue;
Queue *clsh_queue_check(lua_State *L, int arg);
Queue *clsh_queue_any(lua_State *L, int arg); /* closed ones too */
Queue *clsh_queue_option(lua_State *L, int idx);
Queue *clsh_queue_push(lua_State *L, int ctxarg); /* its default queue */
cl_command_queue clsh_queue_handle(lua_State *L, Queue *q);
cl_int clsh_queue_flush(const Queue *q);
Context *clsh_queue_context(const Queue *q);
bool clsh_queue_profiled(const Queue *q);
int clsh_queue_pushall(lua_State *L);
Queue *clsh_queue_live(lua_State *L, int arg);
bool *clsh_queue_dropped(Queue *q);
void clsh_queue_note(Queue *q);
bool clsh_queue_abandoned(const Queue *q);
void clsh_queue_open(lua_State *L);

/* event.c: commands under way. An `after` list is gathered, then passed. */
typedef struct After {
  cl_uint n;
  cl_event list[MAXEVENTS];
} After;
typedef struct Event Event;
Event *clsh_event_new(lua_State *L, int queuearg); /* pending, empty */
cl_event *clsh_event_slot(Event *e);
void clsh_event_setwork(Event *e, lua_Number flop, lua_Number bytes);
void clsh_event_pin(Event *e, Block *b);
void clsh_event_wait(lua_State *L, int arg);
void clsh_event_after(lua_State *L, int arg, Context *c, After *a);
int clsh_event_count(const Queue *q, int most, int *kernels);
void clsh_event_open(lua_State *L);

/* orphan.c: memory of commands whose Event was dropped */
void clsh_orphan_add(cl_event e, Block *pin);
void clsh_orphan_sweep(void);

/* pending.c */
void clsh_pending_open(lua_State *L);

#endif
