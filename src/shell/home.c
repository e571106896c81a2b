/*
** home.c - finds clshell's files, and the script that a name means.
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

const char clsh_home_commit[] = COMMIT;

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
** Names Intel's driver to the OpenCL loader where pip put it beside the
** program, unless the user names drivers.
*/
static void namedriver(lua_State *L, const char *root) {
  const char *file = lua_pushfstring(L, "%s/lib/libintelocl.so", root);
  if (access(file, R_OK) == 0 && getenv("OCL_ICD_VENDORS") == NULL)
    setenv("OCL_ICD_FILENAMES", file, 0);
  lua_pop(L, 1);
}

/*
** Pushes the folder with lua/ kernels/ scripts/: $CLSHELL_HOME, else the
** folder beside the program's (the source tree, a moved installation), else
** the folder of `make install`.
*/
void clsh_home_push(lua_State *L) {
  int base = lua_gettop(L);
  clsh_home_pushprogram(L);
  pushfolder(L, lua_tostring(L, -1));
  pushfolder(L, lua_tostring(L, -1));
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  const char *root = lua_tostring(L, base + 1);
  namedriver(L, root);
  const char *env = getenv("CLSHELL_HOME");
  if (env != NULL && *env != '\0') {
    char *real = realpath(env, NULL); /* valid after a change of folder */
    lua_pushstring(L, real != NULL ? real : env);
    free(real);
    if (!ishome(L))
      nohome(L, "in CLSHELL_HOME,", env);
    lua_remove(L, base + 1);
    return;
  }
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

/*
** Lets `require` find clshell's modules first, and the C modules of a package
** in lib: search.lua does the rest.
*/
void clsh_home_setpath(lua_State *L, const char *home) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "cpath");
  lua_pushfstring(L, "%s/lib/?.so;%s", home, lua_tostring(L, -1));
  lua_setfield(L, -3, "cpath");
  lua_pop(L, 1);
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua;%s", home, home,
                  lua_tostring(L, -1));
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

/* Pushes the folder of a script, links resolved. */
void clsh_home_pushfolder(lua_State *L, const char *script) {
  char *real = realpath(script, NULL);
  lua_pushstring(L, real != NULL ? real : script);
  free(real);
  pushfolder(L, lua_tostring(L, -1));
  lua_remove(L, -2);
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
