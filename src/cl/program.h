/*
** program.h - what program.c (the class) and the files that build programs
** share: build.c, buildlog.c, builder.c, compile.c, rebuild.c, stamp.c.
** SPDX-License-Identifier: MIT
*/
#ifndef program_h
#define program_h

#include "context.h"
#include "object.h"

#define CLSHELL_ARGINFO "-cl-kernel-arg-info" /* first of all options */

/* User values of a Program. */
enum {
  PROGRAM_CONTEXT = 1,
  PROGRAM_KERNELS, /* name -> Kernel */
  PROGRAM_LOG,
  PROGRAM_OPTIONS,
  PROGRAM_NAME,
  PROGRAM_FILES, /* see stamp.c; nil: not built from a file */
  PROGRAM_USERVALUES = PROGRAM_FILES
};

typedef struct Program {
  Object head;
  cl_program handle;
  Context *context;
  int builds; /* how often it has been built */
} Program;

/* program.c */
Program *clsh_toprogram(lua_State *L, int arg);
Program *clsh_newprogram(lua_State *L, int ctx, const char *name);
cl_program clsh_checkprogram(lua_State *L, int arg);
Context *clsh_programcontext(lua_State *L, int arg);
void clsh_openprogram(lua_State *L);

/* compile.c */
void clsh_buildsource(lua_State *L, int program, int text, const char *path);
int clsh_build(lua_State *L);
void clsh_opencompile(lua_State *L);

/* stamp.c */
const char *clsh_notefiles(lua_State *L, int program, int text,
                           const char *path, const char *options);
bool clsh_fileschanged(lua_State *L, int program);

/* rebuild.c */
void clsh_noteprogram(lua_State *L);
void clsh_pushfiles(lua_State *L, int program);
int clsh_programchanged(lua_State *L);
int clsh_programrebuild(lua_State *L);
int clsh_programfile(lua_State *L);
int clsh_programbuilds(lua_State *L);
void clsh_openrebuild(lua_State *L);

/* builder.c */
int clsh_buildsrunning(void);
cl_int clsh_compile(lua_State *L, cl_program *handle, cl_device_id d,
                    const char *options);

/* build.c, buildlog.c */
bool clsh_pushfile(lua_State *L, const char *path);
void clsh_pushsource(lua_State *L, const char *path);
void clsh_pushoptions(lua_State *L, int opts, const char *source,
                      const char *path);
void clsh_pushdriverlog(lua_State *L, cl_program p, cl_device_id d);

/* A build that failed; the strings are anchored by the caller. */
typedef struct Build {
  const char *log, *options, *source;
  const char *name; /* a path, or what a text is called */
  bool istext;      /* the source is no file */
  cl_device_id device;
} Build;
void clsh_buildfailed(lua_State *L, const Build *b, cl_int err);

#endif
