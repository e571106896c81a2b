/*
** launch.h - what launch.c (the class) and ndrange.c (its sizes) share.
** SPDX-License-Identifier: MIT
*/
#ifndef launch_h
#define launch_h

#include "kernel.h"
#include "object.h"

typedef struct Launch {
  Object head;
  Kernel *kernel;
  cl_uint dims;
  size_t global[3], local[3], offset[3];
  bool haslocal, hasoffset, hasafter;
  lua_Number flop, bytes; /* what it does and moves; 0: not known */
  int revision;           /* of the kernel that the sizes were checked for */
} Launch;

const char *clsh_pushsizes(lua_State *L, const size_t *s, cl_uint n);
cl_uint clsh_checksizes(lua_State *L, int arg, const char *what,
                        lua_Integer least, size_t *s);
void clsh_checkrange(lua_State *L, Launch *l);

#endif
