/*
** array.h - host memory: class Array, its blocks, and its components as
** numbers of C.
** SPDX-License-Identifier: MIT
*/
#ifndef array_h
#define array_h

#include <stdint.h>

#include "object.h"
#include "type.h"

#define RUN 256 /* components converted in one go */

/* block.c: memory that an Array and its transfers share */
typedef struct Block {
  void *data;
  size_t bytes;
  int refs;
  void (*free)(struct Block *b);
  void *cookie[3]; /* for free() */
} Block;
Block *clsh_newblock(size_t bytes);
void clsh_releaseblock(Block *b);

/* array.c */
typedef struct Array {
  Object head;
  const Type *type;
  Shape shape;
  Block *block; /* shared; its data is NULL once unmapped */
} Array;
Array *clsh_newarray(lua_State *L, const Type *t, const Shape *s);
Array *clsh_wrapblock(lua_State *L, const Type *t, const Shape *s, Block *b);
Array *clsh_testarray(lua_State *L, int arg);
Array *clsh_checkarray(lua_State *L, int arg);
void *clsh_arraydata(lua_State *L, const Array *a); /* raises if closed */
size_t clsh_arraybytes(const Array *a);
const char *clsh_arrayname(lua_State *L, const Array *a);
void clsh_openarray(lua_State *L);

/* arrayinit.c */
void clsh_setarray(lua_State *L, Array *a, int arg); /* any init value */
void clsh_openarrayinit(lua_State *L);

/* arrayops.c */
uint64_t clsh_splitmix64(uint64_t seed, uint64_t i);
double clsh_rounded(const Type *t, double x);
void clsh_openarrayops(lua_State *L);

/* convert.c: components by the run. A vector of 3 has a gap in each. */
typedef struct Run {
  size_t first;  /* number of its first component, gaps not counted */
  size_t n;      /* components, at most RUN */
  size_t offset; /* bytes from the array's first element */
} Run;
bool clsh_nextrun(lua_State *L, const Array *a, Run *r);
void clsh_loadreals(const Type *t, const void *p, size_t n, double *x);
void clsh_loadintegers(const Type *t, const void *p, size_t n, int64_t *x);
void clsh_storereals(const Type *t, const double *x, size_t n, void *p);
void clsh_storeintegers(const Type *t, const int64_t *x, size_t n, void *p);
void clsh_convert(lua_State *L, Array *to, Array *from);
void clsh_openconvert(lua_State *L);

#endif
