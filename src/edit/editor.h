/*
** editor.h - for the files of the editor: statements that are read line by
** line and calls of the session's functions, for both editors; the state of
** the editor on readline, which keeps the text and its undo list, and the text
** in the window.
** SPDX-License-Identifier: MIT
*/
#ifndef editor_h
#define editor_h

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "edit.h"

#define PROMPT "cl> "
#define PROMPT2 "..> "

/* statement.c */
extern const Shell *clsh_statement_shell;
bool clsh_statement_open(lua_State *L, const Shell *shell);
bool clsh_statement_ask(lua_State *L, const char *name, int narg, int nres);
bool clsh_statement_complete(lua_State *L, size_t *first);
Input clsh_statement_read(lua_State *L, const char *draft);

typedef struct Editor {
  lua_State *L;       /* of the statement that is read */
  bool stale;         /* the window does not show the text */
  char *below;        /* lines below the text, until the next key */
  char *later;        /* inputs of a transcript, after the current one */
  int mark[2];        /* bytes that a search found */
  char *masked;       /* the text that `mask` is for */
  char *mask;         /* its classes; NULL: no colours */
  sigset_t unblocked; /* the signals during a wait for a key */
} Editor;

#define NOWHERE ((size_t)-1)

/* A text to show, positions in it, and lines below it. */
typedef struct View {
  const char *text;
  size_t len;
  size_t cursor;
  const char *mask;  /* a class letter for each byte; NULL: no colours */
  size_t pair[2];    /* brackets to underline, or NOWHERE */
  size_t first, end; /* bytes to underline, as a search found them */
  const char *below; /* NULL: none */
} View;

/* draw.c: a text laid out in the rows of a window, and shown there */
int clsh_draw_charwidth(const char *s, size_t n, size_t *len);
int clsh_draw_textwidth(const char *s, size_t n);
void clsh_draw_size(void);
int clsh_draw_columns(void);
int clsh_draw_rows(void);
void clsh_draw_fresh(void);
void clsh_draw_view(const View *v);
void clsh_draw_end(const View *v, const char *tail);
void clsh_draw_above(const char *text);
void clsh_draw_resized(void);
void clsh_draw_clear(void);

/* editor.c */
extern Editor clsh_editor;
void clsh_editor_push(void);
bool clsh_editor_ask(const char *name, int narg, int nres);
void clsh_editor_below(const char *text, size_t len);
void clsh_editor_mark(int first, int end);
void clsh_editor_draw(const char *suggestion);
void clsh_editor_end(const char *tail);
void clsh_editor_forget(void);

/* input.c */
bool clsh_input_wait(const struct timespec *limit);
int clsh_input_key(void);
void clsh_input_type(char c);
int clsh_input_paste(int count, int key);
void clsh_input_terminal(void);

/* recall.c: moving through the history; functions of keys */
bool clsh_recall_back(void);
bool clsh_recall_forward(void);
void clsh_recall_end(void);
int clsh_recall_prefixback(int count, int key);
int clsh_recall_prefixforward(int count, int key);
int clsh_recall_search(int count, int key);
int clsh_recall_argument(int count, int key);
const char *clsh_recall_suggestion(void);
bool clsh_recall_accept(void);

/* complete.c: functions of keys */
int clsh_complete_tab(int count, int key);
int clsh_complete_list(int count, int key);
int clsh_complete_help(int count, int key);

/* keys.c */
void clsh_keys_bind(void);
void clsh_keys_undosteps(const void *before);

#endif
