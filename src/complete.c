/*
** complete.c - Tab at the prompt: names of globals, fields and methods.
** Tables are read raw and objects of module `cl` by their declared names:
** pressing Tab never runs the user's code and never asks a device.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <string.h>

#include "clshell.h"
#include "repl.h"

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

static const char MEMBERSKEY = 0; /* a key by its address */

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

/* Makes the list of candidates. */
static void collect(lua_State *L, Request *r) {
  bool methods = r->headlen > 0 && r->head[r->headlen - 1] == ':';
  lua_newtable(L);
  r->list = lua_gettop(L);
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
}

/* Pushes what the strings of a list begin with, or nil. */
static void pushcommon(lua_State *L, int list) {
  size_t n = 0;
  const char *common = NULL;
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) == LUA_TSTRING; i++) {
    const char *s = lua_tostring(L, -1);
    if (common == NULL) {
      common = s;
      n = strlen(s);
    }
    for (size_t k = 0; k < n; k++)
      if (s[k] != common[k])
        n = k;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (common == NULL)
    lua_pushnil(L);
  else
    lua_pushlstring(L, common, n);
}

/*
** candidates(text, cursor) -> first, list, nil, common: what may stand instead
*of the
** bytes from `first` to the cursor.
*/
static int candidates(lua_State *L) {
  size_t len;
  const char *s = luaL_checklstring(L, 1, &len);
  size_t end = (size_t)luaL_checkinteger(L, 2);
  luaL_argcheck(L, end <= len, 2, "not in the text");
  lua_pushlstring(L, s, end);
  s = lua_tostring(L, -1);
  size_t start = end;
  while (start > 0 &&
         (isalnum((unsigned char)s[start - 1]) || s[start - 1] == '_'))
    start--;
  size_t head = start;
  while (head > 0 && (isalnum((unsigned char)s[head - 1]) ||
                      strchr("_.:", s[head - 1]) != NULL))
    head--;
  if (start >= 2 && s[start - 1] == '.' && s[start - 2] == '.')
    head = start; /* a concatenation */
  Request r = {s + head, start - head, s + start, 0};
  collect(L, &r);
  lua_pushinteger(L, (lua_Integer)start + 1);
  lua_pushvalue(L, r.list);
  lua_pushnil(L);
  pushcommon(L, r.list);
  return 4;
}

/* Pushes the function that the editor asks for completions. */
void clsh_pushcandidates(lua_State *L) {
  lua_getglobal(L, "cl");
  lua_getfield(L, -1, "members");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &MEMBERSKEY);
  lua_pop(L, 1);
  lua_pushcfunction(L, candidates);
}
