/*
** rebuild.c - the same Program, with its Kernels and their launches, built
** anew from its file.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "cl.h"
#include "context.h"
#include "kernel.h"
#include "object.h"
#include "program.h"

#define PROGRAMS                                                              \
  "cl.programs" /* registry: Program of a file -> true, weak                  \
                 */

static void append(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* Has cl.programs list the Program at the top. */
void clsh_noteprogram(lua_State *L) {
  clsh_noteweak(L, PROGRAMS);
}

/** Program:changed() -> boolean
 * Whether the file that the program was built from, or one that it includes,
 * has another content than when it was last built, or was to be. False for a
 * program of source text or of a binary.
 */
int clsh_programchanged(lua_State *L) {
  clsh_toprogram(L, 1);
  lua_pushboolean(L, clsh_fileschanged(L, 1));
  return 1;
}

/* Pushes the list of the paths of the program's files. */
void clsh_pushfiles(lua_State *L, int program) {
  lua_newtable(L);
  int list = lua_gettop(L);
  if (lua_getiuservalue(L, program, PROGRAM_FILES) == LUA_TTABLE)
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list + 1);
         i += 2) {
      lua_rawgeti(L, list + 1, i);
      append(L, list);
    }
  lua_settop(L, list);
}

/* prog.file: the full path, or nil. */
int clsh_programfile(lua_State *L) {
  clsh_toprogram(L, 1);
  if (lua_getiuservalue(L, 1, PROGRAM_FILES) != LUA_TTABLE)
    return 0;
  lua_rawgeti(L, -1, 1);
  return 1;
}

int clsh_programbuilds(lua_State *L) {
  lua_pushinteger(L, clsh_toprogram(L, 1)->builds);
  return 1;
}

/* build(program, text, options, path), called in protected mode. */
static int buildfile(lua_State *L) {
  clsh_buildsource(L, 1, 2, lua_tostring(L, 3));
  return 0;
}

/*
** Builds the files of the program at 1 into a new Program, which is pushed.
** The files count as seen even if that raises.
*/
static Program *pushnew(lua_State *L) {
  if (lua_getiuservalue(L, 1, PROGRAM_FILES) != LUA_TTABLE)
    clsh_error(L, "this program was not built from a file: source texts and "
                  "binaries do not change");
  lua_rawgeti(L, 2, 1);
  lua_getiuservalue(L, 1, PROGRAM_NAME);
  lua_getiuservalue(L, 1, PROGRAM_CONTEXT);
  Program *n = clsh_newprogram(L, 5, lua_tostring(L, 4)); /* at 6 */
  lua_pushcfunction(L, buildfile);
  lua_pushvalue(L, 6);
  clsh_pushsource(L, lua_tostring(L, 3));
  lua_getiuservalue(L, 1, PROGRAM_OPTIONS);
  const char *options = lua_tostring(L, -1);
  bool told = strstr(options, CLSHELL_ARGINFO) == options;
  lua_pushfstring(L, "%s%s", told ? "" : CLSHELL_ARGINFO, options);
  lua_replace(L, -2);
  int status = lua_pcall(L, 4, 0, 0);
  if (lua_getiuservalue(L, 6, PROGRAM_FILES) == LUA_TTABLE)
    lua_setiuservalue(L, 1, PROGRAM_FILES);
  else
    lua_pop(L, 1);
  if (status != LUA_OK)
    lua_error(L);
  return n;
}

/* Pushes a list: each open Kernel of the program at 1, the new one or false.
 */
static void pushkernels(lua_State *L, int new) {
  lua_getiuservalue(L, 1, PROGRAM_KERNELS);
  int kernels = lua_gettop(L);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, kernels) != 0; lua_pop(L, 1)) {
    lua_getfield(L, -1, "closed");
    bool closed = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (closed)
      continue;
    lua_pushvalue(L, -1);
    append(L, kernels + 1);
    if (clsh_newkernel(L, new, lua_tostring(L, -2)) == NULL)
      lua_pushboolean(L, 0);
    append(L, kernels + 1);
  }
  lua_remove(L, kernels);
}

/** Program:rebuild() -> Program
 * Builds a program anew from its file, in place: its kernels, and launches
 * made of them, are the new ones from then on. A failed build raises and
 * leaves all as it was. What is enqueued already is not touched. A kernel
 * that the file has no more raises when it is used.
 */
int clsh_programrebuild(lua_State *L) {
  Program *p = clsh_toprogram(L, 1);
  lua_settop(L, 1);
  Program *n = pushnew(L); /* at 6 */
  pushkernels(L, 6);       /* at 7 */
  cl_program handle = p->handle;
  p->handle = n->handle;
  n->handle = handle;
  p->builds++;
  lua_getiuservalue(L, 6, PROGRAM_LOG);
  lua_setiuservalue(L, 1, PROGRAM_LOG);
  lua_getiuservalue(L, 6, PROGRAM_OPTIONS);
  lua_setiuservalue(L, 1, PROGRAM_OPTIONS);
  for (lua_Integer i = 1; i < (lua_Integer)lua_rawlen(L, 7); i += 2) {
    lua_rawgeti(L, 7, i);
    lua_rawgeti(L, 7, i + 1);
    clsh_renewkernel(L, 8, 9);
    if (lua_isuserdata(L, 9))
      clsh_closeobject(lua_touserdata(L, 9));
    lua_settop(L, 7);
  }
  clsh_closeobject(&n->head);
  lua_settop(L, 1);
  return 1;
}

/* Pushes the list of the programs of files, of all or of the changed ones. */
static int pushprograms(lua_State *L, bool changed) {
  lua_settop(L, 0);
  lua_newtable(L);
  clsh_pushweak(L, PROGRAMS);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    Program *p = lua_touserdata(L, 3);
    if (p->head.closed || p->builds == 0 || !clsh_usable(p->context) ||
        (changed && !clsh_fileschanged(L, 3)))
      continue;
    lua_pushvalue(L, 3);
    append(L, 1);
  }
  lua_settop(L, 1);
  return (int)lua_rawlen(L, 1);
}

/** cl.programs() -> list
 * The open programs that were built from files, in any order.
 */
static int cl_programs(lua_State *L) {
  pushprograms(L, false);
  return 1;
}

/** cl.stale() -> list, or nil
 * Those of cl.programs whose files have changed since: see Program:changed.
 * Nil where there are none.
 */
static int cl_stale(lua_State *L) {
  return pushprograms(L, true) > 0;
}

void clsh_openrebuild(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"programs", cl_programs}, {"stale", cl_stale}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
