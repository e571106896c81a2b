/*
** lineedit.c - edits statements with GNU readline, through its callback
** interface: signals are let in only while it waits for a key, so they
** interrupt neither readline nor Lua at a bad place. readline keeps the
** text and its undo list; draw.c shows it.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include <readline/readline.h>

#include "cl/cl.h"
#include "draw.h"
#include "edit.h"
#include "histfile.h"
#include "shell/repl.h"

#define MAXMASK 65536 /* bytes of a text that is highlighted */

static bool terminal, editing; /* input has prompts; is edited */
static char *line;             /* the statement that readline gave */
static bool haveline, hangup;  /* readline has called back; no more keys */
static bool stale;             /* the window does not show the text */
static bool idled;             /* `idle` has been asked */
static char *below;            /* lines below the text, until the next key */
static int mark[2];            /* what a search found */
static char *masked, *mask;    /* a text and its mask; NULL: none */
static int cancels;            /* Ctrl-C with nothing typed, in a row */
static lua_State *state;
static sigset_t unblocked; /* the signals while it waits */

static const int promptsignals[] = {SIGHUP,  SIGTERM,  SIGTSTP,
                                    SIGQUIT, SIGWINCH, SIGCONT};
#define NSIGNALS 6
#define NENDING 4 /* end or stop the program, unless they are ignored */
static volatile sig_atomic_t caught[NSIGNALS]; /* came at the prompt */

static pthread_t mainthread;

/* SIGQUIT ends the program also where nothing else is let in. */
static void onpromptsignal(int sig) {
  if (!pthread_equal(pthread_self(), mainthread)) {
    pthread_kill(mainthread, sig); /* a thread of a driver got it */
    return;
  }
  if (sig == SIGQUIT) {
    clsh_restoreterminal();
    signal(sig, SIG_DFL);
    raise(sig);
  }
  for (int i = 0; i < NSIGNALS; i++)
    if (promptsignals[i] == sig)
      caught[i] = 1;
}

lua_State *clsh_editstate(void) {
  return state;
}

/* The text that is edited, to the stack. */
void clsh_editpush(void) {
  lua_pushlstring(state, rl_line_buffer, (size_t)rl_end);
}

bool clsh_editask(const char *name, int narg, int nres) {
  return clsh_ask(state, name, narg, nres);
}

/* Shows lines below the text, up to the next key; NULL: none. */
void clsh_editbelow(const char *text, size_t len) {
  free(below);
  below = text != NULL ? strndup(text, len) : NULL;
  stale = true;
}

/* Marks bytes of the text, up to the next key. */
void clsh_editmark(int first, int end) {
  mark[0] = first;
  mark[1] = end;
  stale = true;
}

void clsh_editstale(void) {
  stale = true;
}

/* Has `mask` as long as the text, or NULL. */
static void updatemask(void) {
  if (masked != NULL && strcmp(masked, rl_line_buffer) == 0)
    return;
  free(masked);
  free(mask);
  masked = strdup(rl_line_buffer);
  mask = NULL;
  if (rl_end > MAXMASK)
    return;
  clsh_editpush();
  if (!clsh_editask("mask", 1, 1))
    return;
  size_t len;
  const char *s = lua_type(state, -1) == LUA_TSTRING
                      ? lua_tolstring(state, -1, &len)
                      : NULL;
  if (s != NULL && len == (size_t)rl_end)
    mask = strdup(s);
  lua_pop(state, 1);
}

/* The bracket that belongs to the one at `at`; NOWHERE: none. */
static size_t findpair(size_t at) {
  static const char brackets[] = "()[]{}";
  const char *s = rl_line_buffer;
  const char *found = s[at] != '\0' ? strchr(brackets, s[at]) : NULL;
  if (found == NULL || (mask != NULL && mask[at] != ' '))
    return NOWHERE;
  int k = (int)(found - brackets), step = k % 2 == 0 ? 1 : -1, depth = 0;
  for (int i = (int)at; i >= 0 && i < rl_end; i += step) {
    if (mask != NULL && mask[i] != ' ')
      continue;
    depth += s[i] == brackets[k] ? 1 : s[i] == brackets[k + step] ? -1 : 0;
    if (depth == 0)
      return (size_t)i;
  }
  return NOWHERE;
}

static View viewtext(void) {
  updatemask();
  View v = {rl_line_buffer,     (size_t)rl_end,  (size_t)rl_point, mask,
            {NOWHERE, NOWHERE}, (size_t)mark[0], (size_t)mark[1],  below};
  for (int i = 0; i < 2 && mask != NULL && v.pair[0] == NOWHERE; i++) {
    if (rl_point < i)
      break;
    v.pair[1] = (size_t)(rl_point - i);
    v.pair[0] = findpair(v.pair[1]);
  }
  if (v.pair[0] == NOWHERE)
    v.pair[1] = NOWHERE;
  return v;
}

static void draw(void) {
  View v = viewtext();
  clsh_draw(&v);
  stale = false;
}

/* The text is left on the screen; `tail` and a new line follow it. */
void clsh_editend(const char *tail) {
  View v = viewtext();
  clsh_drawend(&v, tail);
}

static void takeline(char *s) {
  line = s;
  haveline = true;
  rl_callback_handler_remove(); /* or it would prompt again */
}

/* Stops or ends as a signal says, the terminal as the shell left it. */
static void obey(int sig) {
  sigset_t blocked;
  clsh_editend("");
  rl_cleanup_after_signal();
  signal(sig, SIG_DFL);
  raise(sig);
  sigprocmask(SIG_SETMASK, &unblocked, &blocked); /* here it takes effect */
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  signal(sig, onpromptsignal);
  rl_reset_after_signal();
}

static void passsignals(void) {
  for (int i = 0; i < NSIGNALS; i++) {
    if (!caught[i])
      continue;
    caught[i] = 0;
    if (promptsignals[i] == SIGCONT) { /* the terminal was someone else's */
      rl_cleanup_after_signal();
      rl_reset_after_signal();
      clsh_drawsize();
      clsh_drawfresh();
    } else if (promptsignals[i] == SIGWINCH)
      clsh_drawresized();
    else
      obey(promptsignals[i]);
    stale = true;
  }
}

static void begin(void) {
  stale = true;
  clsh_drawfresh();
  rl_callback_handler_install(PROMPT, takeline);
}

/*
** Ctrl-C: the text is dropped, whatever readline was in the middle of. The
** terminal stays as it is: a key that comes now is for the next text.
*/
static void dropline(void) {
  rl_voidfunc_t *deprep = rl_deprep_term_function;
  rl_vintfunc_t *prep = rl_prep_term_function;
  cancels = rl_end == 0 ? cancels + 1 : 0;
  clsh_editend(cancels == 2 ? "^C\r\nCtrl-D or exit leaves the shell" : "^C");
  clsh_recallend();
  clsh_editbelow(NULL, 0);
  rl_callback_sigcleanup();
  rl_free_line_state();
  rl_deprep_term_function = NULL;
  rl_prep_term_function = NULL;
  rl_callback_handler_remove();
  begin();
  rl_deprep_term_function = deprep;
  rl_prep_term_function = prep;
  clsh_endinterrupt(state);
}

/* Waits for a key, for `limit` at most; false: none has come. */
bool clsh_editwait(const struct timespec *limit) {
  fd_set keys;
  if (clsh_editqueued())
    return true;
  FD_ZERO(&keys);
  FD_SET(STDIN_FILENO, &keys);
  int n = pselect(STDIN_FILENO + 1, &keys, NULL, NULL, limit, &unblocked);
  return n > 0 || (n < 0 && errno != EINTR); /* reading tells what is wrong */
}

/* The next byte of the input for readline, which waits before it asks. */
static int getkey(FILE *stream) {
  (void)stream;
  int c = clsh_editkey();
  hangup = hangup || c == EOF;
  return c;
}

/*
** Lets signals in and tells whether one came. A key that was typed after
** Ctrl-C is already there when the signal is not.
*/
static bool signalled(void) {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, &unblocked, &blocked);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  bool came = clsh_interrupt != 0;
  for (int i = 0; i < NSIGNALS; i++)
    came = came || caught[i];
  return came;
}

static void onkey(void) {
  clsh_editbelow(NULL, 0);
  clsh_editmark(0, 0);
  rl_callback_read_char();
}

static void show(void) {
  draw();
  if (!idled)
    clsh_editask("idle", 0, 0);
  idled = true;
}

static Input waitline(void) {
  static const struct timespec now = {0, 0};
  haveline = hangup = false;
  while (!haveline && !hangup && !clsh_expired()) {
    bool key = clsh_editwait(stale ? &now : NULL);
    if (signalled()) {
      if (clsh_interrupt && !clsh_expired())
        dropline();
      passsignals();
    } else if (key)
      onkey();
    else if (stale)
      show();
  }
  if (!haveline) {
    clsh_editend("");
    rl_callback_handler_remove();
  }
  return line != NULL ? INPUT_TEXT : INPUT_END;
}

/* A statement from the terminal, signals blocked but for the waits. */
static Input editline(const char *draft) {
  struct sigaction action, before[NSIGNALS];
  sigset_t mine;
  memset(&action, 0, sizeof action);
  action.sa_handler = onpromptsignal;
  sigemptyset(&mine);
  sigaddset(&mine, SIGINT);
  for (int i = 0; i < NSIGNALS; i++)
    sigaddset(&mine, promptsignals[i]);
  sigdelset(&mine, SIGQUIT);
  sigprocmask(SIG_BLOCK, &mine, &unblocked);
  action.sa_mask = mine;
  for (int i = 0; i < NSIGNALS; i++) {
    sigaction(promptsignals[i], &action, &before[i]);
    if (i < NENDING && before[i].sa_handler == SIG_IGN) /* as by nohup */
      sigaction(promptsignals[i], &before[i], NULL);
  }
  clsh_drawsize();
  begin();
  if (draft != NULL)
    rl_insert_text(draft);
  Input input = waitline();
  clsh_recallend();
  clsh_editbelow(NULL, 0);
  clsh_editmark(0, 0);
  for (int i = 0; i < NSIGNALS; i++)
    sigaction(promptsignals[i], &before[i], NULL);
  sigprocmask(SIG_SETMASK, &unblocked, NULL);
  return input;
}

Input clsh_edit(lua_State *L, const char *draft) {
  if (!editing)
    return clsh_plainedit(L, terminal, draft);
  fflush(stdout);
  fflush(stderr);
  state = L;
  Input input = editline(draft);
  clsh_endinterrupt(L);
  if (input == INPUT_TEXT) {
    clsh_historyadd(line);
    lua_pushstring(L, line);
    cancels = 0;
  } else if (input == INPUT_END)
    fflush(stdout);
  free(line);
  line = NULL;
  free(masked); /* the colours may be switched meanwhile */
  masked = NULL;
  return input;
}

/* readline's redisplay: when no more keys wait, see waitline. */
static void redisplay(void) {
  stale = true;
}

/* Characters are UTF-8 unless the environment has other ideas. */
static void setcharacters(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value != NULL && *value != '\0')
      return;
  }
  setlocale(LC_CTYPE, "C.UTF-8");
}

bool clsh_openedit(lua_State *L) {
  const char *term = getenv("TERM");
  if (lua_getfield(L, -1, "history") == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    clsh_historyoff();
  lua_pop(L, 1);
  clsh_setasked(L);
  terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  editing =
      terminal && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
  if (!editing)
    return terminal;
  rl_readline_name = PROGRAM;
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  setcharacters();
  rl_initialize(); /* with readline's own redisplay, or it gives up pasting */
  rl_redisplay_function = redisplay;
  rl_getc_function = getkey;
  clsh_editterminal();
  rl_variable_bind("bind-tty-special-chars", "off");
  rl_variable_bind("input-meta", "on"); /* in locale C as well */
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("convert-meta", "off");
  clsh_bindkeys();
  mainthread = pthread_self();
  return true;
}
