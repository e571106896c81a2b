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
Queue *clsh_checkqueue(lua_State *L, int arg);
Queue *clsh_anyqueue(lua_State *L, int arg); /* closed ones too */
Queue *clsh_queueoption(lua_State *L, int idx);
Queue *clsh_pushqueue(lua_State *L, int ctxarg); /* its default queue */
cl_command_queue clsh_queuehandle(lua_State *L, Queue *q);
cl_int clsh_flushqueue(const Queue *q);
Context *clsh_queuecontext(const Queue *q);
bool clsh_queueprofiled(const Queue *q);
void clsh_pushqueues(lua_State *L); /* all, as the keys of a table */
Queue *clsh_livequeue(lua_State *L, int arg);
bool *clsh_queuedropped(Queue *q);
void clsh_notecommand(Queue *q);
bool clsh_queueabandoned(const Queue *q);
void clsh_openqueue(lua_State *L);

/* event.c: commands under way. An `after` list is gathered, then passed. */
typedef struct After {
  cl_uint n;
  cl_event list[MAXEVENTS];
} After;
typedef struct Event Event;
Event *clsh_newevent(lua_State *L, int queuearg); /* pending, empty */
cl_event *clsh_eventslot(Event *e);
void clsh_setwork(Event *e, lua_Number flop, lua_Number bytes);
void clsh_pinblock(Event *e, Block *b);
Event *clsh_checkevent(lua_State *L, int arg);
void clsh_waitevent(lua_State *L, int arg);
void clsh_checkafter(lua_State *L, int arg, Context *c, After *a);
int clsh_pendingcommands(const Queue *q, int most, int *kernels);
void clsh_openevent(lua_State *L);

/* orphan.c: memory of commands whose Event was dropped */
void clsh_addorphan(cl_event e, Block *pin);
void clsh_sweeporphans(void);

/* pending.c */
void clsh_openunfinished(lua_State *L);

#endif
