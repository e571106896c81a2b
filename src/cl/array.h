/*
** array.h - host memory: class Array, its blocks, and its components as
** numbers of C.
** SPDX-License-Identifier: MIT
*/
#ifndef array_h
#define array_h

#include "object.h"
#include "type.h"

#define RUN 256 /* components converted in one go */

/* Memory that an Array and its transfers share; the last user frees it. */
typedef struct Block {
  void *data;
  size_t bytes;
  int refs;
  void (*free)(struct Block *b);
  bool mapped;        /* by b:map(): may go before its Arrays do */
  bool lent;          /* to a Buffer, whose memory it is meanwhile */
  struct Block *next; /* in the list of Blocks that are given back */
} Block;

/* array.c */
void clsh_array_unref(Block *b);
Block *clsh_array_lend(lua_State *L, int arg);
void clsh_array_giveback(Block *b); /* on any thread */
void clsh_array_sweep(void);
typedef struct Array {
  Object head;
  const Type *type;
  Shape shape;
  Block *block; /* shared; its data is NULL once unmapped */
} Array;
Array *clsh_array_new(lua_State *L, const Type *t, const Shape *s);
Array *clsh_array_unset(lua_State *L, const Type *t, const Shape *s,
                        bool *old);
Array *clsh_array_box(lua_State *L, const Type *t, const Shape *s);
extern const Class clsh_array_class;
#define clsh_array_test(L, i)                                                 \
  ((Array *)clsh_class_test(L, i, &clsh_array_class))
#define clsh_array_check(L, i)                                                \
  ((Array *)clsh_class_check(L, i, &clsh_array_class))
void *clsh_array_data(lua_State *L, const Array *a); /* raises if closed */
bool clsh_array_mapped(const Array *a);
size_t clsh_array_bytes(const Array *a);
const char *clsh_array_name(lua_State *L, const Array *a);
void clsh_array_setall(lua_State *L, Array *a, int arg); /* any init value */
void clsh_array_convert(lua_State *L, Array *to, Array *from);
uint64_t clsh_array_splitmix64(uint64_t seed, uint64_t i);
void clsh_array_open(lua_State *L);

#endif
