/*
** lineedit.c - edits statements with GNU readline, through its callback
** interface. Signals are let in only during the wait for a key, so that they
** interrupt neither readline nor Lua at a bad place.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "cl/cl.h"
#include "editor.h"

static bool editing;          /* the text is edited with readline */
static char *line;            /* the statement that readline gave */
static bool haveline, hangup; /* readline has called back; no more keys */
static bool idled;            /* `idle` has been called */
static int cancels;           /* Ctrl-C with nothing typed, in a row */

static const int promptsignals[] = {SIGHUP,  SIGTERM,  SIGTSTP,
                                    SIGQUIT, SIGWINCH, SIGCONT};
#define NSIGNALS 6
#define NENDING 4 /* end or stop the program, unless they are ignored */
static volatile sig_atomic_t caught[NSIGNALS]; /* came at the prompt */

static pthread_t mainthread;

/* Notes the signal for passsignals; SIGQUIT ends the program at once. */
static void onpromptsignal(int sig) {
  if (!pthread_equal(pthread_self(), mainthread)) {
    pthread_kill(mainthread, sig); /* a thread of a driver got it */
    return;
  }
  if (sig == SIGQUIT) {
    clsh_statement_shell->restoreterminal();
    signal(sig, SIG_DFL);
    raise(sig);
  }
  for (int i = 0; i < NSIGNALS; i++)
    if (promptsignals[i] == sig)
      caught[i] = 1;
}

static void takeline(char *s) {
  assert(line == NULL);
  line = s;
  haveline = true;
  rl_callback_handler_remove(); /* or it would prompt again */
}

/*
** Stops or ends the program as the signal would without a handler, with the
** terminal as it was before the editor.
*/
static void obey(int sig) {
  sigset_t blocked;
  clsh_editor_end("");
  rl_cleanup_after_signal();
  signal(sig, SIG_DFL);
  raise(sig);
  sigprocmask(SIG_SETMASK, &clsh_editor.unblocked,
              &blocked); /* here it takes effect */
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
      clsh_draw_size();
      clsh_draw_fresh();
    } else if (promptsignals[i] == SIGWINCH)
      clsh_draw_resized();
    else
      obey(promptsignals[i]);
    clsh_editor.stale = true;
  }
}

/* Takes the keymap that the session has set. */
static void setkeymap(void) {
  lua_State *L = clsh_editor.L;
  if (!clsh_editor_ask("keymap", 0, 1))
    return;
  bool vi = rl_editing_mode == 0;
  const char *name = lua_tostring(L, -1);
  if (name != NULL && vi != (strcmp(name, "vi") == 0))
    rl_variable_bind("editing-mode", name);
  lua_pop(L, 1);
}

static void begin(void) {
  clsh_editor.stale = true;
  clsh_draw_fresh();
  rl_callback_handler_install(PROMPT, takeline);
}

/*
** Ctrl-C: drops the text, whatever readline was doing. The terminal keeps its
** mode, so that the next key belongs to the next text.
*/
static void dropline(void) {
  rl_voidfunc_t *deprep = rl_deprep_term_function;
  rl_vintfunc_t *prep = rl_prep_term_function;
  cancels = rl_end == 0 ? cancels + 1 : 0;
  clsh_editor_end(cancels == 2 ? "^C\r\nCtrl-D or exit leaves the shell"
                               : "^C");
  clsh_recall_end();
  clsh_lineedit_drop();
  clsh_editor_below(NULL, 0);
  rl_callback_sigcleanup();
  rl_free_line_state();
  rl_deprep_term_function = NULL;
  rl_prep_term_function = NULL;
  rl_callback_handler_remove();
  begin();
  rl_deprep_term_function = deprep;
  rl_prep_term_function = prep;
  clsh_statement_shell->endinterrupt(clsh_editor.L);
}

/* The next byte of the input for readline, called after a wait. */
static int getkey(FILE *stream) {
  (void)stream;
  int c = clsh_input_key();
  hangup = hangup || c == EOF;
  return c;
}

/*
** Lets signals in and returns whether one came. A key typed after Ctrl-C can
** arrive before the signal.
*/
static bool signalled(void) {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, &clsh_editor.unblocked, &blocked);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  bool came = clsh_poll_interrupt != 0;
  for (int i = 0; i < NSIGNALS; i++)
    came = came || caught[i];
  return came;
}

/*
** Whether readline may take a further key before the last key is done. If so,
** a function that inserts text would take all keys that have come, with the
** key of another function at their end, and undo would find one step.
*/
static int available(void) {
  int us = rl_set_keyboard_input_timeout(-1); /* the timeout as it is */
  struct timespec limit = {us / 1000000, us % 1000000 * 1000};
  return !RL_ISSTATE(RL_STATE_DISPATCHING) && clsh_input_wait(&limit);
}

static void onkey(void) {
  clsh_editor_below(NULL, 0);
  clsh_editor_mark(0, 0);
  const void *before = rl_undo_list;
  rl_callback_read_char();
#if RL_READLINE_VERSION >= 0x0802
  rl_eof_found = hangup; /* or Delete at the end adds a line to each input */
#endif
  clsh_keys_undosteps(before);
}

static void show(void) {
  clsh_editor_draw(clsh_recall_suggestion());
  if (!idled)
    clsh_editor_ask("idle", 0, 0);
  idled = true;
}

static Input waitline(void) {
  static const struct timespec now = {0, 0};
  haveline = hangup = false;
  while (!haveline && !hangup && !clsh_statement_shell->expired()) {
    bool key = clsh_input_wait(clsh_editor.stale ? &now : NULL);
    if (signalled()) {
      if (clsh_poll_interrupt && !clsh_statement_shell->expired())
        dropline();
      passsignals();
    } else if (key)
      onkey();
    else if (clsh_editor.stale)
      show();
  }
  if (!haveline) {
    clsh_editor_end("");
    rl_callback_handler_remove();
  }
  return line != NULL ? INPUT_TEXT : INPUT_END;
}

/* Enters the next inputs of a transcript. */
static void typelater(void) {
  if (clsh_editor.later == NULL)
    return;
  rl_insert_text(clsh_editor.later);
  clsh_lineedit_drop();
  clsh_input_type('\r');
}

/* Reads a statement, with signals blocked except during the waits. */
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
  sigprocmask(SIG_BLOCK, &mine, &clsh_editor.unblocked);
  action.sa_mask = mine;
  for (int i = 0; i < NSIGNALS; i++) {
    sigaction(promptsignals[i], &action, &before[i]);
    if (i < NENDING && before[i].sa_handler == SIG_IGN) /* as by nohup */
      sigaction(promptsignals[i], &before[i], NULL);
  }
  clsh_draw_size();
  setkeymap();
  begin();
  if (draft != NULL)
    rl_insert_text(draft);
  else
    typelater();
  Input input = waitline();
  clsh_recall_end();
  clsh_editor_forget();
  for (int i = 0; i < NSIGNALS; i++)
    sigaction(promptsignals[i], &before[i], NULL);
  sigprocmask(SIG_SETMASK, &clsh_editor.unblocked, NULL);
  return input;
}

Input clsh_lineedit_read(lua_State *L, const char *draft) {
  if (!editing)
    return clsh_statement_read(L, draft);
  fflush(stdout);
  fflush(stderr);
  clsh_editor.L = L;
  Input input = editline(draft);
  clsh_statement_shell->endinterrupt(L);
  if (input == INPUT_TEXT) {
    lua_pushstring(L, line);
    lua_pushvalue(L, -1);
    clsh_editor_ask("remember", 1, 0);
    cancels = 0;
  } else if (input == INPUT_END)
    fflush(stdout);
  free(line);
  line = NULL;
  return input;
}

bool clsh_lineedit_drop(void) {
  bool any = clsh_editor.later != NULL;
  free(clsh_editor.later);
  clsh_editor.later = NULL;
  return any;
}

/* readline's redisplay: waitline draws when no more keys wait. */
static void redisplay(void) {
  clsh_editor.stale = true;
}

/* Characters are UTF-8 unless the environment names a locale. */
static void setcharacters(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value != NULL && *value != '\0')
      return;
  }
  setlocale(LC_CTYPE, "C.UTF-8");
}

bool clsh_lineedit_open(lua_State *L, const Shell *shell) {
  const char *term = getenv("TERM");
  bool terminal = clsh_statement_open(L, shell);
  editing =
      terminal && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
  if (!editing)
    return terminal;
  rl_readline_name = "clshell";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  setcharacters();
  rl_initialize(); /* before ours is set, or readline gives up pasting */
  rl_redisplay_function = redisplay;
  rl_getc_function = getkey;
  rl_input_available_hook = available;
  clsh_input_terminal();
  rl_variable_bind("bind-tty-special-chars", "off");
  rl_variable_bind("input-meta", "on"); /* in locale C as well */
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("convert-meta", "off");
  clsh_keys_bind();
  mainthread = pthread_self();
  return true;
}
