/*
** pipe.h - class Pipe.
** SPDX-License-Identifier: MIT
*/
#ifndef pipe_h
#define pipe_h

#include "context.h"
#include "type.h"

/* pipe.c */
typedef struct Pipe {
  Object head;
  cl_mem handle;
  Context *context; /* user value 1 keeps it */
  const Type *type; /* of a packet */
  Shape shape;      /* the packets that it holds at most */
} Pipe;
Pipe *clsh_pipe_test(lua_State *L, int arg);
void clsh_pipe_open(lua_State *L);

#endif
