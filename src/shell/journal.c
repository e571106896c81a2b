/*
** journal.c - module clshell.journal: a file that holds the session's inputs
** while it runs, and is removed at its normal end. A crash, a signal or a
** closed terminal leaves the file there, and no process then holds its lock.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <lauxlib.h>

#include "shell.h"

static char path[4096];
static int file = -1;
static pid_t owner;

/*
** Returns the journal's file descriptor, -1 without a journal, and sets its
** path; for a signal handler.
*/
int clsh_journal_file(const char **name) {
  *name = path;
  return owner == getpid() ? file : -1;
}

/* At a normal end: removes the journal. */
void clsh_journal_remove(void) {
  const char *name;
  if (clsh_journal_file(&name) >= 0)
    unlink(name);
}

/* journal.open(path) -> true, or nil, a message and the error's number
** Begins the journal, a new file that its owner alone may read. */
static int journal_open(lua_State *L) {
  size_t n;
  const char *name = luaL_checklstring(L, 1, &n);
  luaL_argcheck(L, file < 0, 1, "a journal is open");
  luaL_argcheck(L, n < sizeof path, 1, "too long");
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return luaL_fileresult(L, 0, name);
  flock(fd, LOCK_EX | LOCK_NB); /* fails where there are no locks */
  memcpy(path, name, n + 1);
  owner = getpid();
  file = fd;
  lua_pushboolean(L, 1);
  return 1;
}

/* journal.write(at, text) -> true, or nil and a message
** Puts a text behind the first `at` bytes, in place of the bytes there. It
** writes first and cuts the file then. */
static int journal_write(lua_State *L) {
  size_t n;
  lua_Integer at = luaL_checkinteger(L, 1);
  const char *text = luaL_checklstring(L, 2, &n);
  for (size_t done = 0; done < n;) {
    ssize_t k = pwrite(file, text + done, n - done, at + (lua_Integer)done);
    if (k <= 0 && errno != EINTR)
      return luaL_fileresult(L, 0, path);
    done += k > 0 ? (size_t)k : 0;
  }
  return luaL_fileresult(L, ftruncate(file, at + (lua_Integer)n) == 0, path);
}

/* journal.left(path) -> boolean
** Whether a journal is there and its session has ended. */
static int journal_left(lua_State *L) {
  int fd = open(luaL_checkstring(L, 1), O_RDONLY | O_CLOEXEC);
  lua_pushboolean(L, fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
  if (fd >= 0)
    close(fd);
  return 1;
}

int luaopen_clshell_journal(lua_State *L) {
  static const luaL_Reg functions[] = {{"left", journal_left},
                                       {"open", journal_open},
                                       {"write", journal_write},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
