/*
** complete.c - keys that ask: Tab completes what is before the cursor and
** lists what could be meant, until the next key; F1 explains it.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "draw.h"
#include "edit.h"

#define INDENT "  "

/* The answer to `candidates`, at these places of the stack. */
#define FIRST 1
#define LIST 2
#define HINT 3
#define COMMON 4
#define SHOWN 5

static int columnsof(const char *s) {
  int columns = 0;
  for (size_t left = strlen(s), k; left > 0; s += k, left -= k) {
    int width = clsh_charwidth(s, left, &k);
    columns += width < 0 ? 4 : width;
  }
  return columns;
}

/* The i-th of a list of strings, which is on the stack; "" for others. */
static const char *item(lua_State *L, int t, lua_Integer i) {
  const char *s =
      lua_rawgeti(L, t, i) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return s;
}

/* Writes a list in columns, top to bottom; what has no room is counted. */
static void writelist(FILE *out, lua_State *L, int t) {
  int widest = 1, n = (int)lua_rawlen(L, t);
  for (int i = 1; i <= n; i++) {
    int width = columnsof(item(L, t, i));
    widest = width > widest ? width : widest;
  }
  int most = clsh_drawrows() / 2 > 1 ? clsh_drawrows() / 2 - 1 : 1;
  int across = clsh_drawcolumns() / (widest + 2);
  across = across < 1 ? 1 : across;
  int rows = (n + across - 1) / across;
  int shown = rows > most ? most : rows;
  for (int r = 0; r < shown; r++) {
    for (int i = r + 1; i <= n && i <= shown * across; i += shown) {
      const char *s = item(L, t, i);
      fprintf(out, "%s%*s", s, widest + 2 - columnsof(s), "");
    }
    putc('\n', out);
  }
  if (n > shown * across)
    fprintf(out, "and %d more\n", n - shown * across);
}

/* Shows the candidates, and the hint, below the text. */
static void showlist(lua_State *L, int base) {
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  if (out == NULL)
    return;
  bool shown = lua_istable(L, base + SHOWN);
  if (lua_istable(L, base + LIST) && lua_rawlen(L, base + LIST) > 1)
    writelist(out, L, base + (shown ? SHOWN : LIST));
  if (lua_type(L, base + HINT) == LUA_TSTRING)
    fputs(lua_tostring(L, base + HINT), out);
  fclose(out);
  if (len > 0)
    clsh_editbelow(text, len);
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

static void ask(bool complete) {
  lua_State *L = clsh_editstate();
  int base = lua_gettop(L);
  clsh_editpush();
  lua_pushinteger(L, rl_point);
  if (!clsh_editask("candidates", 2, 5))
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
  showlist(L, base);
  lua_settop(L, base);
}

/* Completes; between the beginning of a later line and its text, indents. */
static int tab(int count, int key) {
  (void)count, (void)key;
  int at = rl_point;
  while (at > 0 && strchr(" \t", rl_line_buffer[at - 1]) != NULL)
    at--;
  if (at > 0 && rl_line_buffer[at - 1] == '\n')
    rl_insert_text(INDENT);
  else
    ask(true);
  return 0;
}

static int list(int count, int key) {
  (void)count, (void)key;
  ask(false);
  return 0;
}

static int help(int count, int key) {
  (void)count, (void)key;
  lua_State *L = clsh_editstate();
  clsh_editpush();
  lua_pushinteger(L, rl_point);
  if (!clsh_editask("help", 2, 1))
    return 0;
  if (lua_type(L, -1) == LUA_TSTRING)
    clsh_drawabove(lua_tostring(L, -1));
  lua_pop(L, 1);
  clsh_editstale();
  return 0;
}

void clsh_bindtab(void) {
  static const char *const f1[] = {"\\eOP", "\\e[11~", "\\e[[A"};
  clsh_replacekey(rl_complete, tab);
  clsh_replacekey(rl_menu_complete, tab);
  clsh_replacekey(rl_backward_menu_complete, tab);
  clsh_replacekey(rl_insert_completions, tab);
  clsh_replacekey(rl_possible_completions, list);
  for (size_t i = 0; i < sizeof f1 / sizeof *f1; i++)
    clsh_addkey(f1[i], help);
}
