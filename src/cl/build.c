/*
** build.c - from a kernel file and options to what the compiler is given.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cl.h"
#include "program.h"

/* Pushes the bytes of a file; false if it cannot be read. */
bool clsh_pushfile(lua_State *L, const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return false;
  char *p = lua_newuserdatauv(L, (size_t)st.st_size + 1, 0);
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    lua_pop(L, 1);
    return false;
  }
  size_t n = fread(p, 1, (size_t)st.st_size, f);
  fclose(f);
  lua_pushlstring(L, p, n);
  lua_remove(L, -2);
  return true;
}

/* Pushes the folder of the Lua file that called, with its slash; or "". */
static void pushcallerdir(lua_State *L) {
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (ar.source[0] != '@')
      continue;
    const char *slash = strrchr(ar.source, '/');
    if (slash == NULL)
      break;
    lua_pushlstring(L, ar.source + 1, (size_t)(slash - ar.source));
    return;
  }
  lua_pushliteral(L, "");
}

/*
** Pushes the text of a kernel file and the path where it was found: as
** named, beside the calling script, or among clshell's own kernels.
*/
void clsh_pushsource(lua_State *L, const char *path) {
  if (clsh_pushfile(L, path)) {
    lua_pushstring(L, path);
    return;
  }
  pushcallerdir(L);
  const char *beside = lua_pushfstring(L, "%s%s", lua_tostring(L, -1), path);
  lua_getfield(L, LUA_REGISTRYINDEX, CLSHELL_HOMEKEY);
  const char *home = luaL_optstring(L, -1, "");
  const char *own = lua_pushfstring(L, "%s/kernels/%s", home, path);
  if (path[0] != '/') {
    if (clsh_pushfile(L, beside)) {
      lua_pushstring(L, beside);
      return;
    }
    if (*home != '\0' && clsh_pushfile(L, own)) {
      lua_pushstring(L, own);
      return;
    }
  }
  clsh_error(L, "no kernel file '%s'; looked for %s%s%s%s%s", path, path,
             strcmp(beside, path) != 0 ? ", " : "",
             strcmp(beside, path) != 0 ? beside : "",
             *home != '\0' ? ", " : "", *home != '\0' ? own : "");
}

/* Raises where the compiler would see only a part of the string at the top. */
static void checkzeros(lua_State *L, const char *what) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  if (strlen(text) != len)
    clsh_error(L, "%s: '%s' goes on after a zero byte, where drivers stop",
               what, text);
}

/* Moves the string at the top to the end of the list at `list`. */
static void append(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* Adds a folder by its full path: the program may be built again later. */
static void addinclude(lua_State *L, int list, const char *dir) {
  char cwd[4096];
  int top = lua_gettop(L);
  if (*dir != '/' && getcwd(cwd, sizeof cwd) != NULL) {
    while (strncmp(dir, "./", 2) == 0)
      dir += 2 + strspn(dir + 2, "/");
    dir = lua_pushfstring(L, "%s/%s", cwd, dir);
  }
  bool plain = strpbrk(dir, " \t\"") == NULL;
  lua_pushfstring(L, plain ? "-I %s" : "-I \"%s\"", dir);
  append(L, list);
  lua_settop(L, top);
}

/*
** Adds the folder of the source, which only its own #includes need, and
** those of {include = "dir"} or {include = {"a", "b"}}.
*/
static void addincludes(lua_State *L, int list, int opts, const char *source,
                        const char *path) {
  const char *slash = strrchr(path, '/');
  bool includes = strstr(source, "#include") != NULL;
  if (includes && slash != NULL) {
    lua_pushlstring(L, path, (size_t)(slash - path + 1));
    addinclude(L, list, lua_tostring(L, -1));
    lua_pop(L, 1);
  } else if (includes && access(path, R_OK) == 0)
    addinclude(L, list, "./");
  if (lua_isnil(L, opts))
    return;
  int type = lua_getfield(L, opts, "include");
  if (type == LUA_TSTRING) {
    checkzeros(L, "include");
    addinclude(L, list, lua_tostring(L, -1));
  } else if (type == LUA_TTABLE)
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1); i++) {
      if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
        clsh_error(L, "include: folder %d is a %s", (int)i,
                   luaL_typename(L, -1));
      checkzeros(L, "include");
      addinclude(L, list, lua_tostring(L, -1));
      lua_pop(L, 1);
    }
  else if (type != LUA_TNIL)
    clsh_error(L, "include: a folder or a list of folders expected, got %s",
               luaL_typename(L, -1));
  lua_pop(L, 1);
}

/* Pushes "-D NAME=value" for the key and value at the top two places. */
static bool pushdefine(lua_State *L) {
  if (lua_type(L, -2) != LUA_TSTRING)
    clsh_error(L, "defines: names are strings, got a %s",
               luaL_typename(L, -2));
  const char *name = lua_tostring(L, -2);
  if (lua_type(L, -1) == LUA_TBOOLEAN) {
    bool on = lua_toboolean(L, -1);
    lua_pushfstring(L, "-D %s", name);
    return on;
  }
  if (lua_type(L, -1) != LUA_TNUMBER && lua_type(L, -1) != LUA_TSTRING)
    clsh_error(L, "defines: %s is a %s; a number, string or boolean goes",
               name, luaL_typename(L, -1));
  lua_pushvalue(L, -2);
  checkzeros(L, "defines");
  lua_pop(L, 1);
  const char *value = luaL_tolstring(L, -1, NULL);
  checkzeros(L, name);
  if (strpbrk(value, " \t\n\"") != NULL || strpbrk(name, " \t\n\"=") != NULL)
    clsh_error(L,
               "defines: %s=%s holds white space or quotes, on which "
               "drivers split their options",
               name, value);
  lua_pushfstring(L, "-D %s=%s", name, value);
  lua_remove(L, -2);
  return true;
}

static int less(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds {defines = {...}}, sorted: the same options give the same text. */
static void adddefines(lua_State *L, int list, int opts) {
  if (lua_isnil(L, opts) || lua_getfield(L, opts, "defines") == LUA_TNIL) {
    lua_settop(L, list > opts ? list : opts);
    return;
  }
  if (!lua_istable(L, -1))
    clsh_error(L, "defines: a table expected, got %s", luaL_typename(L, -1));
  int top = lua_gettop(L);
  lua_newtable(L); /* anchors the strings */
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, top) != 0; lua_pop(L, 1)) {
    if (pushdefine(L))
      lua_rawseti(L, top + 1, ++n);
    else
      lua_pop(L, 1);
  }
  const char **sorted =
      lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *sorted, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, top + 1, i + 1);
    sorted[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  qsort(sorted, (size_t)n, sizeof *sorted, less);
  for (lua_Integer i = 0; i < n; i++) {
    lua_pushstring(L, sorted[i]);
    append(L, list);
  }
  lua_settop(L, top - 1);
}

/* Pushes the build options as one string. `opts`: a table or nil. */
void clsh_pushoptions(lua_State *L, int opts, const char *source,
                      const char *path) {
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_pushliteral(L, CLSHELL_ARGINFO);
  append(L, list);
  addincludes(L, list, opts, source, path);
  adddefines(L, list, opts);
  if (!lua_isnil(L, opts)) {
    if (lua_getfield(L, opts, "options") == LUA_TSTRING) {
      checkzeros(L, "options");
      append(L, list);
    } else if (!lua_isnil(L, -1))
      clsh_error(L, "options: a string expected, got %s",
                 luaL_typename(L, -1));
    lua_settop(L, list);
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    if (i > 1)
      luaL_addchar(&b, ' ');
    lua_rawgeti(L, list, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  lua_remove(L, list);
}
