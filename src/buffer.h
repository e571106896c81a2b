/*
** buffer.h - what buffer.c (the class) and transfer.c (its methods that
** move data) share.
** SPDX-License-Identifier: MIT
*/
#ifndef buffer_h
#define buffer_h

#include "clshell.h"

struct Buffer {
  Object head;
  cl_mem handle;
  cl_mem root;      /* of a view: the buffer it lies in; else the handle */
  Context *context; /* user value 1 keeps it */
  const Type *type;
  Shape shape;
  size_t ld;     /* elements from row to row; cols unless it has gaps */
  size_t bytes;  /* gaps included */
  size_t offset; /* bytes, of a view in its root */
  bool view;
};

void clsh_writeinit(lua_State *L, int buf, int init);
int clsh_buffercopy(lua_State *L);
int clsh_bufferfill(lua_State *L);
int clsh_buffermap(lua_State *L);
int clsh_bufferoverlaps(lua_State *L);
int clsh_bufferread(lua_State *L);
int clsh_bufferunmap(lua_State *L);
int clsh_bufferwrite(lua_State *L);

#endif
