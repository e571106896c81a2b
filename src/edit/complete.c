/*
** complete.c - keys that call the session: Tab completes the word before the
** cursor and lists the candidates until the next key; F1 shows its help.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "editor.h"

#define INDENT "  "

/* The results of `candidates`, at these places of the stack. */
#define FIRST 1
#define LIST 2
#define HINT 3
#define COMMON 4
#define SHOWN 5

/* String i of the list at index `t`; "" for other values. */
static const char *item(lua_State *L, int t, lua_Integer i) {
  const char *s =
      lua_rawgeti(L, t, i) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return s;
}

static int shownto; /* items of the list that were shown; 0: all */
static int shownat; /* the cursor then */

/* Writes a list in columns, top to bottom, from item `first` + 1 on. */
static void writelist(FILE *out, lua_State *L, int t, int first) {
  int widest = 1, n = (int)lua_rawlen(L, t);
  for (int i = first + 1; i <= n; i++) {
    const char *s = item(L, t, i);
    int width = clsh_draw_textwidth(s, strlen(s));
    widest = width > widest ? width : widest;
  }
  int most = clsh_draw_rows() / 2 > 1 ? clsh_draw_rows() / 2 - 1 : 1;
  int across = clsh_draw_columns() / (widest + 2);
  across = across < 1 ? 1 : across;
  int rows = (n - first + across - 1) / across;
  int shown = rows > most ? most : rows;
  int last = n - first > shown * across ? first + shown * across : n;
  for (int r = 0; r < shown; r++) {
    for (int i = first + r + 1; i <= last; i += shown) {
      const char *s = item(L, t, i);
      fprintf(out, "%s%*s", s, widest + 2 - clsh_draw_textwidth(s, strlen(s)),
              "");
    }
    putc('\n', out);
  }
  if (last < n)
    fprintf(out, "and %d more: Tab shows them\n", n - last);
  shownto = last < n ? last : 0;
}

/* Shows the hint and the list, from item `first` + 1 on, below the text. */
static void showlist(lua_State *L, int base, int first) {
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  if (out == NULL)
    return;
  bool shown = lua_istable(L, base + SHOWN);
  if (lua_istable(L, base + LIST) && lua_rawlen(L, base + LIST) > 1)
    writelist(out, L, base + (shown ? SHOWN : LIST), first);
  if (lua_type(L, base + HINT) == LUA_TSTRING)
    fputs(lua_tostring(L, base + HINT), out);
  fclose(out);
  if (len > 0)
    clsh_editor_below(text, len);
  free(text);
}

/* Puts a text in place of the bytes from `first` to the cursor. */
static void replace(int first, const char *s) {
  if (first < 0 || first > rl_point ||
      ((int)strlen(s) == rl_point - first &&
       strncmp(s, rl_line_buffer + first, strlen(s)) == 0))
    return;
  rl_begin_undo_group();
  rl_delete_text(first, rl_point);
  rl_point = first;
  rl_insert_text(s);
  rl_end_undo_group();
}

/* Has the session list candidates; `complete` inserts their common part. */
static void offer(bool complete) {
  lua_State *L = clsh_editor.L;
  int base = lua_gettop(L);
  bool again = (rl_last_func == clsh_complete_tab ||
                rl_last_func == clsh_complete_list) &&
               rl_point == shownat;
  int first = again ? shownto : 0;
  shownto = 0;
  clsh_editor_push();
  lua_pushinteger(L, rl_point);
  if (!clsh_editor_ask("candidates", 2, 5))
    return;
  if (complete && lua_isinteger(L, base + FIRST)) {
    const char *s = NULL;
    if (lua_type(L, base + COMMON) == LUA_TSTRING)
      s = lua_tostring(L, base + COMMON);
    else if (lua_istable(L, base + LIST) && lua_rawlen(L, base + LIST) == 1)
      s = item(L, base + LIST, 1);
    if (s != NULL)
      replace((int)lua_tointeger(L, base + FIRST) - 1, s);
  }
  if (first >= (int)lua_rawlen(L, base + LIST))
    first = 0;
  showlist(L, base, first);
  shownat = rl_point;
  lua_settop(L, base);
}

/* Completes the word; before the text of a later line, indents the line. */
int clsh_complete_tab(int count, int key) {
  (void)count, (void)key;
  int at = rl_point;
  while (at > 0 && strchr(" \t", rl_line_buffer[at - 1]) != NULL)
    at--;
  if (at > 0 && rl_line_buffer[at - 1] == '\n')
    rl_insert_text(INDENT);
  else
    offer(true);
  return 0;
}

int clsh_complete_list(int count, int key) {
  (void)count, (void)key;
  offer(false);
  return 0;
}

/* Shows the help for the name at the cursor. */
int clsh_complete_help(int count, int key) {
  (void)count, (void)key;
  lua_State *L = clsh_editor.L;
  clsh_editor_push();
  lua_pushinteger(L, rl_point);
  if (!clsh_editor_ask("help", 2, 1))
    return 0;
  if (lua_type(L, -1) == LUA_TSTRING)
    clsh_draw_above(lua_tostring(L, -1));
  lua_pop(L, 1);
  clsh_editor.stale = true;
  return 0;
}
