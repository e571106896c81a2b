/*
** restart.c - module clshell.restart: the program begins anew in its place,
** after a crash at the prompt and for %restart, with the same process id. A
** signal handler may neither allocate memory nor wait for a lock, so all data
** for the new beginning are noted when the program starts. A variable of the
** environment tells the new program how the old one ended.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <termios.h>
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define MARK "CLSHELL_RESTARTED" /* "how input deadline journal" */
#define MAXPATH 4096
#define MAXFILES 65536 /* file descriptors that are looked at, at most */
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4U
#endif

extern char **environ;

/* How this program was started. */
static struct {
  pid_t pid;
  char *program;
  char **argv, **envp; /* envp[0] is the mark */
  char folder[MAXPATH];
  sigset_t mask;
  bool ignored[NSIG];
  int file; /* the lowest file descriptor that was free */
} origin;

/* How the program before this one ended; how is 0 where there was none. */
static struct {
  char how;
  int input;
  double deadline;
  char journal[MAXPATH];
} before;

static double deadline; /* of this run, by clsh_poll_now(); 0: none */
static volatile sig_atomic_t stage = RESTART_NEVER;
static volatile sig_atomic_t current; /* the input that is run again */
static char mark[sizeof MARK + 64 + MAXPATH];

/* Reads the mark of the program before, and hides it from all others. */
static void readmark(void) {
  int at = 0;
  const char *text = getenv(MARK);
  if (text != NULL &&
      sscanf(text, "%c %d %lf %n", &before.how, &before.input,
             &before.deadline, &at) == 3 &&
      at > 0 && strlen(text + at) < sizeof before.journal)
    strcpy(before.journal, text + at);
  else
    before.how = 0;
  unsetenv(MARK);
}

/* A copy of a list of strings with one more place in front. */
static char **copylist(char **list) {
  size_t n = 0;
  while (list[n] != NULL)
    n++;
  char **copy = calloc(n + 2, sizeof *copy);
  if (copy != NULL)
    memcpy(copy + 1, list, n * sizeof *list);
  return copy;
}

/*
** Notes how the program was started. To be called before anything opens files
** or sets actions for signals. Children of the program before this one, which
** have ended with it, are waited for.
*/
void clsh_restart_open(lua_State *L, char *argv[]) {
  readmark();
  clsh_home_pushprogram(L);
  origin.program = strdup(lua_tostring(L, -1));
  lua_pop(L, 1);
  origin.argv = argv;
  origin.envp = copylist(environ);
  origin.pid = getpid();
  if (getcwd(origin.folder, sizeof origin.folder) == NULL)
    origin.folder[0] = '\0';
  pthread_sigmask(SIG_SETMASK, NULL, &origin.mask);
  for (int i = 1; i < NSIG; i++) {
    struct sigaction action;
    origin.ignored[i] =
        sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
  }
  origin.file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (origin.file >= 0)
    close(origin.file);
  while (before.how != 0 && waitpid(-1, NULL, WNOHANG) > 0)
    ;
}

/*
** The time when a run of so many seconds has to end. The time that the program
** before has used of them counts.
*/
double clsh_restart_deadline(double seconds) {
  deadline = before.how != 0 && before.deadline > 0
                 ? before.deadline
                 : clsh_poll_now() + seconds;
  return deadline;
}

/* Whether this program has taken the place of one that ended. */
bool clsh_restart_began(void) {
  return before.how != 0;
}

/* Sets the result of a crash from now on: an end, or a restart of this
** kind. */
void clsh_restart_stage(Restart now) {
  stage = now;
}

/*
** Whether a crash in this process leads to a restart; for signal handlers.
** Without its terminal there is no restart.
*/
bool clsh_restart_able(void) {
  struct termios unused;
  return stage != RESTART_NEVER && getpid() == origin.pid &&
         origin.envp != NULL && tcgetattr(STDIN_FILENO, &unused) == 0;
}

/* Puts the mark into the environment of the next program. */
static void setmark(Restart how) {
  Text t = {mark, mark + sizeof mark - 1};
  const char how_s[] = {(char)how, ' ', '\0'};
  const char *journal;
  bool own = clsh_journal_file(&journal) >= 0;
  clsh_flight_add(&t, MARK "=");
  clsh_flight_add(&t, how_s);
  clsh_flight_addinteger(&t, (unsigned long long)current);
  clsh_flight_add(&t, " ");
  clsh_flight_addinteger(&t, (unsigned long long)deadline);
  clsh_flight_add(&t, " ");
  clsh_flight_add(&t, own ? journal : before.journal);
  *t.at = '\0';
  origin.envp[0] = mark;
}

/* Has exec close the files that were opened since the start. */
static void closefiles(void) {
  struct rlimit limit;
  int n = MAXFILES;
  if (origin.file < 0)
    return;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, origin.file, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
    return;
#endif
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)n)
    n = (int)limit.rlim_cur;
  for (int fd = origin.file; fd < n; fd++)
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Gives signals the actions that they had at the start. */
static void resetsignals(void) {
  struct sigaction action;
  for (int i = 1; i < NSIG; i++)
    if (sigaction(i, NULL, &action) == 0 &&
        (action.sa_handler == SIG_IGN) != origin.ignored[i])
      signal(i, origin.ignored[i] ? SIG_IGN : SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &origin.mask, NULL);
}

/*
** Begins the program anew, with its terminal, files, folder and signals as
** they were at its start; returns where that fails. Keys typed ahead are
** dropped: they were meant for the old program. May be called in signal
** handlers.
*/
static void begin(Restart how) {
  setmark(how);
  clsh_interrupt_restoreterminal();
  tcflush(STDIN_FILENO, TCIFLUSH);
  if (clsh_compiler_stderr != STDERR_FILENO)
    dup2(clsh_compiler_stderr, STDERR_FILENO);
  if (origin.folder[0] != '\0' && chdir(origin.folder) != 0)
    origin.folder[0] = '\0'; /* it is gone: the current folder serves */
  closefiles();
  resetsignals();
  execve(origin.program, origin.argv, origin.envp);
#ifdef __linux__
  execve("/proc/self/exe", origin.argv, origin.envp); /* for a replaced file */
#endif
}

/* Begins the program anew after a crash, unless that fails. */
void clsh_restart_crashed(void) {
  begin((Restart)stage);
}

/* restart.began() -> "prompt", "restore" or "command", journal and input; nil
** How the program before this one ended: by a crash at the prompt, by a crash
** while this input of its journal was run again (0: before the first), or by
** %restart. */
static int restart_began(lua_State *L) {
  if (before.how == 0)
    return 0;
  lua_pushstring(L, before.how == RESTART_PROMPT    ? "prompt"
                    : before.how == RESTART_RESTORE ? "restore"
                                                    : "command");
  lua_pushstring(L, before.journal);
  lua_pushinteger(L, before.input);
  return 3;
}

/* restart.input(n): input n of the journal is run again from now on */
static int restart_input(lua_State *L) {
  current = (sig_atomic_t)luaL_checkinteger(L, 1);
  return 0;
}

/* restart.run() -> nil and a message: begins the program anew, or says why it
** cannot */
static int restart_run(lua_State *L) {
  if (stage != RESTART_PROMPT || !clsh_restart_able()) {
    lua_pushnil(L);
    lua_pushliteral(L, "only a prompt on a terminal can begin anew");
    return 2;
  }
  fflush(NULL);
  current = 0;
  begin(RESTART_COMMAND);
  return luaL_fileresult(L, 0, origin.program);
}

/* Whether a file has input, or its end, which the look waits a little for. */
static bool typed(void *file) {
  struct pollfd p = {fileno(file), POLLIN, 0};
  return poll(&p, 1, 50) > 0;
}

/* restart.await(file): waits until a read from a terminal finds input. Ctrl-C
** raises, whereas a read that begins just after it would not end. */
static int restart_await(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  clsh_poll_until(L, typed, s->f, NULL);
  return 0;
}

int luaopen_clshell_restart(lua_State *L) {
  static const luaL_Reg functions[] = {{"await", restart_await},
                                       {"began", restart_began},
                                       {"input", restart_input},
                                       {"run", restart_run},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
