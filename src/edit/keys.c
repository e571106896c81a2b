/*
** keys.c - what keys do to a text of several lines. Every key that is bound
** to a function of readline that knows only one line gets ours, also where
** the user's inputrc has bound it.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "draw.h"
#include "edit.h"

static int goal = -1;      /* the column that Up and Down keep to */
static int goalpoint = -1; /* where they left the cursor */

static int startof(int point) {
  while (point > 0 && rl_line_buffer[point - 1] != '\n')
    point--;
  return point;
}

static int endof(int point) {
  return point + (int)strcspn(rl_line_buffer + point, "\n");
}

/* Columns of the bytes from..to. */
static int columnsof(int from, int to) {
  int columns = 0;
  while (from < to) {
    size_t n;
    int width = clsh_charwidth(rl_line_buffer + from, (size_t)(to - from), &n);
    columns += width < 0 ? 1 : width;
    from += (int)n;
  }
  return columns;
}

/* Puts the cursor into the line that begins at `start`, at the goal. */
static void toline(int start) {
  int end = endof(start), point = start, columns = 0;
  if (rl_point != goalpoint)
    goal = columnsof(startof(rl_point), rl_point);
  while (point < end) {
    size_t n;
    int width =
        clsh_charwidth(rl_line_buffer + point, (size_t)(end - point), &n);
    columns += width < 0 ? 1 : width;
    if (columns > goal)
      break;
    point += (int)n;
  }
  rl_point = goalpoint = point;
}

static int up(int count, int key) {
  (void)key;
  for (; count > 0; count--) {
    int start = startof(rl_point);
    if (start > 0)
      toline(startof(start - 1));
    else if (clsh_recallback())
      rl_point = endof(0);
  }
  return 0;
}

static int down(int count, int key) {
  (void)key;
  for (; count > 0; count--) {
    int end = endof(rl_point);
    if (end < rl_end)
      toline(end + 1);
    else if (clsh_recallforward())
      rl_point = rl_end;
  }
  return 0;
}

static int linestart(int count, int key) {
  (void)count, (void)key;
  rl_point = startof(rl_point);
  return 0;
}

static int lineend(int count, int key) {
  (void)count, (void)key;
  rl_point = endof(rl_point);
  return 0;
}

static int textstart(int count, int key) {
  (void)count, (void)key;
  rl_point = 0;
  return 0;
}

static int textend(int count, int key) {
  (void)count, (void)key;
  rl_point = rl_end;
  return 0;
}

/* To the end of the line; at the end, the line break. */
static int killend(int count, int key) {
  (void)count, (void)key;
  int end = endof(rl_point);
  rl_kill_text(rl_point, end > rl_point || end == rl_end ? end : end + 1);
  return 0;
}

/* To the beginning of the line; at the beginning, the line break. */
static int killstart(int count, int key) {
  (void)count, (void)key;
  int start = startof(rl_point);
  start -= start == rl_point && start > 0;
  rl_kill_text(rl_point, start);
  rl_point = start;
  return 0;
}

static int newline(int count, int key) {
  (void)count, (void)key;
  rl_insert_text("\n");
  return 0;
}

/* Submits a complete text; otherwise more lines have to come. */
static int enter(int count, int key) {
  clsh_editpush();
  lua_State *L = clsh_editstate();
  bool complete = clsh_iscomplete(L);
  lua_pop(L, 1);
  if (!complete)
    return newline(count, key);
  clsh_editend("");
  rl_point = rl_end;
  return rl_newline(1, key);
}

static int clear(int count, int key) {
  (void)count, (void)key;
  clsh_drawclear();
  clsh_editstale();
  return 0;
}

static int nothing(int count, int key) {
  (void)count, (void)key;
  return 0;
}

/* The keymaps that text is edited in. */
static const char *const keymaps[] = {"emacs-standard", "vi-insert",
                                      "vi-command"};
#define NKEYMAPS 3

/* Binds all keys of a function of readline to ours. */
void clsh_replacekey(rl_command_func_t *theirs, rl_command_func_t *mine) {
  for (int i = 0; i < NKEYMAPS; i++) {
    Keymap map = rl_get_keymap_by_name(keymaps[i]);
    char **keys = rl_invoking_keyseqs_in_map(theirs, map);
    for (int k = 0; keys != NULL && keys[k] != NULL; k++) {
      rl_bind_keyseq_in_map(keys[k], mine, map);
      free(keys[k]);
    }
    free(keys);
  }
}

/* Binds a key, unless it is bound already. */
void clsh_addkey(const char *sequence, rl_command_func_t *mine) {
  for (int i = 0; i < NKEYMAPS; i++)
    rl_bind_keyseq_if_unbound_in_map(sequence, mine,
                                     rl_get_keymap_by_name(keymaps[i]));
}

void clsh_bindkeys(void) {
  static const struct {
    rl_command_func_t *theirs, *mine;
  } ours[] = {
      {rl_newline, enter},
      {rl_get_previous_history, up},
      {rl_get_next_history, down},
      {rl_beg_of_line, linestart},
      {rl_end_of_line, lineend},
      {rl_beginning_of_history, textstart},
      {rl_end_of_history, textend},
      {rl_kill_line, killend},
      {rl_unix_line_discard, killstart},
      {rl_backward_kill_line, killstart},
      {rl_operate_and_get_next, newline},
      {rl_clear_screen, clear},
      {rl_clear_display, clear},
      {rl_insert_comment, nothing},
      {rl_vi_editing_mode, newline}, /* Alt-Enter */
      {rl_bracketed_paste_begin, clsh_editpaste},
  };
  static const char *const newlines[] = {"\\e\\r", "\\e\\n", "\\e[13;2u",
                                         "\\e[27;2;13~"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    clsh_replacekey(ours[i].theirs, ours[i].mine);
  for (size_t i = 0; i < sizeof newlines / sizeof *newlines; i++)
    clsh_addkey(newlines[i], newline);
  clsh_addkey("\\e[1;5H", textstart);
  clsh_addkey("\\e[1;5F", textend);
  clsh_bindrecall();
  clsh_bindtab();
}
