/*
** keys.c - the functions of keys in a text of several lines. They take the
** keys of readline's functions for one line, the keys of the user's inputrc
** too.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "editor.h"

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

/* Puts the cursor into the line that begins at `start`, at the goal. */
static void toline(int start) {
  int end = endof(start), point = start;
  if (rl_point != goalpoint)
    goal = clsh_draw_textwidth(rl_line_buffer + startof(rl_point),
                               (size_t)(rl_point - startof(rl_point)));
  while (point < end) {
    size_t n;
    clsh_draw_charwidth(rl_line_buffer + point, (size_t)(end - point), &n);
    n += (size_t)(point - start);
    if (clsh_draw_textwidth(rl_line_buffer + start, n) > goal)
      break;
    point = start + (int)n;
  }
  rl_point = goalpoint = point;
}

static int up(int count, int key) {
  (void)key;
  for (; count > 0; count--) {
    int start = startof(rl_point);
    if (start > 0)
      toline(startof(start - 1));
    else if (clsh_recall_back())
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
    else if (clsh_recall_forward())
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
  if (!clsh_recall_accept())
    rl_point = endof(rl_point);
  return 0;
}

static int forward(int count, int key) {
  return clsh_recall_accept() ? 0 : rl_forward_char(count, key);
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

/* Kills to the end of the line; at the end, the line break. */
static int killend(int count, int key) {
  (void)count, (void)key;
  int end = endof(rl_point);
  rl_kill_text(rl_point, end > rl_point || end == rl_end ? end : end + 1);
  return 0;
}

/* Kills to the beginning of the line; at the beginning, the line break. */
static int killstart(int count, int key) {
  (void)count, (void)key;
  int start = startof(rl_point);
  start -= start == rl_point && start > 0;
  rl_kill_text(rl_point, start);
  rl_point = start;
  return 0;
}

/* Has the line of the cursor begin with these blanks. */
static void indentline(const char *blanks) {
  int start = startof(rl_point), point = rl_point;
  int n = (int)strspn(rl_line_buffer + start, " \t");
  rl_delete_text(start, start + n);
  rl_point = start;
  rl_insert_text(blanks);
  rl_point += point > start + n ? point - start - n : 0;
}

/*
** Pushes the blanks for the line of the cursor and for the line after it, as
** the session says; NULL: none. The caller pops two values.
*/
static void askindent(const char **here, const char **after) {
  lua_State *L = clsh_editor.L;
  clsh_editor_push();
  lua_pushinteger(L, rl_point);
  if (!clsh_editor_ask("indent", 2, 2)) {
    lua_pushnil(L);
    lua_pushnil(L);
  }
  *here = lua_tostring(L, -2);
  *after = lua_tostring(L, -1);
}

/* Begins a line, as deep as the blocks that are open. */
static int newline(int count, int key) {
  const char *here, *after;
  (void)count, (void)key;
  askindent(&here, &after);
  rl_begin_undo_group();
  if (here != NULL)
    indentline(here);
  rl_insert_text("\n");
  if (after != NULL)
    rl_insert_text(after);
  rl_end_undo_group();
  lua_pop(clsh_editor.L, 2);
  return 0;
}

/* Keeps the first input of a transcript; the others come after it. */
static void keepfirst(size_t first) {
  assert(first + strlen("\n" PROMPT) <= (size_t)rl_end);
  free(clsh_editor.later);
  clsh_editor.later = strdup(rl_line_buffer + first + strlen("\n" PROMPT));
  rl_delete_text((int)first, rl_end);
  rl_point = rl_end;
}

/* Submits a complete text; otherwise more lines have to come. */
static int enter(int count, int key) {
  size_t first = (size_t)rl_end;
  clsh_editor_push();
  lua_State *L = clsh_editor.L;
  bool complete = clsh_statement_complete(L, &first);
  lua_pop(L, 1);
  if (!complete)
    return newline(count, key);
  if (first < (size_t)rl_end)
    keepfirst(first);
  rl_point = rl_end;
  const char *here, *after;
  askindent(&here, &after);
  if (here != NULL)
    indentline(here); /* the line of the typed `end` */
  lua_pop(L, 2);
  clsh_editor_end("");
  return rl_newline(1, key);
}

static int clear(int count, int key) {
  (void)count, (void)key;
  clsh_draw_clear();
  clsh_editor.stale = true;
  return 0;
}

static int nothing(int count, int key) {
  (void)count, (void)key;
  return 0;
}

static bool isword(char c) {
  return isalnum((unsigned char)c) || c == '_' || (c & 0x80) != 0;
}

/* Whether a word or a line of the text begins at `at`. */
static bool begins(int at) {
  const char *s = rl_line_buffer + at;
  return at == 0 || s[-1] == '\n' || (isword(s[0]) && !isword(s[-1]));
}

/*
** Has undo take back the text typed since the list was `before` in steps of a
** word, with the signs and blanks after it. readline's steps are of up to 20
** characters.
*/
void clsh_keys_undosteps(const void *before) {
  UNDO_LIST *u = rl_undo_list;
  if (rl_editing_mode == 0 || rl_last_func != rl_insert || u == NULL ||
      u->what != UNDO_INSERT || u->end > rl_end)
    return;
  int end = u->end;
  while (u != before && u->next != NULL && u->next->what == UNDO_INSERT &&
         u->next->end == u->start &&
         !(u->next == before && begins(u->start))) {
    rl_undo_list = u->next;
    free(u);
    u = rl_undo_list;
  }
  u->end = end;
  for (int at = u->start + 1; at < end; at++)
    if (begins(at)) {
      rl_undo_list->end = at;
      rl_add_undo(UNDO_INSERT, at, end, NULL);
    }
}

/* The keymaps that text is edited in. */
static const char *const keymaps[] = {"emacs-standard", "vi-insert",
                                      "vi-command"};
#define NKEYMAPS 3

/* Binds all keys of a function of readline to ours. */
static void replacekey(rl_command_func_t *theirs, rl_command_func_t *mine) {
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

static const struct {
  rl_command_func_t *theirs, *mine;
} functions[] = {
    {rl_newline, enter},
    {rl_get_previous_history, up},
    {rl_get_next_history, down},
    {rl_beg_of_line, linestart},
    {rl_end_of_line, lineend},
    {rl_forward_char, forward},
    {rl_yank_last_arg, clsh_recall_argument},
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
    {rl_bracketed_paste_begin, clsh_input_paste},
    {rl_history_search_backward, clsh_recall_prefixback},
    {rl_history_search_forward, clsh_recall_prefixforward},
    {rl_reverse_search_history, clsh_recall_search},
    {rl_forward_search_history, clsh_recall_search},
    {rl_noninc_reverse_search, clsh_recall_search},
    {rl_noninc_forward_search, clsh_recall_search},
    {rl_vi_search, clsh_recall_search},
    {rl_complete, clsh_complete_tab},
    {rl_menu_complete, clsh_complete_tab},
    {rl_backward_menu_complete, clsh_complete_tab},
    {rl_insert_completions, clsh_complete_tab},
    {rl_possible_completions, clsh_complete_list},
};

/* The sequences that terminals send, for keys that are not bound. */
static const struct {
  const char *sequence;
  rl_command_func_t *mine;
} sequences[] = {
    {"\\e\\r", newline},
    {"\\e\\n", newline},
    {"\\e[13;2u", newline},
    {"\\e[27;2;13~", newline},
    {"\\e[1;5H", textstart},
    {"\\e[1;5F", textend},
    {"\\e[5~", clsh_recall_prefixback},
    {"\\e[6~", clsh_recall_prefixforward},
    {"\\eOP", clsh_complete_help}, /* F1 */
    {"\\e[11~", clsh_complete_help},
    {"\\e[[A", clsh_complete_help},
};

/* How sequences of keys begin; those without a function insert nothing. */
static const char *const beginnings[] = {"\\e[", "\\e[[", "\\eO"};

void clsh_keys_bind(void) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    replacekey(functions[i].theirs, functions[i].mine);
  for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
    for (int k = 0; k < NKEYMAPS; k++)
      rl_bind_keyseq_if_unbound_in_map(sequences[i].sequence,
                                       sequences[i].mine,
                                       rl_get_keymap_by_name(keymaps[k]));
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    for (int k = 0; k < NKEYMAPS; k++)
      rl_bind_keyseq_in_map(beginnings[i], rl_skip_csi_sequence,
                            rl_get_keymap_by_name(keymaps[k]));
  for (int k = 0; k < NKEYMAPS; k++) { /* readline quotes the key after it */
    Keymap map = rl_get_keymap_by_name(keymaps[k]);
    if (rl_function_of_keyseq("\033[2~", map, NULL) == rl_quoted_insert)
      rl_bind_keyseq_in_map("\\e[2~", nothing, map); /* Insert */
  }
}
