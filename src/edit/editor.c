/*
** editor.c - the state of the editor on readline, and how its text is shown:
** classes for colours, the pair of a bracket, lines below the text.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "editor.h"

#define MAXMASK 65536 /* bytes of a text that is highlighted */

Editor clsh_editor;

/* Pushes the text that is edited. */
void clsh_editor_push(void) {
  lua_pushlstring(clsh_editor.L, rl_line_buffer, (size_t)rl_end);
}

bool clsh_editor_ask(const char *name, int narg, int nres) {
  return clsh_statement_ask(clsh_editor.L, name, narg, nres);
}

/* Shows lines below the text, up to the next key; NULL: none. */
void clsh_editor_below(const char *text, size_t len) {
  free(clsh_editor.below);
  clsh_editor.below = text != NULL ? strndup(text, len) : NULL;
  clsh_editor.stale = true;
}

/* Marks bytes of the text, up to the next key. */
void clsh_editor_mark(int first, int end) {
  clsh_editor.mark[0] = first;
  clsh_editor.mark[1] = end;
  clsh_editor.stale = true;
}

/* Sets e->mask to the classes of the text's bytes; NULL: no colours. */
static void updatemask(Editor *e) {
  if (e->masked != NULL && strcmp(e->masked, rl_line_buffer) == 0)
    return;
  free(e->masked);
  free(e->mask);
  e->masked = strdup(rl_line_buffer);
  e->mask = NULL;
  if (rl_end > MAXMASK)
    return;
  clsh_editor_push();
  if (!clsh_editor_ask("mask", 1, 1))
    return;
  size_t len;
  const char *s =
      lua_type(e->L, -1) == LUA_TSTRING ? lua_tolstring(e->L, -1, &len) : NULL;
  if (s != NULL && len == (size_t)rl_end)
    e->mask = strdup(s);
  lua_pop(e->L, 1);
}

/* The bracket that pairs with the bracket at `at`; NOWHERE: none. */
static size_t findpair(const Editor *e, size_t at) {
  static const char brackets[] = "()[]{}";
  const char *s = rl_line_buffer;
  const char *found = s[at] != '\0' ? strchr(brackets, s[at]) : NULL;
  if (found == NULL || (e->mask != NULL && e->mask[at] != ' '))
    return NOWHERE;
  int k = (int)(found - brackets), step = k % 2 == 0 ? 1 : -1, depth = 0;
  for (int i = (int)at; i >= 0 && i < rl_end; i += step) {
    if (e->mask != NULL && e->mask[i] != ' ')
      continue;
    depth += s[i] == brackets[k] ? 1 : s[i] == brackets[k + step] ? -1 : 0;
    if (depth == 0)
      return (size_t)i;
  }
  return NOWHERE;
}

/* Adds a suggestion behind the text that is shown, in the grey of class c. */
static void suggest(View *v, const char *s) {
  static char *text, *mask;
  if (s == NULL || v->mask == NULL)
    return;
  size_t n = strlen(s);
  free(text);
  free(mask);
  text = malloc(v->len + n + 1);
  mask = malloc(v->len + n);
  if (text == NULL || mask == NULL)
    return;
  memcpy(text, v->text, v->len);
  memcpy(text + v->len, s, n + 1);
  memcpy(mask, v->mask, v->len);
  memset(mask + v->len, 'c', n);
  v->text = text;
  v->mask = mask;
  v->len += n;
}

static View viewtext(Editor *e) {
  updatemask(e);
  View v = {
      rl_line_buffer,     (size_t)rl_end,     (size_t)rl_point,   e->mask,
      {NOWHERE, NOWHERE}, (size_t)e->mark[0], (size_t)e->mark[1], e->below};
  for (int i = 0; i < 2 && e->mask != NULL && v.pair[0] == NOWHERE; i++) {
    if (rl_point < i)
      break;
    v.pair[1] = (size_t)(rl_point - i);
    v.pair[0] = findpair(e, v.pair[1]);
  }
  if (v.pair[0] == NOWHERE)
    v.pair[1] = NOWHERE;
  return v;
}

/* Shows the text, and behind it a suggestion; NULL: none. */
void clsh_editor_draw(const char *suggestion) {
  View v = viewtext(&clsh_editor);
  suggest(&v, suggestion);
  clsh_draw_view(&v);
  clsh_editor.stale = false;
}

/* Leaves the text on the screen; `tail` and a new line follow it. */
void clsh_editor_end(const char *tail) {
  View v = viewtext(&clsh_editor);
  clsh_draw_end(&v, tail);
}

/* Frees the texts that were shown: colours may change before the next text. */
void clsh_editor_forget(void) {
  clsh_editor_below(NULL, 0);
  clsh_editor_mark(0, 0);
  free(clsh_editor.masked);
  clsh_editor.masked = NULL;
}
