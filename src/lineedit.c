/*
** lineedit.c - statements from the terminal, edited by GNU readline through
** its callback interface: signals are let in only while it waits for a key,
** so they interrupt neither readline nor Lua at a bad place.
** SPDX-License-Identifier: MIT
*/
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include <readline/readline.h>

#include "clshell.h"
#include "lineedit.h"
#include "repl.h"

#define BREAKS " \t\n\"'`=<>;,+-*/%^~#{}()[]|&@.:"

static bool editing;  /* by readline; else lines are read as they come */
static char *line;    /* the last one read */
static bool haveline; /* readline has called back */
static volatile sig_atomic_t caught; /* a signal that came at the prompt */
static lua_State *state;             /* readline's callbacks get none */
static const char ASKEDKEY = 0, LISTKEY = 0; /* keys by their address */

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
  return line != NULL ? INPUT_TEXT : INPUT_END;
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
    return INPUT_TEXT;
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
  if (input == INPUT_TEXT)
    lua_pushstring(L, line);
  else if (input == INPUT_END && editing)
    putchar('\n');
  free(line);
  line = NULL;
  return input;
}

/*
** Calls the asked function of that name with the `narg` values on the top.
** False, with nothing pushed, where there is none or it fails.
*/
static bool ask(lua_State *L, const char *name, int narg, int nres) {
  int base = lua_gettop(L) - narg;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ASKEDKEY);
  lua_getfield(L, -1, name);
  lua_replace(L, -2);
  lua_insert(L, base + 1);
  if (lua_isfunction(L, base + 1) && lua_pcall(L, narg, nres, 0) == LUA_OK)
    return true;
  lua_settop(L, base);
  return false;
}

/* Whether the text on the top is complete: with nobody to ask it is. */
static bool iscomplete(lua_State *L) {
  lua_pushvalue(L, -1);
  if (!ask(L, "complete", 1, 1))
    return true;
  bool yes = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return yes;
}

Input clsh_edit(lua_State *L) {
  Input input = pushline(L, PROMPT);
  if (input != INPUT_TEXT)
    return input;
  while (!iscomplete(L)) {
    lua_pushliteral(L, "\n");
    input = pushline(L, PROMPT2);
    if (input != INPUT_TEXT)
      lua_pop(L, 1);
    if (input == INPUT_CANCEL)
      lua_pop(L, 1);
    if (input == INPUT_CANCEL)
      return input;
    if (input == INPUT_END)
      break; /* the message says what is missing */
    lua_concat(L, 3);
  }
  if (editing)
    clsh_keephistory(lua_tostring(L, -1));
  return INPUT_TEXT;
}

/* The next candidate, for readline to free; NULL after the last. */
static char *nextmatch(const char *text, int again) {
  static lua_Integer i;
  char *copy = NULL;
  (void)text;
  i = again ? i + 1 : 1;
  if (lua_rawgetp(state, LUA_REGISTRYINDEX, &LISTKEY) == LUA_TTABLE) {
    if (lua_rawgeti(state, -1, i) == LUA_TSTRING)
      copy = strdup(lua_tostring(state, -1));
    lua_pop(state, 1);
  }
  lua_pop(state, 1);
  return copy;
}

/* readline's question. Inside a string the answer is its own: file names. */
static char **complete(const char *text, int start, int end) {
  if (rl_completion_quote_character != '\0')
    return NULL;
  rl_attempted_completion_over = 1;
  rl_completion_append_character = '\0';
  lua_pushstring(state, rl_line_buffer);
  lua_pushinteger(state, end);
  if (!ask(state, "candidates", 2, 2))
    return NULL;
  bool mine = lua_tointeger(state, -2) == start + 1;
  lua_rawsetp(state, LUA_REGISTRYINDEX, &LISTKEY);
  lua_pop(state, 1);
  return mine ? rl_completion_matches(text, nextmatch) : NULL;
}

bool clsh_openedit(lua_State *L) {
  state = L;
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ASKEDKEY);
  editing = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (!editing)
    return false;
  rl_readline_name = PROGRAM;
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  rl_initialize();
  rl_completer_word_break_characters = BREAKS;
  rl_completer_quote_characters = "\"'";
  rl_attempted_completion_function = complete;
  clsh_openhistory();
  return true;
}
