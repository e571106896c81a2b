/*
** process.h - drivers in a process that forks, gets signals and waits, and the
** memory that is left to it.
** SPDX-License-Identifier: MIT
*/
#ifndef process_h
#define process_h

#include "cl.h"

/* process.c */
void clsh_process_touch(void);
bool clsh_process_child(void);
bool clsh_process_handsoff(void);
bool clsh_process_abandoned(void);
void clsh_process_keepfaults(void);
void clsh_process_restorefaults(void);
void clsh_process_block(void); /* signals, while a driver may start threads */
void clsh_process_unblock(void);
bool clsh_process_thread(void *(*work)(void *), void *arg, size_t stack);

/* memory.c: host memory; taken is that of arrays and of shared buffers */
size_t clsh_memory_left(void);
bool clsh_memory_fits(size_t bytes);
void clsh_memory_take(size_t bytes);
void clsh_memory_give(size_t bytes);

/* hush.c */
void clsh_hush_begin(void);
void clsh_hush_end(void);
const char *clsh_hush_told(void);

/* poll.c */
void clsh_poll(lua_State *L);
/* of a command whose query failed: it may not have ended */
#define STATUS_UNKNOWN (CL_QUEUED + 1)
cl_int clsh_poll_status(cl_event e);
void clsh_poll_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint);
cl_int clsh_poll_event(lua_State *L, cl_event e, cl_device_id device,
                       cl_int *status);
void clsh_poll_open(lua_State *L);

#endif
