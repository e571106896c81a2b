/*
** system.c - module clshell.system: functions of the operating system that
** Lua lacks and the shell needs.
** SPDX-License-Identifier: MIT
*/
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "shell.h"

#define MOST_ENTRIES 40000 /* entries of a folder that are read by default */
#define MOST_NAMES 2000    /* names in a list */
#define MOST_LOOKS 256     /* stat calls for entries of unknown kind */
#define VENDORS "/etc/OpenCL/vendors"

/* Closed on every way out: the directory of a listing under way. */
static int dirbox_close(lua_State *L) {
  DIR **box = lua_touserdata(L, 1);
  if (*box != NULL)
    closedir(*box);
  *box = NULL;
  return 0;
}

static DIR **newdirbox(lua_State *L) {
  DIR **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  if (luaL_newmetatable(L, "clshell.dirbox")) {
    lua_pushcfunction(L, dirbox_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return box;
}

/* Whether an entry is a folder, or a link to one. */
static bool isfolder(DIR *d, const struct dirent *e, int *looks) {
  struct stat s;
  if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
    return e->d_type == DT_DIR;
  if (--*looks < 0)
    return false;
  return fstatat(dirfd(d), e->d_name, &s, 0) == 0 && S_ISDIR(s.st_mode);
}

/* Whether a name is wanted: hidden ones only by their dot, any case. */
static bool fits(const char *name, const char *prefix, size_t n) {
  if (name[0] == '.' &&
      (prefix[0] != '.' || name[1] == '\0' ||
       (strcmp(name, "..") == 0 && strcmp(prefix, "..") != 0)))
    return false;
  return strncasecmp(name, prefix, n) == 0;
}

/** system.folder(path [, prefix [, most]]) -> list of strings, partial
 * The names in a folder that begin with `prefix`, letter case aside, in no
 * order; folders end in "/". Names with a dot in front only if `prefix` has
 * one. At most 2000 names out of the first `most` entries (40000) are given;
 * `partial` tells whether there may be more. nil and a message if it cannot
 * be read.
 */
static int system_folder(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  size_t n;
  const char *prefix = luaL_optlstring(L, 2, "", &n);
  lua_Integer most = luaL_optinteger(L, 3, MOST_ENTRIES);
  lua_settop(L, 2);
  DIR **box = newdirbox(L);
  *box = opendir(path);
  if (*box == NULL)
    return luaL_fileresult(L, 0, path);
  lua_newtable(L);
  lua_Integer found = 0, entries = 0;
  int looks = MOST_LOOKS;
  const struct dirent *e;
  while (found < MOST_NAMES && entries < most && (e = readdir(*box)) != NULL) {
    entries++;
    if (!fits(e->d_name, prefix, n))
      continue;
    lua_pushstring(L, e->d_name);
    if (isfolder(*box, e, &looks)) {
      lua_pushliteral(L, "/");
      lua_concat(L, 2);
    }
    lua_rawseti(L, -2, ++found);
  }
  closedir(*box);
  *box = NULL;
  lua_pushboolean(L, found >= MOST_NAMES || entries >= most);
  return 2;
}

/** system.chdir(folder) -> true, or nil and a message
 * Changes the working folder, which relative paths begin at.
 */
static int system_chdir(lua_State *L) {
  const char *folder = luaL_checkstring(L, 1);
  return luaL_fileresult(L, chdir(folder) == 0, folder);
}

/** system.cwd() -> string, or nil and a message
 * The path of the working folder.
 */
static int system_cwd(lua_State *L) {
  char path[PATH_MAX];
  if (getcwd(path, sizeof path) == NULL)
    return luaL_fileresult(L, 0, NULL);
  lua_pushstring(L, path);
  return 1;
}

/* How many files of a folder name a driver; -1 if it cannot be read. */
static int countfiles(const char *folder) {
  DIR *d = opendir(folder);
  if (d == NULL)
    return errno == ENOENT ? 0 : -1;
  int n = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    size_t len = strlen(e->d_name);
    n += len > 4 && strcmp(e->d_name + len - 4, ".icd") == 0;
  }
  closedir(d);
  return n;
}

static int countdrivers(void) {
#ifdef __APPLE__
  return -1;
#else
  const char *path = getenv("OCL_ICD_VENDORS");
  struct stat st;
  if (getenv("OCL_ICD_FILENAMES") != NULL)
    return -1;
  if (path == NULL)
    path = getenv("OPENCL_VENDOR_PATH");
  if (path == NULL)
    return countfiles(VENDORS);
  if (*path != '/')
    return -1; /* the loaders differ in what that means */
  return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) ? 1 : countfiles(path);
#endif
}

/** system.drivers() -> integer or nil
 * How many OpenCL drivers are installed: the files in /etc/OpenCL/vendors,
 * or where OCL_ICD_VENDORS says. No driver is loaded. nil where this does
 * not tell, as on macOS.
 */
static int system_drivers(lua_State *L) {
  int n = countdrivers();
  if (n < 0)
    return 0;
  lua_pushinteger(L, n);
  return 1;
}

/** system.winsize(fd) -> columns, rows
 * The size of the terminal window behind a file descriptor; nil if it is
 * no terminal or does not tell.
 */
static int system_winsize(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  struct winsize w;
  if (fd < 0 || fd >= 1024 || ioctl((int)fd, TIOCGWINSZ, &w) != 0 ||
      w.ws_col == 0)
    return 0;
  lua_pushinteger(L, w.ws_col);
  lua_pushinteger(L, w.ws_row);
  return 2;
}

int luaopen_clshell_system(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"chdir", system_chdir},     {"cwd", system_cwd},
      {"drivers", system_drivers}, {"folder", system_folder},
      {"winsize", system_winsize}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
