/*
** system.c - module clshell.system: functions of the operating system that
** Lua lacks and the shell needs.
** SPDX-License-Identifier: MIT
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
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
 * Example:
 * local names, partial = system.folder(cl.home .. "/kernels", "ge")
 * print(names[1], partial) --> gemm/ false
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
 * Example: print(system.chdir ".") --> true
 */
static int system_chdir(lua_State *L) {
  const char *folder = luaL_checkstring(L, 1);
  return luaL_fileresult(L, chdir(folder) == 0, folder);
}

/** system.cwd() -> string, or nil and a message
 * The path of the working folder.
 * Example: print(system.cwd() ~= nil) --> true
 */
static int system_cwd(lua_State *L) {
  char path[PATH_MAX];
  if (getcwd(path, sizeof path) == NULL)
    return luaL_fileresult(L, 0, NULL);
  lua_pushstring(L, path);
  return 1;
}

/** system.cores() -> integer
 * The number of processor cores.
 * Example: print(system.cores() >= 1) --> true
 */
static int system_cores(lua_State *L) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  lua_pushinteger(L, n > 0 ? n : 1);
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
    return -1; /* the loaders differ in its meaning */
  return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) ? 1 : countfiles(path);
#endif
}

/** system.drivers() -> integer or nil
 * How many OpenCL drivers are installed: the files in /etc/OpenCL/vendors,
 * or where OCL_ICD_VENDORS says. No driver is loaded. nil where this does
 * not tell, as on macOS.
 * Example: print(system.drivers() == 0 and "no driver" or "there may be one")
 */
static int system_drivers(lua_State *L) {
  int n = countdrivers();
  if (n < 0)
    return 0;
  lua_pushinteger(L, n);
  return 1;
}

/* Makes the folders of a path that ends in "/"; false: errno says why not. */
static bool makefolders(char *path) {
  struct stat st;
  for (char *p = path; (p = strchr(p + 1, '/')) != NULL;) {
    *p = '\0';
    int error = mkdir(path, 0700) == 0 ? 0 : errno;
    bool there = error == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    *p = '/';
    errno = error == EEXIST ? ENOTDIR : error;
    if (!there)
      return false;
  }
  return true;
}

/* Makes an empty file unless there is one. */
static bool makefile(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd >= 0 ? close(fd) == 0 : errno == EEXIST;
}

/** system.kind(path) -> string [, bytes]; or nil and a message
 * The kind of file at a path: "file", with its size in bytes, "folder",
 * "pipe", "socket" or "device".
 * Example:
 * print((system.kind(cl.home)), (system.kind "/dev/null")) --> folder device
 */
static int system_kind(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct stat st;
  if (stat(path, &st) != 0)
    return luaL_fileresult(L, 0, path);
  lua_pushstring(L, S_ISREG(st.st_mode)    ? "file"
                    : S_ISDIR(st.st_mode)  ? "folder"
                    : S_ISFIFO(st.st_mode) ? "pipe"
                    : S_ISSOCK(st.st_mode) ? "socket"
                                           : "device");
  if (!S_ISREG(st.st_mode))
    return 1;
  lua_pushinteger(L, st.st_size);
  return 2;
}

/** system.private(path) -> true, or nil and a message
 * Makes an empty file that this user alone may read and write, or, where the
 * path ends in "/", a folder and the folders above it. A file or folder of
 * this user that is there already keeps its content and becomes private; other
 * users' files stay as they are.
 * Example:
 * local path = os.tmpname()
 * print(system.private(path)) --> true
 * os.remove(path)
 */
static int system_private(lua_State *L) {
  size_t n;
  const char *path = luaL_checklstring(L, 1, &n);
  struct stat st;
  bool made;
  if (n > 0 && path[n - 1] == '/')
    made = makefolders(memcpy(lua_newuserdatauv(L, n + 1, 0), path, n + 1));
  else
    made = makefile(path);
  if (!made || stat(path, &st) != 0)
    return luaL_fileresult(L, 0, path);
  if ((S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && st.st_uid == geteuid() &&
      (st.st_mode & 077) != 0)
    (void)chmod(path, st.st_mode & 07700); /* else it stays as it is */
  lua_pushboolean(L, 1);
  return 1;
}

/** system.temporary([suffix]) -> path, or nil and a message
 * Makes a file that this user alone may read and write, in the folder TMPDIR
 * or /tmp. Its name, which no other program can know, ends in `suffix`.
 * Example:
 * local path = system.temporary ".lua"
 * print(path:match "%.%w+$") --> .lua
 * os.remove(path)
 */
static int system_temporary(lua_State *L) {
  size_t n;
  const char *suffix = luaL_optlstring(L, 1, "", &n);
  const char *folder = getenv("TMPDIR");
  if (folder == NULL || *folder != '/')
    folder = "/tmp";
  const char *name = lua_pushfstring(L, "%s/clshell-XXXXXX%s", folder, suffix);
  size_t size = lua_rawlen(L, -1) + 1;
  char *path = memcpy(lua_newuserdatauv(L, size, 0), name, size);
  int fd = mkstemps(path, (int)n);
  if (fd < 0)
    return luaL_fileresult(L, 0, folder);
  close(fd);
  lua_pushstring(L, path);
  return 1;
}

/** system.winsize(fd) -> columns, rows
 * The size of the terminal window behind a file descriptor; nil if it is
 * no terminal or does not tell.
 * Example:
 * local columns, rows = system.winsize(1)
 * print(columns or "no terminal", rows)
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

/* Pushes the path behind a file descriptor, "?" where it is not known. */
static void pushpath(lua_State *L, int fd) {
  char path[PATH_MAX];
#ifdef F_GETPATH
  lua_pushstring(L, fcntl(fd, F_GETPATH, path) == 0 ? path : "?");
#else
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path);
  if (n > 0)
    lua_pushlstring(L, path, (size_t)n);
  else
    lua_pushliteral(L, "?");
#endif
}

/** system.file(file) -> path, direction
 * The path of an open file of Lua's io library ("?" where the system does
 * not tell) and "reading", "writing" or "reading and writing".
 * Example:
 * local file <close> = io.tmpfile()
 * print(select(2, system.file(file))) --> reading and writing
 */
static int system_file(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  luaL_argcheck(L, s->closef != NULL, 1, "the file is closed");
  int fd = fileno(s->f);
  pushpath(L, fd);
  int way = fcntl(fd, F_GETFL) & O_ACCMODE;
  lua_pushstring(L, way == O_RDWR     ? "reading and writing"
                    : way == O_WRONLY ? "writing"
                                      : "reading");
  return 2;
}

/** system.lock(file) -> boolean
 * Waits until no other process has the lock of an open file of Lua's io
 * library, and takes it, until the file is closed; false where the system
 * has no locks for it.
 * Example:
 * local file <close> = io.tmpfile()
 * print(system.lock(file)) --> true
 */
static int system_lock(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  luaL_argcheck(L, s->closef != NULL, 1, "the file is closed");
  int result;
  do
    result = flock(fileno(s->f), LOCK_EX);
  while (result != 0 && errno == EINTR);
  lua_pushboolean(L, result == 0);
  return 1;
}

/** system.limit(what, bytes) -> boolean
 * Lowers a limit of this process for good: "memory", the bytes that it may
 * allocate, or "file", the bytes of a file that it may write. False where the
 * system has no such limit, and under AddressSanitizer, which maps terabytes.
 * Example: print(system.limit("file", 1 << 40)) --> true
 */
static int system_limit(lua_State *L) {
  static const char *const names[] = {"memory", "file", NULL};
  int what =
      luaL_checkoption(L, 1, NULL, names) == 0 ? RLIMIT_DATA : RLIMIT_FSIZE;
  lua_Integer bytes = luaL_checkinteger(L, 2);
  struct rlimit limit;
  luaL_argcheck(L, bytes >= 0, 2, "bytes must be >= 0");
  bool known = getrlimit(what, &limit) == 0;
#ifdef __SANITIZE_ADDRESS__
  known = known && what != RLIMIT_DATA;
#endif
  if (known &&
      (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)bytes))
    limit.rlim_max = (rlim_t)bytes;
  limit.rlim_cur = limit.rlim_max;
  lua_pushboolean(L, known && setrlimit(what, &limit) == 0);
  return 1;
}

int luaopen_clshell_system(lua_State *L) {
  static const luaL_Reg functions[] = {{"chdir", system_chdir},
                                       {"cores", system_cores},
                                       {"cwd", system_cwd},
                                       {"drivers", system_drivers},
                                       {"file", system_file},
                                       {"folder", system_folder},
                                       {"kind", system_kind},
                                       {"limit", system_limit},
                                       {"lock", system_lock},
                                       {"private", system_private},
                                       {"temporary", system_temporary},
                                       {"winsize", system_winsize},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
