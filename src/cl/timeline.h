/*
** timeline.h - the record of commands, builds and waits, while one is made.
** Functions that take an Event do nothing where the Event has no record.
** SPDX-License-Identifier: MIT
*/
#ifndef timeline_h
#define timeline_h

#include <stdint.h>

#include "queue.h"

#define RECORDING 0x12A8 /* CL_COMMAND_COMMAND_BUFFER_KHR */

/* timeline.c: what the host does besides commands */
#define BUILT 'u'
#define WAITED 'w'
#define SLEPT 's'
extern bool clsh_timeline_on;    /* a timeline is recorded */
int64_t clsh_timeline_now(void); /* ns; 0 where nothing is recorded */
void clsh_timeline_command(Queue *q, Event *e);
cl_event *clsh_timeline_slot(const Event *e);
void clsh_timeline_enqueued(lua_State *L, const Event *e);
void clsh_timeline_sizes(const Event *e, cl_uint dims, const size_t *global,
                         const size_t *local);
void clsh_timeline_moves(const Event *e, size_t bytes);
void clsh_timeline_mark(const Event *e, cl_kernel handle, cl_uint first);
void clsh_timeline_call(const Event *e, char how);
void clsh_timeline_ended(const Event *e);
void clsh_timeline_span(lua_State *L, char kind, int64_t begin,
                        const char *name, const Event *e, int status);
const char *clsh_timeline_commandname(cl_command_type type);
void clsh_timeline_open(lua_State *L);

#endif
