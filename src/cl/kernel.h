/*
** kernel.h - class Kernel, its parameters, and the arguments for them.
** SPDX-License-Identifier: MIT
*/
#ifndef kernel_h
#define kernel_h

#include "context.h"
#include "type.h"

/* kernel.c */
typedef struct Param {
  char name[64]; /* "" where the driver does not tell */
  char type[64]; /* as declared: "float*" */
  char space;    /* 'g'lobal 'c'onstant 'l'ocal 'p'rivate */
  bool known;    /* the driver told the type */
  bool pointer;
  bool constant;     /* what it points to is const */
  const Type *value; /* of the element or value; NULL: not a known name */
} Param;
typedef struct Kernel Kernel;
Kernel *clsh_newkernel(lua_State *L, int program, const char *name);
void clsh_renewkernel(lua_State *L, int old, int new);
int clsh_kernelrevision(const Kernel *k);
bool clsh_kernelgone(const Kernel *k);
Kernel *clsh_checkkernel(lua_State *L, int arg);
cl_kernel clsh_kernelhandle(const Kernel *k);
Context *clsh_kernelcontext(const Kernel *k);
void clsh_pushkernelcontext(lua_State *L, int kernel);
const char *clsh_kernelname(const Kernel *k);
const Param *clsh_kernelparams(const Kernel *k, int *n);
size_t clsh_kernelgroup(const Kernel *k, const size_t **required);
cl_ulong clsh_kernellocal(const Kernel *k); /* bytes, without arguments */
bool clsh_kernelnonuniform(const Kernel *k);
void clsh_openkernel(lua_State *L);

/* arg.c, launch.c */
void clsh_setargs(lua_State *L, const Kernel *k, int first, int n);
int clsh_kernelrange(lua_State *L);
void clsh_openarg(lua_State *L);
void clsh_openlaunch(lua_State *L);

#endif
