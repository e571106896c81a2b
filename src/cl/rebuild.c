/*
** rebuild.c - the Programs of files: which files have changed, and the same
** Program, with its Kernels and their launches, built again.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "kernel.h"
#include "program.h"

static bool changed(lua_State *L, int program) {
  lua_getiuservalue(L, program, PROGRAM_FILES);
  bool yes = clsh_source_changed(L, lua_gettop(L));
  lua_pop(L, 1);
  return yes;
}

/** Program:changed() -> boolean
 * Whether the program's file, or a file that it includes, has changed since
 * the last build or attempt at a build. False for a program of source text or
 * of a binary.
 * Example:
 * local prog = cl.build "gemm/tiled.cl"
 * print(prog:changed()) --> false
 */
static int program_changed(lua_State *L) {
  clsh_program_check(L, 1);
  lua_pushboolean(L, changed(L, 1));
  return 1;
}

/* prog.file: the full path, or nil. */
static int program_file(lua_State *L) {
  clsh_program_check(L, 1);
  if (lua_getiuservalue(L, 1, PROGRAM_FILES) != LUA_TTABLE)
    return 0;
  lua_rawgeti(L, -1, 1);
  return 1;
}

/* (text, path, program, options), called in protected mode. */
static int buildfile(lua_State *L) {
  clsh_build_text(L, 3, 1, lua_tostring(L, 2), 0);
  return 0;
}

/*
** Builds the files of the program at 1 into a new Program, which is pushed.
** The files count as seen even if the build raises.
*/
static Program *pushnew(lua_State *L) {
  if (lua_getiuservalue(L, 1, PROGRAM_FILES) != LUA_TTABLE)
    clsh_error(L, "this program was not built from a file: source texts and "
                  "binaries do not change");
  lua_rawgeti(L, 2, 1);
  lua_getiuservalue(L, 1, PROGRAM_NAME);
  lua_getiuservalue(L, 1, PROGRAM_CONTEXT);
  Program *n = clsh_program_new(L, 5, lua_tostring(L, 4)); /* at 6 */
  lua_getiuservalue(L, 1, PROGRAM_DEFINES);
  lua_setiuservalue(L, 6, PROGRAM_DEFINES);
  lua_getiuservalue(L, 1, PROGRAM_CUDA);
  lua_setiuservalue(L, 6, PROGRAM_CUDA);
  n->making = clsh_program_check(L, 1)->making;
  for (int i = PROGRAM_PARTS; i <= PROGRAM_NAMES; i++) {
    lua_getiuservalue(L, 1, i);
    lua_setiuservalue(L, 6, i);
  }
  lua_pushcfunction(L, buildfile);
  clsh_source_push(L, lua_tostring(L, 3));
  lua_pushvalue(L, 6);
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

/* Pushes the list {Kernel, its successor or false ...} of the program at 1. */
static void pushkernels(lua_State *L, int new, cl_program handle) {
  lua_getiuservalue(L, 1, PROGRAM_KERNELS);
  int kernels = lua_gettop(L);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, kernels) != 0; lua_pop(L, 1)) {
    if (((Object *)lua_touserdata(L, -1))->closed)
      continue;
    lua_pushvalue(L, -1);
    clsh_source_append(L, kernels + 1);
    if (clsh_kernel_new(L, new, handle, lua_tostring(L, -2)) == NULL)
      lua_pushboolean(L, 0);
    clsh_source_append(L, kernels + 1);
  }
  lua_remove(L, kernels);
}

/** Program:rebuild() -> Program
 * Builds a program again from its file, in place: its kernels, and launches
 * made of them, are the new kernels from then on. A failed build raises and
 * leaves all as it was. Commands already in a queue run as they are. A kernel
 * that the file no longer has raises when it is used.
 * Example:
 * local prog = cl.build "gemm/tiled.cl"
 * if prog:changed() then
 *   prog:rebuild() -- its kernels, and launches of them, are the new ones
 * end
 */
static int program_rebuild(lua_State *L) {
  static const int ours[] = {PROGRAM_LOG, PROGRAM_OPTIONS, PROGRAM_SOURCE,
                             PROGRAM_CUDA};
  Program *p = clsh_program_check(L, 1);
  lua_settop(L, 1);
  Program *n = pushnew(L);      /* at 6 */
  pushkernels(L, 6, n->handle); /* at 7 */
  cl_program handle = p->handle;
  p->handle = n->handle;
  n->handle = handle;
  p->builds++;
  for (int i = 0; i < 4; i++) {
    lua_getiuservalue(L, 6, ours[i]);
    lua_setiuservalue(L, 1, ours[i]);
  }
  for (lua_Integer i = 1; i < (lua_Integer)lua_rawlen(L, 7); i += 2) {
    lua_rawgeti(L, 7, i);
    lua_rawgeti(L, 7, i + 1);
    clsh_kernel_renew(L, 8, 9);
    if (lua_isuserdata(L, 9))
      clsh_class_close(lua_touserdata(L, 9));
    lua_settop(L, 7);
  }
  clsh_class_close(&n->head);
  lua_settop(L, 1);
  return 1;
}

/* Pushes the list of all programs of files, or of the changed programs. */
static int pushprograms(lua_State *L, bool onlychanged) {
  lua_settop(L, 0);
  lua_newtable(L);
  clsh_class_pushweak(L, CLSHELL_PROGRAMS);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    Program *p = lua_touserdata(L, 3);
    if (p->head.closed || p->builds == 0 || !clsh_context_usable(p->context) ||
        (onlychanged && !changed(L, 3)))
      continue;
    lua_pushvalue(L, 3);
    clsh_source_append(L, 1);
  }
  lua_settop(L, 1);
  return (int)lua_rawlen(L, 1);
}

/** cl.programs() -> list
 * The open programs that were built from files, in any order.
 * Example:
 * for _, prog in ipairs(cl.programs()) do
 *   print(prog.file)
 * end
 */
static int cl_programs(lua_State *L) {
  pushprograms(L, false);
  return 1;
}
/** cl.stale() -> list, or nil
 * The programs of cl.programs with changed files: see Program:changed. nil
 * where no file has changed.
 * Example:
 * for _, prog in ipairs(cl.stale() or {}) do -- whose files were edited
 *   prog:rebuild()
 * end
 */
static int cl_stale(lua_State *L) {
  return pushprograms(L, true) > 0;
}

/* The hook edits: () -> a number; while it stays the same, a program that has
** not changed has not changed. */
static int edits(lua_State *L) {
  lua_pushinteger(L, clsh_source_edits());
  return 1;
}

void clsh_rebuild_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"programs", cl_programs}, {"stale", cl_stale}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"changed", program_changed},
                                     {"rebuild", program_rebuild},
                                     {NULL, NULL}};
  static const luaL_Reg fields[] = {{"file", program_file}, {NULL, NULL}};
  clsh_class_add(L, "Program", methods, fields);
  lua_pushcfunction(L, edits);
  clsh_hook_set(L, "edits");
  luaL_setfuncs(L, functions, 0);
}
