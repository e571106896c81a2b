/*
** buffer.h - class Buffer: device memory, its parts and views.
** SPDX-License-Identifier: MIT
*/
#ifndef buffer_h
#define buffer_h

#include "context.h"
#include "queue.h"
#include "type.h"

/* buffer.c */
typedef struct Buffer {
  Object head;
  cl_mem handle;
  cl_mem root;      /* of a view: the buffer it lies in; else the handle */
  cl_mem part;      /* of a view with a shift: its own handle, or NULL */
  Context *context; /* user value 1 keeps it */
  const Type *type;
  Shape shape;
  size_t ld;     /* elements from row to row; cols unless it has gaps */
  size_t bytes;  /* gaps included */
  size_t offset; /* bytes, of a view in its root */
  size_t shift;  /* bytes, from the handle's beginning to the first element */
  size_t reach;  /* bytes that its matrices may use, from the first element */
  void *address; /* of its root in shared virtual memory, or NULL */
  bool view;
  bool hosted;          /* its memory is an Array's */
  bool kept;            /* its memory is for later Buffers, see heldmemory.c */
  unsigned order;       /* the default queue that has used it, for `kept` */
  struct Buffer *owner; /* of a view: its root, which user value 2 keeps */
  unsigned views;       /* of a root: its open views */
} Buffer;
extern const Class clsh_buffer_class;
#define clsh_buffer_check(L, i)                                               \
  ((Buffer *)clsh_class_check(L, i, &clsh_buffer_class))
#define clsh_buffer_test(L, i)                                                \
  ((Buffer *)clsh_class_test(L, i, &clsh_buffer_class))
#define clsh_buffer_option(L, i, name)                                        \
  ((Buffer *)clsh_class_option(L, i, &clsh_buffer_class, name))
cl_mem clsh_buffer_handle(lua_State *L, Buffer *b);
size_t clsh_buffer_start(const Buffer *b);
void clsh_buffer_use(Buffer *b, const Queue *q);
void clsh_buffer_dontkeep(Buffer *b);
cl_mem_flags clsh_buffer_flags(lua_State *L, int arg);
void clsh_buffer_open(lua_State *L);

/* transfer.c */
void clsh_transfer_open(lua_State *L);

#endif
