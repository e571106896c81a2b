/*
** system.c - what of the operating system Lua does not have and the shell
** needs: the working folder, and which OpenCL drivers are installed.
** SPDX-License-Identifier: MIT
*/
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system.h"

#define VENDORS "/etc/OpenCL/vendors"

/** cl.chdir(folder) -> true, or nil and a message
 * Changes the working folder, which relative paths begin at.
 */
static int cl_chdir(lua_State *L) {
  const char *folder = luaL_checkstring(L, 1);
  return luaL_fileresult(L, chdir(folder) == 0, folder);
}

/** cl.cwd() -> string, or nil and a message
 * The path of the working folder.
 */
static int cl_cwd(lua_State *L) {
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

/** cl.drivers() -> integer or nil
 * How many OpenCL drivers are installed: the files in /etc/OpenCL/vendors,
 * or where OCL_ICD_VENDORS says. No driver is loaded. nil where this does
 * not tell, as on macOS.
 */
static int cl_drivers(lua_State *L) {
  int n = countdrivers();
  if (n < 0)
    return 0;
  lua_pushinteger(L, n);
  return 1;
}

void clsh_opensystem(lua_State *L) {
  static const luaL_Reg functions[] = {{"chdir", cl_chdir},
                                       {"cwd", cl_cwd},
                                       {"drivers", cl_drivers},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
