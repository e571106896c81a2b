/*
** recall.c - moves through the history. The typed text is its newest entry
** until it is entered. Changes to other entries last until then, whichever
** entry is visited next; the history itself does not change.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <readline/readline.h>

#include "editor.h"

#define MAXQUERY 256

/* A text as it was left. */
typedef struct Left {
  char *text; /* NULL: as the history has it */
  UNDO_LIST *undo;
  int point;
} Left;

static Left *left; /* size + 1 texts; NULL: no move so far */
static int size;   /* of the history; the place of the typed text */
static int place;  /* the entry that is edited */

static Keymap before;        /* the keymap before a search, or NULL */
static char query[MAXQUERY]; /* the text searched for */
static int origin;           /* the entry where the search began */
static bool lost;            /* nothing was found */
static char lastquery[MAXQUERY];

/* Pushes the list of entries, which the session keeps. */
static void pushentries(lua_State *L) {
  static const char ENTRIES = 0; /* a key by its address */
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &ENTRIES) == LUA_TTABLE)
    return;
  lua_pop(L, 1);
  if (!clsh_editor_ask("entries", 0, 1) || !lua_istable(L, -1))
    lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ENTRIES);
}

static int countentries(void) {
  pushentries(clsh_editor.L);
  int n = (int)lua_rawlen(clsh_editor.L, -1);
  lua_pop(clsh_editor.L, 1);
  return n;
}

/* The text of entry i, from 0; "": there is none. */
static const char *entry(int i) {
  lua_State *L = clsh_editor.L;
  pushentries(L);
  bool text = lua_rawgeti(L, -1, i + 1) == LUA_TSTRING;
  const char *s = text ? lua_tostring(L, -1) : "";
  lua_pop(L, 2);
  return s;
}

/* Gets ready to move; false: no memory. */
static bool ready(void) {
  if (left != NULL)
    return true;
  size = place = countentries();
  left = calloc((size_t)size + 1, sizeof *left);
  return left != NULL;
}

/* The statement is entered or dropped: forgets the changes to entries. */
void clsh_recall_end(void) {
  if (before != NULL)
    rl_set_keymap(before);
  before = NULL;
  if (left == NULL)
    return;
  UNDO_LIST *own = rl_undo_list;
  for (int i = 0; i <= size; i++) {
    free(left[i].text);
    rl_undo_list = left[i].undo;
    if (rl_undo_list != NULL)
      rl_free_undo_list();
  }
  rl_undo_list = own;
  free(left);
  left = NULL;
}

static const char *textat(int i) {
  if (i == place)
    return rl_line_buffer;
  return left[i].text != NULL ? left[i].text : entry(i);
}

/* Edits another entry, the cursor at its end or where it was left. */
static void visit(int to) {
  assert(left != NULL && to >= 0 && to <= size);
  Left *l = &left[place];
  char *copy = strdup(rl_line_buffer);
  if (copy == NULL || to == place) {
    free(copy);
    return;
  }
  free(l->text);
  *l = (Left){copy, rl_undo_list, rl_point};
  rl_undo_list = NULL;
  rl_replace_line(textat(to), 0);
  rl_point = left[to].text != NULL ? left[to].point : rl_end;
  rl_undo_list = left[to].undo;
  left[to].undo = NULL;
  place = to;
}

bool clsh_recall_back(void) {
  if (!ready() || place == 0)
    return false;
  visit(place - 1);
  return true;
}

bool clsh_recall_forward(void) {
  if (!ready() || place == size)
    return false;
  visit(place + 1);
  return true;
}

/* Visits the next entry that begins as the text does up to the cursor. */
static void prefix(int step) {
  if (!ready())
    return;
  size_t n = (size_t)rl_point;
  for (int i = place + step; i >= 0 && i <= size; i += step) {
    const char *s = textat(i);
    if (strncmp(s, rl_line_buffer, n) != 0 || strcmp(s, rl_line_buffer) == 0)
      continue;
    visit(i);
    rl_point = n > 0 ? (int)n : rl_end;
    return;
  }
}

int clsh_recall_prefixback(int count, int key) {
  (void)count, (void)key;
  prefix(-1);
  return 0;
}

int clsh_recall_prefixforward(int count, int key) {
  (void)count, (void)key;
  prefix(1);
  return 0;
}

/*
** The rest of the newest entry that begins as the text does, with the cursor
** at its end, where the session wants such suggestions; NULL: none.
*/
const char *clsh_recall_suggestion(void) {
  if (rl_end == 0 || rl_point < rl_end || before != NULL ||
      !clsh_editor_ask("suggests", 0, 1))
    return NULL;
  bool wanted = lua_toboolean(clsh_editor.L, -1);
  lua_pop(clsh_editor.L, 1);
  for (int i = wanted ? countentries() - 1 : -1; i >= 0; i--) {
    const char *s = entry(i);
    if (strncmp(s, rl_line_buffer, (size_t)rl_end) == 0 && s[rl_end] != '\0')
      return s + rl_end;
  }
  return NULL;
}

/* Puts the suggestion into the text; false: there is none. */
bool clsh_recall_accept(void) {
  const char *s = clsh_recall_suggestion();
  if (s != NULL)
    rl_insert_text(s);
  return s != NULL;
}

/* Pushes the last argument of entry i; false: none. */
static bool pushargument(lua_State *L, int i) {
  lua_pushstring(L, entry(i));
  if (!clsh_editor_ask("argument", 1, 1))
    return false;
  if (lua_type(L, -1) == LUA_TSTRING && lua_rawlen(L, -1) > 0)
    return true;
  lua_pop(L, 1);
  return false;
}

/* Inserts the last argument of an entry: each time of an older entry. */
int clsh_recall_argument(int count, int key) {
  static int at;
  (void)count, (void)key;
  lua_State *L = clsh_editor.L;
  bool again = rl_last_func == clsh_recall_argument;
  int i = (again ? at : countentries()) - 1;
  while (i >= 0 && !pushargument(L, i))
    i--;
  if (i < 0)
    return rl_ding();
  if (again)
    rl_do_undo();
  rl_insert_text(lua_tostring(L, -1));
  lua_pop(L, 1);
  at = i;
  return 0;
}

/* Finds the query in a text; case counts only if the query has capitals. */
static const char *findquery(const char *text) {
  for (const char *s = query; *s != '\0'; s++)
    if (isupper((unsigned char)*s))
      return strstr(text, query);
  return strcasestr(text, query);
}

static void showsearch(void) {
  char line[MAXQUERY + 64];
  const char *found = lost ? NULL : findquery(rl_line_buffer);
  int n = snprintf(line, sizeof line, "search: %s%s", query,
                   lost ? "  (not found)" : "");
  clsh_editor_below(line, (size_t)n);
  if (found != NULL) {
    rl_point = (int)(found - rl_line_buffer);
    clsh_editor_mark(rl_point, rl_point + (int)strlen(query));
  }
}

/* Visits the next entry with the query, from `at` on. */
static void search(int at, int step) {
  lost = *query != '\0';
  for (int i = at; lost && i >= 0 && i <= size; i += step) {
    if (findquery(textat(i)) == NULL)
      continue;
    lost = false;
    visit(i);
  }
  showsearch();
}

/* Searches on, past entries with the same text. */
static void searchon(int step) {
  int at = place + step;
  if (*query == '\0')
    strcpy(query, lastquery);
  while (at >= 0 && at <= size && strcmp(textat(at), rl_line_buffer) == 0)
    at += step;
  search(at, step);
}

static int searchback(int count, int key) {
  (void)count, (void)key;
  searchon(-1);
  return 0;
}

static int searchforward(int count, int key) {
  (void)count, (void)key;
  searchon(1);
  return 0;
}

static int searchtype(int count, int key) {
  (void)count;
  size_t n = strlen(query);
  if (n + 1 < sizeof query) {
    query[n] = (char)key;
    query[n + 1] = '\0';
  }
  search(place, -1);
  return 0;
}

static int searchdelete(int count, int key) {
  (void)count, (void)key;
  size_t n = strlen(query);
  while (n > 0 && ((unsigned char)query[--n] & 0xC0) == 0x80) {
  }
  query[n] = '\0';
  visit(origin);
  search(origin, -1);
  return 0;
}

static void searchend(void) {
  if (*query != '\0')
    strcpy(lastquery, query);
  rl_set_keymap(before);
  before = NULL;
  clsh_editor.stale = true;
}

static int searchabort(int count, int key) {
  (void)count, (void)key;
  visit(origin);
  searchend();
  return 0;
}

/* Any other key ends the search and keeps its function. */
static int searchaccept(int count, int key) {
  (void)count;
  searchend();
  rl_execute_next(key);
  return 0;
}

static Keymap searchmap(void) {
  static Keymap map;
  if (map != NULL)
    return map;
  map = rl_make_bare_keymap();
  for (int c = 0; c < KEYMAP_SIZE - 1; c++)
    rl_bind_key_in_map(c, c < ' ' ? searchaccept : searchtype, map);
  rl_bind_key_in_map(CTRL('R'), searchback, map);
  rl_bind_key_in_map(CTRL('S'), searchforward, map);
  rl_bind_key_in_map(CTRL('G'), searchabort, map);
  rl_bind_key_in_map(CTRL('H'), searchdelete, map);
  rl_bind_key_in_map(RUBOUT, searchdelete, map);
  return map;
}

int clsh_recall_search(int count, int key) {
  (void)count, (void)key;
  if (!ready())
    return 0;
  before = rl_get_keymap();
  origin = place;
  *query = '\0';
  lost = false;
  rl_set_keymap(searchmap());
  showsearch();
  return 0;
}
