/*
** flight.h - notes of the newest launches, for the report of a crash.
** SPDX-License-Identifier: MIT
*/
#ifndef flight_h
#define flight_h

#include "type.h"

/* flight.c: a note is begun, gets the arguments, and stands with its sizes.
   Notes are numbered from 1; `queue` is NULL where commands may overtake. */
void clsh_flight_begin(lua_State *L, const char *kernel, const void *queue);
void clsh_flight_arg(const char *name, char kind, const Type *t,
                     const Shape *shape, const void *value);
unsigned clsh_flight_launch(cl_uint dims, const size_t *global,
                            const size_t *local, const size_t *offset);
void clsh_flight_drop(void);
unsigned clsh_flight_newest(void);
const char *clsh_flight_where(int *line);
void clsh_flight_end(unsigned number, const void *queue);

#endif
