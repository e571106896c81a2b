/*
** channel.h - the shared memory with its heap, the worker process and messages
** to it. All functions are called with the lock held.
** SPDX-License-Identifier: MIT
*/
#ifndef channel_h
#define channel_h

#include "wire.h"

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

#endif
