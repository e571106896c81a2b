/*
** buffer.h - what buffer.c (the class), view.c (views), transfer.c (methods
** that move data) and region.c (which part) share.
** SPDX-License-Identifier: MIT
*/
#ifndef buffer_h
#define buffer_h

#include "clshell.h"

struct Buffer {
  Object head;
  cl_mem handle;
  cl_mem root;      /* of a view: the buffer it lies in; else the handle */
  cl_mem part;      /* of a view with a shift: from there on, or NULL */
  Context *context; /* user value 1 keeps it */
  const Type *type;
  Shape shape;
  size_t ld;     /* elements from row to row; cols unless it has gaps */
  size_t bytes;  /* gaps included */
  size_t offset; /* bytes, of a view in its root */
  size_t shift;  /* bytes, from the handle's beginning to the first element */
  size_t reach;  /* bytes, from there on, that matrices in it may take */
  bool view;
};

/*
** A part of a buffer, in bytes: `rows` pieces of `width` bytes, `pitch`
** apart. One piece stands for any contiguous part.
*/
typedef struct Region {
  size_t offset, width, rows, pitch; /* offset from the handle's beginning */
  Shape shape;                       /* the same in elements */
} Region;

/* buffer.c */
Buffer *clsh_newview(lua_State *L, int of);

/* view.c */
int clsh_buffermatrix(lua_State *L);
int clsh_bufferoverlaps(lua_State *L);
int clsh_bufferview(lua_State *L);

/* region.c */
int clsh_pushoption(lua_State *L, int opts, const char *name);
size_t clsh_countoption(lua_State *L, int idx, const char *name);
bool clsh_checkelements(lua_State *L, const Buffer *b, int opts, Region *r);
void clsh_checkregion(lua_State *L, const Buffer *b, int opts, Region *r);
void clsh_checktarget(lua_State *L, const Buffer *d, int opts, const Region *r,
                      Region *to);
bool clsh_regionsmeet(const Buffer *b, const Region *r, const Buffer *d,
                      const Region *to);

/* transfer.c */
void clsh_declaretransfers(lua_State *L);
void clsh_writeinit(lua_State *L, int buf, int init);
int clsh_buffercopy(lua_State *L);
int clsh_bufferfill(lua_State *L);
int clsh_buffermap(lua_State *L);
int clsh_bufferread(lua_State *L);
int clsh_bufferunmap(lua_State *L);
int clsh_bufferwrite(lua_State *L);

#endif
