/*
** child.c - module clshell.child: programs that run beside this one and
** exchange messages with it. A child has a process group of its own, so that
** Ctrl-C does not reach it and that the compilers it starts end with it. It
** shares no file with its parent but the channel and the output.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "cl/cl.h"
#include "shell.h"

#define CHANNEL 3    /* the file descriptor of the channel in the child */
#define SLICE 0.05   /* seconds of a wait between looks at the process */
#define PATIENCE 2.0 /* seconds for a process to end */
#define CLASS "Child"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

/* A message is its length and bytes; user value 1 holds received bytes. */
typedef struct Child {
  pid_t pid;   /* 0: the parent of this process */
  int fd;      /* of the channel; -1: closed */
  int status;  /* of waitpid, once it has ended */
  bool ended;  /* the process has, and nobody waits for it */
  bool cut;    /* a message was sent in part only */
  size_t have; /* bytes of the message under way, its length included */
  uint64_t length;
  char *body;
} Child;

static Child *checkchild(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

static Child *newchild(lua_State *L, pid_t pid, int fd) {
  Child *c = lua_newuserdatauv(L, sizeof *c, 1);
  *c = (Child){.pid = pid, .fd = fd};
  luaL_setmetatable(L, CLASS);
  return c;
}

/* Whether the process has ended. */
static bool hasended(Child *c) {
  if (c->pid == 0 || c->ended)
    return c->ended;
  pid_t pid;
  while ((pid = waitpid(c->pid, &c->status, WNOHANG)) < 0 && errno == EINTR)
    ;
  c->ended = pid != 0; /* or somebody else has waited for it */
  return c->ended;
}

/* Waits for the end of the process, for so many seconds at most. */
static bool outlast(Child *c, double seconds) {
  double nap = 50e-6;
  double end = clsh_poll_now() + seconds;
  while (!hasended(c) && clsh_poll_now() < end) {
    clsh_poll_nap(nap);
    nap = nap < 10e-3 ? 2 * nap : nap;
  }
  return c->ended;
}

static void endchild(Child *c) {
  if (c->fd >= 0)
    close(c->fd);
  c->fd = -1;
  if (c->pid == 0 || hasended(c))
    return;
  kill(-c->pid, SIGKILL);
  outlast(c, PATIENCE); /* a driver may hold it in the kernel for longer */
}

/** child:kill()
 * Ends the process and its children. It may have ended before.
 */
static int child_kill(lua_State *L) {
  endchild(checkchild(L));
  return 0;
}

/** child:pid() -> integer
 * The number of the process; 0 for the parent of this process.
 */
static int child_pid(lua_State *L) {
  lua_pushinteger(L, checkchild(L)->pid);
  return 1;
}

/* Pushes the results for a channel whose other end is closed. */
static int pushend(lua_State *L, Child *c) {
  lua_pushnil(L);
  lua_pushliteral(L, "ended");
  if (c->pid == 0)
    return 2;
  if (!outlast(c, c->fd >= 0 ? PATIENCE : 0))
    endchild(c);
  bool bysignal = c->ended && WIFSIGNALED(c->status);
  lua_pushstring(L, bysignal ? "signal" : "exit");
  lua_pushinteger(L, bysignal ? WTERMSIG(c->status) : WEXITSTATUS(c->status));
  return 4;
}

static int pushtime(lua_State *L) {
  lua_pushnil(L);
  lua_pushliteral(L, "time");
  return 2;
}

/* The time at which the seconds of an argument are over; never without it. */
static double deadline(lua_State *L, int arg) {
  lua_Number seconds = luaL_optnumber(L, arg, HUGE_VAL);
  luaL_argcheck(L, seconds >= 0, arg, "seconds must be >= 0");
  return clsh_poll_now() + seconds;
}

/* Waits for the channel, SLICE seconds at most; false: the time is over. */
static bool await(lua_State *L, Child *c, short events, double end) {
  double left = end - clsh_poll_now();
  struct pollfd fd = {c->fd, events, 0};
  if (clsh_poll_interrupt)
    clsh_poll_raise(L, NULL);
  if (left <= 0)
    return false;
  poll(&fd, 1, (int)((left < SLICE ? left : SLICE) * 1e3) + 1);
  if (clsh_poll_interrupt)
    clsh_poll_raise(L, NULL);
  return true;
}

static bool again(void) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/** child:send(message [, seconds]) -> true; nil and "time"; or nil, "ended"
 * Sends a string. A child that does not take it in time is killed, as the part
 * that was sent would spoil the next message. See child:receive.
 */
static int child_send(lua_State *L) {
  Child *c = checkchild(L);
  size_t size;
  const char *message = luaL_checklstring(L, 2, &size);
  double end = deadline(L, 3);
  const uint64_t length = size;
  if (c->cut)
    endchild(c);
  if (c->fd < 0)
    return pushend(L, c);
  c->cut = true;
  for (size_t sent = 0; sent < sizeof length + size;) {
    bool head = sent < sizeof length;
    const char *from =
        head ? (const char *)&length + sent : message + (sent - sizeof length);
    ssize_t n = send(c->fd, from, sizeof length + (head ? 0 : size) - sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
      sent += (size_t)n;
    else if (!again() || hasended(c))
      return pushend(L, c);
    else if (!await(L, c, POLLOUT, end)) {
      endchild(c);
      return pushtime(L);
    }
  }
  c->cut = false;
  lua_pushboolean(L, 1);
  return 1;
}

/* Reads a part of the message under way, with the results of recv. */
static ssize_t takepart(lua_State *L, Child *c) {
  const size_t head = sizeof c->length;
  if (c->have >= head && c->body == NULL) {
    c->body = lua_newuserdatauv(L, c->length, 0);
    lua_setiuservalue(L, 1, 1);
  }
  char *at = c->have < head ? (char *)&c->length + c->have
                            : c->body + (c->have - head);
  size_t size = (c->have < head ? 0 : c->length) + head - c->have;
  ssize_t n = recv(c->fd, at, size, MSG_DONTWAIT);
  c->have += n > 0 ? (size_t)n : 0;
  return n;
}

/** child:receive([seconds]) -> string; nil and "time"; or nil, "ended", how, n
 * Waits for the next message. A process that has ended did so by "exit", with
 * the code n, or by "signal" n; for the parent neither is known. Ctrl-C ends
 * the wait; the message is not lost.
 */
static int child_receive(lua_State *L) {
  Child *c = checkchild(L);
  double end = deadline(L, 2);
  const size_t head = sizeof c->length;
  while (c->fd >= 0 && (c->have < head || c->have - head < c->length)) {
    bool over = hasended(c); /* its messages may still be in the channel */
    ssize_t n = takepart(L, c);
    if (n == 0 || (n < 0 && (!again() || over)))
      return pushend(L, c);
    if (n < 0 && !await(L, c, POLLIN, end))
      return pushtime(L);
  }
  if (c->fd < 0)
    return pushend(L, c);
  lua_pushlstring(L, c->body != NULL ? c->body : "", c->length);
  c->have = 0;
  c->body = NULL;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  return 1;
}

/* A list of `n` strings for exec, kept by the table at the top. */
static char **newwords(lua_State *L, size_t n) {
  char **words = lua_newuserdatauv(L, (n + 1) * sizeof *words, 0);
  words[n] = NULL;
  luaL_ref(L, -2);
  return words;
}

/* Keeps the string at the top by the table below it; pops it. */
static char *keepword(lua_State *L) {
  char *word = (char *)luaL_checkstring(L, -1);
  luaL_ref(L, -2);
  return word;
}

/* The program's name and the words of the list at index 2. */
static char **arguments(lua_State *L) {
  size_t n = lua_rawlen(L, 2);
  char **words = newwords(L, n + 1);
  words[0] = (char *)lua_tostring(L, 1);
  for (size_t i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i);
    words[i] = keepword(L);
  }
  return words;
}

/* Whether the table at `changes` has the name of a "NAME=value". */
static bool ischanged(lua_State *L, int changes, const char *entry) {
  const char *equals = strchr(entry, '=');
  lua_pushlstring(L, entry, equals != NULL ? (size_t)(equals - entry) : 0);
  bool changed = lua_rawget(L, changes) != LUA_TNIL;
  lua_pop(L, 1);
  return changed;
}

/* This process's environment with the changes of a table. */
static char **environment(lua_State *L, int changes) {
  size_t n = 0;
  size_t m = 0;
  while (environ[n] != NULL)
    n++;
  for (lua_pushnil(L); lua_next(L, changes); lua_pop(L, 1))
    m++;
  char **words = newwords(L, n + m);
  char **word = words;
  for (size_t i = 0; i < n; i++)
    if (!ischanged(L, changes, environ[i]))
      *word++ = environ[i];
  for (lua_pushnil(L); lua_next(L, changes); lua_pop(L, 1)) {
    if (!lua_toboolean(L, -1))
      continue;
    lua_pushvalue(L, -3); /* the table that keeps the words */
    lua_pushfstring(L, "%s=%s", luaL_checkstring(L, -3),
                    luaL_checkstring(L, -2));
    *word++ = keepword(L);
    lua_pop(L, 1);
  }
  *word = NULL;
  return words;
}

/* Starts the process; returns an errno, 0 for success. */
static int spawn(pid_t *pid, char **argv, char **envp, int channel,
                 int output) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attr);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  }
  posix_spawn_file_actions_adddup2(&files, channel, CHANNEL);
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, CHANNEL + 1);
#endif
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  int error = posix_spawn(pid, argv[0], &files, &attr, argv, envp);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  return error;
}

/* Makes both ends of a channel, as file descriptors above CHANNEL. */
static int channel(int ends[2]) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    return errno;
  for (int i = 0; i < 2; i++) {
    ends[i] = fcntl(pair[i], F_DUPFD_CLOEXEC, CHANNEL + 1);
    close(pair[i]);
#ifdef SO_NOSIGPIPE
    setsockopt(ends[i], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
  }
  if (ends[0] >= 0 && ends[1] >= 0)
    return 0;
  int error = errno;
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0)
      close(ends[i]);
  return error;
}

/** child.start(program, args [, opts]) -> Child, or nil and a message
 * Starts the program of a path with a list of arguments. It gets no standard
 * input; its require("clshell.child").parent() is this process. A Child that
 * is collected or leaves its <close> is killed.
 * Options:
 *   env     none    changes of the environment: {NAME = "value" or false}
 *   output  ours    an open file for its standard output and error
 */
static int child_start(lua_State *L) {
  luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  int output = -1;
  int ends[2] = {-1, -1};
  if (lua_isnil(L, 3)) {
    lua_newtable(L);
    lua_replace(L, 3);
  }
  luaL_checktype(L, 3, LUA_TTABLE);
  Child *c = newchild(L, 0, -1);
  if (lua_getfield(L, 3, "output") != LUA_TNIL) {
    luaL_Stream *s = luaL_checkudata(L, -1, LUA_FILEHANDLE);
    luaL_argcheck(L, s->closef != NULL, 3, "the output is closed");
    output = fileno(s->f);
  }
  luaL_getsubtable(L, 3, "env");
  lua_newtable(L);
  char **argv = arguments(L);
  char **envp = environment(L, lua_gettop(L) - 1);
  int error = channel(ends);
  if (error == 0) {
    error = spawn(&c->pid, argv, envp, ends[1], output);
    close(ends[1]);
    c->fd = ends[0];
  }
  if (error != 0) {
    c->pid = 0;
    endchild(c);
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", argv[0], strerror(error));
    return 2;
  }
  lua_pushvalue(L, 4);
  return 1;
}

/** child.parent() -> Child
 * The process that has started this one by child.start, to exchange messages
 * with. From now on this process ends with it. A crash leaves no core file:
 * this process may be there to crash.
 */
static int child_parent(lua_State *L) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
    return clsh_error(L, "this process was not started by clshell.child");
  fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
  signal(SIGTTOU, SIG_IGN); /* its output is no reason to stop */
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  struct pollfd fd = {CHANNEL, 0, 0};
  if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLHUP))
    _exit(EXIT_SCRIPT); /* the parent has ended before that */
  newchild(L, 0, CHANNEL);
  return 1;
}

int luaopen_clshell_child(lua_State *L) {
  static const luaL_Reg methods[] = {{"kill", child_kill},
                                     {"pid", child_pid},
                                     {"receive", child_receive},
                                     {"send", child_send},
                                     {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__close", child_kill}, {"__gc", child_kill}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"parent", child_parent}, {"start", child_start}, {NULL, NULL}};
  luaL_newmetatable(L, CLASS);
  luaL_setfuncs(L, meta, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  clsh_field_boolean(L, "__metatable", 0);
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
