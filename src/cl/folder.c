/*
** folder.c - what is in a folder, in bounded time: for completion.
** SPDX-License-Identifier: MIT
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system.h"

#define MOST_ENTRIES 40000 /* looked at, of one folder, unless asked */
#define MOST_NAMES 2000    /* given */
#define MOST_LOOKS 256     /* at files whose kind the folder does not tell */

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
  if (luaL_newmetatable(L, "cl.dirbox")) {
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

/** cl.folder(path [, prefix [, most]]) -> list of strings, partial
 * The names in a folder that begin with `prefix`, letter case aside, in no
 * order; folders end in "/". Names with a dot in front only if `prefix` has
 * one. At most 2000 names out of the first `most` entries (40000) are given;
 * `partial` tells whether there may be more. nil and a message if it cannot
 * be read.
 */
static int cl_folder(lua_State *L) {
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

void clsh_openfolder(lua_State *L) {
  static const luaL_Reg functions[] = {{"folder", cl_folder}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
