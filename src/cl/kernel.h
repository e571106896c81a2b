/*
** kernel.h - types and functions that kernel.c, typedef.c, arg.c,
** commandbuffer.c and launch.c share, each using only the files before it.
** SPDX-License-Identifier: MIT
*/
#ifndef kernel_h
#define kernel_h

#include "context.h"
#include "queue.h"
#include "type.h"

#define MAXKERNELNAME 240 /* drivers name files after a kernel */

typedef struct Param {
  char name[64]; /* "" where the driver does not tell */
  char type[64]; /* as declared: "float*", "read_only image2d_t" */
  char space;    /* 'g'lobal 'c'onstant 'l'ocal 'p'rivate */
  char object;   /* 'i'mage, 's'ampler; 0: neither */
  bool known;    /* the driver told the type */
  bool pointer;
  bool constant;      /* a pointer to const */
  bool reads, writes; /* an image; as far as the driver tells */
  bool anything;      /* a pointer to void */
  const Type *value;  /* of the element or value; NULL: see typedef.c */
  size_t size;        /* bytes of a struct by value; 0: not known */
} Param;

/* User values of a Kernel. */
enum {
  KERNEL_PROGRAM = 1,
  KERNEL_PARAMS,
  KERNEL_CONTEXT,
  KERNEL_USES,
  KERNEL_MARKED /* the kernel with marks, or false; nil: not known */
};

typedef struct Kernel {
  Object head;
  cl_kernel handle; /* NULL: the rebuilt program lacks a kernel of this name */
  Context *context;
  Param *params;
  int nparams;
  size_t group;       /* work-items in a group, at most */
  size_t required[3]; /* reqd_work_group_size; 0 0 0: none */
  bool nonuniform;    /* built as OpenCL C 2.0 or later */
  cl_ulong local_mem; /* its program's limit, see cl.build_binary; 0: none */
  bool prints;        /* launches wait, for the order of the output */
  bool asked;         /* the compiler was asked for unknown types */
  int revision;       /* rebuilds of the program so far */
  char name[MAXKERNELNAME + 1];
} Kernel;

/* The range of a launch, and its work. */
typedef struct Range {
  cl_uint dims;
  size_t global[3], local[3], offset[3];
  bool haslocal, hasoffset;
  lua_Number flop, bytes; /* 0: not known */
} Range;

/* kernel.c */
Kernel *clsh_kernel_new(lua_State *L, int program, cl_program handle,
                        const char *name);
void clsh_kernel_renew(lua_State *L, int old, int new);
Kernel *clsh_kernel_check(lua_State *L, int arg);
cl_ulong clsh_kernel_local(const Kernel *k); /* bytes, without arguments */
void clsh_kernel_copyuses(lua_State *L, int kernel, cl_kernel handle);
Kernel *clsh_kernel_marked(lua_State *L, int kernel);
cl_int clsh_kernel_enqueue(cl_kernel handle, const Range *r,
                           cl_command_queue q, const After *after,
                           cl_event *slot);
unsigned clsh_kernel_note(const Range *r);
const char *clsh_kernel_spacename(char space);
const char *clsh_kernel_pushtype(lua_State *L, const Param *p);
void clsh_kernel_open(lua_State *L);

/* typedef.c */
void clsh_typedef_resolve(lua_State *L, int kernel);
void clsh_typedef_open(lua_State *L);

/* arg.c */
void clsh_arg_set(lua_State *L, const Kernel *k, const Queue *q, int first,
                  int n);
const Object *clsh_arg_object(lua_State *L, int idx);
void clsh_arg_open(lua_State *L);

/* commandbuffer.c: a launch of the kernel at `kernel`, values from 2 on */
void clsh_commandbuffer_add(lua_State *L, int kernel, const Range *r,
                            int nargs);
void clsh_commandbuffer_open(lua_State *L);

/* launch.c */
void clsh_launch_open(lua_State *L);

#endif
