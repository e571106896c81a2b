/*
** home.c - finds clshell's files, and sets where modules and scripts are
** searched.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <lualib.h>

#include "cl/cl.h"
#include "shell.h"

#define MAXPATH 4096

/* Pushes the path of this program; an empty string where it is unknown. */
void clsh_home_pushprogram(lua_State *L) {
  char path[MAXPATH] = "";
#ifdef __APPLE__
  uint32_t size = sizeof path;
  if (_NSGetExecutablePath(path, &size) != 0)
    path[0] = '\0';
#else
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
#endif
  char *real = realpath(path, NULL);
  lua_pushstring(L, real != NULL ? real : "");
  free(real);
}

/* Pushes the folder of path `s`, "." if it names none. */
static void pushfolder(lua_State *L, const char *s) {
  const char *slash = strrchr(s, '/');
  if (slash == NULL)
    lua_pushliteral(L, ".");
  else
    lua_pushlstring(L, s, slash == s ? 1 : (size_t)(slash - s));
}

/* Whether the folder on the top holds the Lua files; pops it if not. */
static bool ishome(lua_State *L) {
  const char *file =
      lua_pushfstring(L, "%s/lua/clshell/init.lua", lua_tostring(L, -1));
  bool found = access(file, R_OK) == 0;
  lua_pop(L, found ? 1 : 2);
  return found;
}

/* Raises: the Lua files are not where `where` says. */
static void nohome(lua_State *L, const char *where, const char *dir) {
  clsh_error(L, "no lua/clshell/init.lua %s %s", where, dir);
}

/*
** Pushes the folder with lua/ kernels/ scripts/: $CLSHELL_HOME, else the one
** beside the program's folder (the source tree, a moved installation), else
** the folder of `make install`.
*/
void clsh_home_push(lua_State *L) {
  const char *env = getenv("CLSHELL_HOME");
  if (env != NULL && *env != '\0') {
    lua_pushstring(L, env);
    if (!ishome(L))
      nohome(L, "in CLSHELL_HOME,", env);
    return;
  }
  int base = lua_gettop(L);
  clsh_home_pushprogram(L);
  pushfolder(L, lua_tostring(L, -1));
  pushfolder(L, lua_tostring(L, -1));
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  const char *root = lua_tostring(L, base + 1);
  lua_pushstring(L, root);
  bool found = ishome(L);
  if (!found) {
    lua_pushfstring(L, "%s/share/" PROGRAM, root);
    found = ishome(L);
  }
  if (!found) {
    lua_pushliteral(L, DATADIR);
    if (!ishome(L))
      nohome(L, "in " DATADIR " or", root);
  }
  lua_remove(L, base + 1);
}

/* Puts templates, which are popped, in front of package[field]. */
static void prepend(lua_State *L, const char *field) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_insert(L, -2);
  lua_getfield(L, -2, field);
  lua_concat(L, 2);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

static void addluafolder(lua_State *L, const char *dir) {
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;", dir, dir);
  prepend(L, "path");
}

/*
** Puts folders in front of package.path: the script's own (links resolved),
** those of -I, which go to package.cpath as well, and clshell's.
*/
void clsh_home_setpath(lua_State *L, const Options *o, const char *script,
                       const char *home) {
  int base = lua_gettop(L);
  addluafolder(L, lua_pushfstring(L, "%s/lua", home));
  for (int i = o->nactions - 1; i >= 0; i--)
    if (o->actions[i].kind == 'I') {
      addluafolder(L, o->actions[i].text);
      lua_pushfstring(L, "%s/?.so;", o->actions[i].text);
      prepend(L, "cpath");
    }
  if (script != NULL) {
    char *real = realpath(script, NULL);
    lua_pushstring(L, real != NULL ? real : script);
    free(real);
    pushfolder(L, lua_tostring(L, -1));
    addluafolder(L, lua_tostring(L, -1));
  }
  lua_settop(L, base);
}

/*
** Pushes the path of the script: `name` itself if it is `-`, a full path or an
** existing file, else the installed script of that name, if there is one.
*/
const char *clsh_home_pushscript(lua_State *L, const char *name,
                                 const char *home) {
  lua_pushstring(L, name);
  if (strcmp(name, "-") == 0 || *name == '/' || access(name, F_OK) == 0)
    return lua_tostring(L, -1);
  const char *other = lua_pushfstring(L, "%s/scripts/%s", home, name);
  if (access(other, F_OK) == 0) {
    lua_remove(L, -2);
    return lua_tostring(L, -1);
  }
  lua_pop(L, 1);
  return lua_tostring(L, -1);
}
