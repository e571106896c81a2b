/*
** process.h - drivers in a process that forks, gets signals and waits.
** SPDX-License-Identifier: MIT
*/
#ifndef process_h
#define process_h

#include "cl.h"

/* fork.c */
void clsh_touch(void);
bool clsh_child(void);
bool clsh_forked(void);
bool clsh_abandoned(void);

/* signals.c: blocked while a driver may start threads */
void clsh_blocksignals(void);
void clsh_opensignals(void);

/* poll.c */
void clsh_poll(lua_State *L);
void clsh_checkinterrupt(lua_State *L, lua_Hook before, const char *hint);
void clsh_openpoll(lua_State *L);

/* wait.c */
cl_int clsh_eventstatus(cl_event e);
void clsh_await(lua_State *L, bool (*done)(void *), void *what,
                const char *hint);
cl_int clsh_pollevent(lua_State *L, cl_event e);
void clsh_openwait(lua_State *L);

#endif
