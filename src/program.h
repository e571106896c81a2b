/*
** program.h - what program.c (the class), build.c and buildlog.c share.
** SPDX-License-Identifier: MIT
*/
#ifndef program_h
#define program_h

#include "clshell.h"

#define CLSHELL_ARGINFO "-cl-kernel-arg-info" /* first of all options */

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
