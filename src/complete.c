/*
** complete.c - Tab at the prompt: names of globals, fields and methods.
** Tables are read raw and objects of module `cl` by their declared names:
** pressing Tab never runs the user's code and never asks a device.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "clshell.h"
#include "repl.h"

#define BREAKS " \t\n\"'`=<>;,+-*/%^~#{}()[]|&@.:"
#define MAXDEPTH 8 /* of __index chains */

static const char *const keywords[] = {
    "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while", NULL};

/* A completion under way; `list` is the stack index of the candidates. */
typedef struct Request {
  const char *head; /* what the name belongs to, "a.b:" or "" */
  size_t headlen;
  const char *text; /* the beginning of the name */
  int list;
} Request;

static lua_State *state; /* readline's callbacks get no argument for it */
static const char LISTKEY = 0, MEMBERSKEY = 0; /* keys by their address */

/* Adds a name to the list if it is one and begins as it should. */
static void offer(lua_State *L, const Request *r, const char *name) {
  if (strncmp(name, r->text, strlen(r->text)) != 0 || *name == '\0' ||
      isdigit((unsigned char)*name))
    return;
  for (const char *s = name; *s != '\0'; s++)
    if (!isalnum((unsigned char)*s) && *s != '_')
      return;
  lua_pushstring(L, name);
  lua_rawseti(L, r->list, (lua_Integer)lua_rawlen(L, r->list) + 1);
}

/* Replaces the value on the top by its metatable's __index, if a table. */
static bool toindex(lua_State *L) {
  if (!lua_getmetatable(L, -1))
    return false;
  lua_pushliteral(L, "__index");
  lua_rawget(L, -2);
  lua_replace(L, -3);
  lua_pop(L, 1);
  return lua_type(L, -1) == LUA_TTABLE;
}

/* Replaces the value on the top by its field `name`, or by nil. */
static void getfield(lua_State *L, const char *name, size_t len) {
  for (int depth = 0; depth < MAXDEPTH; depth++) {
    if (lua_type(L, -1) == LUA_TTABLE) {
      lua_pushlstring(L, name, len);
      if (lua_rawget(L, -2) != LUA_TNIL) {
        lua_replace(L, -2);
        return;
      }
      lua_pop(L, 1);
    }
    if (!toindex(L))
      break;
  }
  lua_pop(L, 1);
  lua_pushnil(L);
}

/* Pushes what `head` names. */
static void pushowner(lua_State *L, const Request *r) {
  const char *s = r->head;
  const char *end = s + r->headlen;
  lua_pushglobaltable(L);
  while (s < end) {
    size_t n = strcspn(s, ".:");
    getfield(L, s, n);
    s += n + 1;
  }
}

static bool iscallable(lua_State *L, int idx) {
  if (lua_isfunction(L, idx))
    return true;
  if (!lua_getmetatable(L, idx))
    return false;
  lua_pushliteral(L, "__call");
  bool yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

/* Offers the keys of the table on the top. */
static void offerkeys(lua_State *L, const Request *r, bool methods) {
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING && (!methods || iscallable(L, -1)))
      offer(L, r, lua_tostring(L, -2));
}

/* Offers the strings of the list on the top, and pops it. */
static void offerlist(lua_State *L, const Request *r) {
  if (lua_type(L, -1) == LUA_TTABLE) {
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
      offer(L, r, lua_tostring(L, -1));
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Offers the methods and fields of the value on the top. */
static void offermembers(lua_State *L, const Request *r, bool methods) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &MEMBERSKEY);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 2);
  if (methods)
    lua_pop(L, 1);
  else
    offerlist(L, r);
  offerlist(L, r);
}

/* Fills the registry's list of candidates; runs in protected mode. */
static int collect(lua_State *L) {
  Request *r = lua_touserdata(L, 1);
  bool methods = r->headlen > 0 && r->head[r->headlen - 1] == ':';
  lua_newtable(L);
  r->list = lua_gettop(L);
  lua_pushvalue(L, r->list);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &LISTKEY);
  for (int i = 0; r->headlen == 0 && keywords[i] != NULL; i++)
    offer(L, r, keywords[i]);
  pushowner(L, r);
  if (lua_type(L, -1) == LUA_TUSERDATA)
    offermembers(L, r, methods);
  for (int depth = 0; depth < MAXDEPTH; depth++) {
    if (lua_type(L, -1) == LUA_TTABLE)
      offerkeys(L, r, methods);
    if (!toindex(L))
      break;
  }
  return 0;
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
  (void)end;
  if (rl_completion_quote_character != '\0')
    return NULL;
  rl_attempted_completion_over = 1;
  rl_completion_append_character = '\0';
  const char *s = rl_line_buffer;
  int head = start;
  while (head > 0 && (isalnum((unsigned char)s[head - 1]) ||
                      strchr("_.:", s[head - 1]) != NULL))
    head--;
  if (start >= 2 && s[start - 1] == '.' && s[start - 2] == '.')
    head = start; /* a concatenation */
  Request r = {s + head, (size_t)(start - head), text, 0};
  lua_pushcfunction(state, collect);
  lua_pushlightuserdata(state, &r);
  if (lua_pcall(state, 1, 0, 0) != LUA_OK) {
    lua_pop(state, 1);
    return NULL;
  }
  return rl_completion_matches(text, nextmatch);
}

void clsh_opencomplete(lua_State *L) {
  state = L;
  lua_getglobal(L, "cl");
  lua_getfield(L, -1, "members");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &MEMBERSKEY);
  lua_pop(L, 1);
  rl_completer_word_break_characters = BREAKS;
  rl_completer_quote_characters = "\"'";
  rl_attempted_completion_function = complete;
}
