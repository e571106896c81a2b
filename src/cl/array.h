/*
** array.h - what the files of class Array and of cl.host share.
** SPDX-License-Identifier: MIT
*/
#ifndef array_h
#define array_h

#include <stdint.h>

#include "clshell.h"

#define RUN 256 /* components converted in one go */

struct Array {
  Object head;
  const Type *type;
  Shape shape;
  Block *block; /* shared; its data is NULL once unmapped */
};

/* array.c */
void *clsh_arraydata(lua_State *L, const Array *a); /* raises if closed */
size_t clsh_arraybytes(const Array *a);
const char *clsh_arrayname(lua_State *L, const Array *a);

/* arrayinit.c: methods, and what cl.array does with an init value */
int clsh_arrayfill(lua_State *L);
int clsh_arraytable(lua_State *L);

/* arrayops.c: methods */
int clsh_arrayequal(lua_State *L);
int clsh_arraymaxdiff(lua_State *L);
int clsh_arraybytestring(lua_State *L);
int clsh_arrayrandom(lua_State *L);
int clsh_arrayreadfile(lua_State *L);
int clsh_arraysummary(lua_State *L);
int clsh_arrayswap(lua_State *L);
int clsh_arraywritefile(lua_State *L);
uint64_t clsh_splitmix64(uint64_t seed, uint64_t i);
double clsh_rounded(const Type *t, double x);

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
void clsh_poll(lua_State *L);

#endif
