/*
** repl.c - the interactive shell: reads a chunk, runs it, prints results.
** On a terminal GNU readline edits the line, through its callback interface:
** signals are let in only while it waits for a key, so they interrupt
** neither readline nor Lua at a bad place.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "clshell.h"
#include "repl.h"

#define PROMPT "cl> "
#define PROMPT2 "..> "
#define EOFMARK "<eof>"
#define MAXHISTORY 20000 /* lines kept of the history file */

typedef enum Input { INPUT_LINE, INPUT_END, INPUT_CANCEL } Input;

static bool editing;  /* by readline; else lines are read as they come */
static char *line;    /* the last one read */
static bool haveline; /* readline has called back */
static volatile sig_atomic_t caught; /* a signal that came at the prompt */
static char history[4096];           /* the history file; "": none */

static const int promptsignals[] = {SIGHUP, SIGTERM, SIGTSTP, SIGWINCH};
#define NSIGNALS 4

static void onpromptsignal(int sig) {
  caught = sig;
}

static void takeline(char *s) {
  line = s;
  haveline = true;
  rl_callback_handler_remove(); /* or it would prompt again */
}

/* Does what a signal asks for, with the terminal as the shell left it. */
static void passsignal(int sig, const sigset_t *open) {
  sigset_t blocked;
  if (sig == SIGWINCH) {
    rl_resize_terminal();
    return;
  }
  rl_cleanup_after_signal();
  signal(sig, SIG_DFL);
  raise(sig);
  sigprocmask(SIG_SETMASK, open, &blocked); /* here it takes effect */
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  signal(sig, onpromptsignal);
  rl_reset_after_signal();
  rl_forced_update_display();
}

/* Ctrl-C: the line is dropped, whatever readline was in the middle of. */
static void dropline(void) {
  rl_callback_sigcleanup();
  rl_free_line_state();
  rl_echo_signal_char(SIGINT);
  rl_callback_handler_remove();
  putc('\n', rl_outstream);
  fflush(rl_outstream);
}

static Input waitline(const char *prompt, const sigset_t *open) {
  fd_set keys;
  haveline = false;
  rl_callback_handler_install(prompt, takeline);
  while (!haveline) {
    if (clsh_interrupt) {
      dropline();
      return INPUT_CANCEL;
    }
    int sig = caught;
    caught = 0;
    if (sig != 0)
      passsignal(sig, open);
    FD_ZERO(&keys);
    FD_SET(STDIN_FILENO, &keys);
    if (pselect(STDIN_FILENO + 1, &keys, NULL, NULL, NULL, open) > 0)
      rl_callback_read_char();
  }
  return line != NULL ? INPUT_LINE : INPUT_END;
}

/* One line from the terminal, signals blocked but for the waits. */
static Input editline(const char *prompt) {
  struct sigaction action, before[NSIGNALS];
  sigset_t mine, open;
  memset(&action, 0, sizeof action);
  action.sa_handler = onpromptsignal;
  sigemptyset(&action.sa_mask);
  sigemptyset(&mine);
  sigaddset(&mine, SIGINT);
  for (int i = 0; i < NSIGNALS; i++)
    sigaddset(&mine, promptsignals[i]);
  sigprocmask(SIG_BLOCK, &mine, &open);
  for (int i = 0; i < NSIGNALS; i++)
    sigaction(promptsignals[i], &action, &before[i]);
  Input input = waitline(prompt, &open);
  for (int i = 0; i < NSIGNALS; i++)
    sigaction(promptsignals[i], &before[i], NULL);
  sigprocmask(SIG_SETMASK, &open, NULL);
  return input;
}

static Input plainline(void) {
  size_t size = 0;
  ssize_t n = getline(&line, &size, stdin);
  if (n >= 0) {
    if (n > 0 && line[n - 1] == '\n')
      line[n - 1] = '\0';
    return INPUT_LINE;
  }
  if (!clsh_interrupt)
    return INPUT_END;
  clearerr(stdin);
  return INPUT_CANCEL;
}

/* Reads a line and pushes it; pushes nothing if there is none. */
static Input pushline(lua_State *L, const char *prompt) {
  free(line);
  line = NULL;
  fflush(stdout);
  Input input = editing ? editline(prompt) : plainline();
  clsh_endinterrupt(L);
  if (input == INPUT_LINE)
    lua_pushstring(L, line);
  return input;
}

/* Makes the folders of a path; what fails shows when the file is opened. */
static void makefolders(char *path) {
  for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
}

/* Keeps a chunk in the history, and in its file at once. */
static void savehistory(const char *chunk) {
  HIST_ENTRY *last = history_get(history_base + history_length - 1);
  if (!editing || chunk[strspn(chunk, " \t\n")] == '\0' ||
      (last != NULL && strcmp(last->line, chunk) == 0))
    return;
  add_history(chunk);
  if (*history == '\0')
    return;
  makefolders(history);
  int fd = open(history, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 &&
      dprintf(fd, "#%lld\n%s\n", (long long)time(NULL), chunk) >= 0 &&
      close(fd) == 0)
    return;
  fprintf(stderr, "note: history is not kept: %s: %s\n", history,
          strerror(errno));
  *history = '\0';
}

/*
** Finds and reads the history file. Its time stamps tell readline where an
** entry of several lines ends.
*/
static void openhistory(void) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int n = 0;
  if (state != NULL && *state == '/')
    n = snprintf(history, sizeof history, "%s/" PROGRAM "/history", state);
  else if (home != NULL && *home != '\0')
    n = snprintf(history, sizeof history,
                 "%s/.local/state/" PROGRAM "/history", home);
  if (n < 0 || (size_t)n >= sizeof history)
    *history = '\0';
  if (*history == '\0')
    return;
  history_comment_char = '#';
  history_write_timestamps = 1;
  if (access(history, R_OK | W_OK) == 0)
    history_truncate_file(history, MAXHISTORY);
  read_history(history);
}

static void openeditor(lua_State *L) {
  rl_readline_name = PROGRAM;
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  rl_initialize();
  clsh_opencomplete(L);
  using_history();
  openhistory();
}

/* Whether a chunk failed to compile only because more has to come. */
static bool incomplete(lua_State *L, int status) {
  size_t len, tail = sizeof EOFMARK - 1;
  if (status != LUA_ERRSYNTAX)
    return false;
  const char *msg = lua_tolstring(L, -1, &len);
  return len >= tail && strcmp(msg + len - tail, EOFMARK) == 0;
}

/* Pushes `code`, compiled as an expression, or a message. */
int clsh_loadexpression(lua_State *L, const char *code, const char *name) {
  const char *chunk = lua_pushfstring(L, "return %s", code);
  int status = luaL_loadbuffer(L, chunk, strlen(chunk), name);
  lua_remove(L, -2);
  return status;
}

/*
** Compiles the chunk at 1, as an expression if it can be one. Sets `*more`
** if it is the beginning of either an expression or a statement.
*/
static int compile(lua_State *L, bool *more) {
  const char *chunk = lua_tostring(L, 1);
  bool equals = *chunk == '=';
  int status = clsh_loadexpression(L, chunk + equals, "=stdin");
  *more = incomplete(L, status);
  if (status == LUA_OK || equals)
    return status;
  lua_pop(L, 1);
  status = luaL_loadbuffer(L, chunk, strlen(chunk), "=stdin");
  *more = *more || incomplete(L, status);
  if (status == LUA_OK)
    *more = false;
  return status;
}

/* Whether the chunk at 1 is just `word`, with or without a call. */
static bool isword(lua_State *L, const char *word) {
  const char *s = lua_tostring(L, 1);
  size_t n = strlen(word);
  s += strspn(s, " \t");
  if (strncmp(s, word, n) != 0)
    return false;
  s += n;
  s += strncmp(s, "()", 2) == 0 ? 2 : 0;
  return s[strspn(s, " \t")] == '\0';
}

static bool isglobal(lua_State *L, const char *name) {
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  bool yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

/*
** Words that people type: exit and quit, unless the user has variables of
** these names, leave; help is a call. True to leave.
*/
static bool bareword(lua_State *L) {
  static const char *const leave[] = {"exit", "quit"};
  for (int i = 0; i < 2; i++)
    if (isword(L, leave[i]) && !isglobal(L, leave[i]))
      return true;
  if (isword(L, "help")) {
    lua_pushliteral(L, "help()");
    lua_replace(L, 1);
  }
  return false;
}

/*
** Reads a chunk, of as many lines as it takes, and compiles it: what is on
** the stack afterwards is the function, or a message, or nothing to do.
*/
static Input pushchunk(lua_State *L, int *status) {
  bool more;
  Input input = pushline(L, PROMPT);
  if (input != INPUT_LINE)
    return input;
  if (bareword(L))
    return INPUT_END;
  while (*status = compile(L, &more), more) {
    input = pushline(L, PROMPT2);
    if (input == INPUT_CANCEL)
      return input;
    if (input == INPUT_END)
      break; /* the message says what is missing */
    lua_remove(L, 2);
    lua_pushliteral(L, "\n");
    lua_insert(L, 2);
    lua_concat(L, 3);
  }
  savehistory(lua_tostring(L, 1));
  lua_remove(L, 1);
  return INPUT_LINE;
}

/* Prints the values from stack index `first` up, by the global print. */
int clsh_printresults(lua_State *L, int first) {
  int n = lua_gettop(L) - first + 1;
  if (n == 0)
    return LUA_OK;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, first);
  return clsh_docall(L, n, 0);
}

/* Reads and runs chunks until the input ends. */
void clsh_repl(lua_State *L, bool quiet) {
  lua_settop(L, 0);
  editing = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (editing)
    openeditor(L);
  if (editing && !quiet)
    printf(PROGRAM " " CLSHELL_VERSION " (" LUA_RELEASE ")"
                   "   help() shows the way, Ctrl-D leaves\n");
  for (;;) {
    int status = LUA_OK;
    lua_settop(L, 0);
    Input input = pushchunk(L, &status);
    if (input == INPUT_END)
      break;
    if (input == INPUT_CANCEL)
      continue;
    if (status == LUA_OK)
      status = clsh_docall(L, 0, LUA_MULTRET);
    if (status == LUA_OK)
      status = clsh_printresults(L, 1);
    if (status != LUA_OK)
      clsh_report(L, NULL);
  }
  if (editing && line == NULL)
    putchar('\n');
  free(line);
  line = NULL;
  lua_settop(L, 0);
}
