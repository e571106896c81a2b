/*
** program.h - types and functions that program.c (the class), source.c (texts,
** options, files), compiler.c, build.c and rebuild.c share, each using only
** the files before it.
** SPDX-License-Identifier: MIT
*/
#ifndef program_h
#define program_h

#include <stdint.h>

#include "context.h"

#define CLSHELL_ARGINFO "-cl-kernel-arg-info" /* first of all options */
/* registry: Program of a file -> true, weak */
#define CLSHELL_PROGRAMS "cl.programs"
#define CLSHELL_KERNELS "cl.kernels" /* registry: see cl.kernel_folder */

/* User values of a Program. */
enum {
  PROGRAM_CONTEXT = 1,
  PROGRAM_KERNELS, /* name -> Kernel */
  PROGRAM_LOG,
  PROGRAM_OPTIONS,
  PROGRAM_DEFINES, /* the lines in front of its source */
  PROGRAM_NAME,    /* the path of the file, or the name of a text */
  PROGRAM_SOURCE,  /* the text that was built; nil: a binary */
  PROGRAM_CUDA,    /* see cl.translate_cuda; true: not translated yet */
  PROGRAM_FILES,   /* see source.c; nil: not built from a file */
  PROGRAM_PARTS,   /* Programs that a compile includes or a link joins */
  PROGRAM_NAMES    /* of the headers among the parts */
};

/* How a Program is made of its source or its parts. */
enum { BUILD, COMPILE, LINK, LIBRARY };

typedef struct Program {
  Object head;
  cl_program handle;
  Context *context;
  int builds;         /* 1 and the rebuilds; 0: not built */
  int making;         /* BUILD ... */
  bool early;         /* it begins a build that another Program takes */
  cl_ulong local_mem; /* see cl.build_binary; 0: the device's limit */
} Program;

/* program.c */
Program *clsh_program_check(lua_State *L, int arg);
Program *clsh_program_new(lua_State *L, int ctx, const char *name);
void clsh_program_pushkernelnames(lua_State *L, const Program *p);
int clsh_program_pushkernel(lua_State *L, int program, int name);
const char *clsh_program_checkbinary(lua_State *L, int arg, cl_device_id d,
                                     size_t *len);
void clsh_program_open(lua_State *L);

/* source.c */
void clsh_source_append(lua_State *L, int list);
uint64_t clsh_source_hash(uint64_t h, const void *data, size_t n);
void clsh_source_push(lua_State *L, const char *path);
void clsh_source_check(lua_State *L, int idx, const char *name);
void clsh_source_pushoptions(lua_State *L, int opts, const char *source,
                             const char *path);
void clsh_source_pushexpanded(lua_State *L, int program, int text,
                              const char *path, const char *options);
void clsh_source_dropquoted(char *options);
const char *clsh_source_pushfiles(lua_State *L, int text, const char *path,
                                  const char *options);
bool clsh_source_changed(lua_State *L, int files);
lua_Integer clsh_source_edits(void);

/* compiler.c */
int clsh_compiler_running(void);
const char *clsh_compiler_told(void);
void clsh_compiler_begin(lua_State *L, int program, const char *options);
cl_int clsh_compiler_run(lua_State *L, int program, const char *options);

/* build.c */
void clsh_build_text(lua_State *L, int program, int text, const char *path,
                     int opts);
void clsh_build_open(lua_State *L);

/* rebuild.c */
void clsh_rebuild_open(lua_State *L);

#endif
