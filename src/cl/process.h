/*
** process.h - drivers in a process that forks, gets signals and waits.
** SPDX-License-Identifier: MIT
*/
#ifndef process_h
#define process_h

#include "cl.h"

/* fork.c */
void clsh_fork_touch(void);
bool clsh_fork_child(void);
bool clsh_fork_handsoff(void);
bool clsh_fork_abandoned(void);

/* signals.c: blocked while a driver may start threads */
void clsh_signals_block(void);
void clsh_signals_unblock(void);

/* poll.c */
void clsh_poll(lua_State *L);
void clsh_poll_check(lua_State *L, lua_Hook before, const char *hint);
void clsh_poll_open(lua_State *L);

/* wait.c */
cl_int clsh_wait_status(cl_event e);
void clsh_wait_until(lua_State *L, bool (*done)(void *), void *what,
                     const char *hint);
cl_int clsh_wait_event(lua_State *L, cl_event e);
void clsh_wait_open(lua_State *L);

#endif
