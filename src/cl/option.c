/*
** option.c - options by name, and words out of a list. Unknown names raise
** and list the valid ones.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <string.h>

#include "object.h"

#define MOST 63 /* options of a function */

static bool listed(const char *word, const char *const names[]) {
  for (; *names != NULL; names++)
    if (strcmp(word, *names) == 0)
      return true;
  return false;
}

/*
** The place in `names` of the word of option or argument `name`, at stack
** index `idx`; nil stands for the first word.
*/
int clsh_option_word(lua_State *L, int idx, const char *const names[],
                     const char *name) {
  if (lua_isnoneornil(L, idx))
    return 0;
  if (lua_type(L, idx) != LUA_TSTRING)
    clsh_error(L, "%s: must be a string; got %s", name,
               clsh_class_name(L, idx));
  const char *word = lua_tostring(L, idx);
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp(word, names[i]) == 0)
      return i;
  return clsh_error(L, "%s: must be one of %s; got '%s'", name,
                    clsh_nearest_pushlist(L, names), word);
}

/* Whether the value at `arg` is an Event, or a span of several Events. */
static bool isevent(lua_State *L, int arg) {
  bool named = luaL_getmetafield(L, arg, "__name") == LUA_TSTRING;
  bool event = named && strncmp(lua_tostring(L, -1), "Event", 5) == 0;
  lua_pop(L, named ? 1 : 0);
  return event;
}

/*
** Checks that the table at `arg` holds only options in `names`. An unknown
** option raises with the nearest name. An Event there is the second result of
** the call in the argument before, as in gemm(A, gemm(B, C)): it becomes nil.
** Where `after` is the first option, the script may mean to wait for the
** Event: it raises.
*/
static void check(lua_State *L, int arg, const char *const names[],
                  const char *what) {
  if (isevent(L, arg) && strcmp(names[0], "after") != 0) {
    lua_pushnil(L);
    lua_replace(L, arg);
    return;
  }
  if (lua_type(L, arg) != LUA_TTABLE)
    clsh_error_arg(L, arg, "must be a table of options; got %s",
                   clsh_class_name(L, arg));
  for (lua_pushnil(L); lua_next(L, arg) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      clsh_error(L, "%s: names of options must be strings; got a %s key", what,
                 luaL_typename(L, -2));
    const char *word = lua_tostring(L, -2);
    if (listed(word, names))
      continue;
    const char *near = clsh_nearest(word, names);
    if (near != NULL)
      clsh_error(L, "%s: unknown option '%s'; did you mean '%s'?", what, word,
                 near);
    clsh_error(L, "%s: unknown option '%s'; there are: %s", what, word,
               clsh_nearest_pushlist(L, names));
  }
}

/* Checks the optional table at `arg`; `names` has blanks between the names. */
void clsh_option_check(lua_State *L, int arg, const char *names,
                       const char *what) {
  char text[256], *next;
  const char *list[MOST + 1] = {0};
  if (lua_isnoneornil(L, arg))
    return;
  assert(strlen(names) < sizeof text);
  strcpy(text, names);
  list[0] = strtok_r(text, " ", &next);
  for (int i = 0; i < MOST && list[i] != NULL; i++)
    list[i + 1] = strtok_r(NULL, " ", &next);
  check(L, lua_absindex(L, arg), list, what);
}

/* Pushes options[name]; nil where `opts` is nil. */
int clsh_option_push(lua_State *L, int opts, const char *name) {
  if (lua_isnil(L, opts)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  return lua_getfield(L, opts, name);
}

/* Whether the value at `idx` is a whole number >= `least`: sets `*n` to it. */
bool clsh_option_whole(lua_State *L, int idx, lua_Integer least, size_t *n) {
  int whole = 0;
  lua_Integer i = 0;
  if (lua_type(L, idx) == LUA_TNUMBER)
    i = lua_tointegerx(L, idx, &whole);
  if (!whole || i < least)
    return false;
  *n = (size_t)i;
  return true;
}

/* Pushes a number as text; for another value the name of its type. */
const char *clsh_option_got(lua_State *L, int idx) {
  if (lua_type(L, idx) == LUA_TNUMBER)
    return luaL_tolstring(L, idx, NULL);
  return lua_pushstring(L, clsh_class_name(L, idx));
}

/* The number >= 1 that option `name` gives, at stack index `idx`. */
size_t clsh_option_count(lua_State *L, int idx, const char *name) {
  size_t n = 0;
  if (!clsh_option_whole(L, idx, 1, &n))
    clsh_error(L, "%s: must be a whole number >= 1; got %s", name,
               clsh_option_got(L, idx));
  return n;
}

/* The number >= 1 in options[name], or `def`. */
size_t clsh_option_size(lua_State *L, int opts, const char *name, size_t def) {
  if (clsh_option_push(L, opts, name) != LUA_TNIL)
    def = clsh_option_count(L, -1, name);
  lua_pop(L, 1);
  return def;
}

/* The boolean options[name], or `def`. */
bool clsh_option_flag(lua_State *L, int opts, const char *name, bool def) {
  if (clsh_option_push(L, opts, name) != LUA_TNIL)
    def = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return def;
}

/** cl.options(t, names, what)
 * Raises if table `t` (or nil, or an Event) holds a key that is not in the
 * list of strings `names`; the message names `what` and the nearest option.
 * Example:
 * local ok, err = pcall(cl.options, {tyle = 16}, {"tile", "pad"}, "mine")
 * print(err) -- unknown option 'tyle'; did you mean 'tile'?
 */
static int cl_options(lua_State *L) {
  const char *names[MOST + 1];
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  if (n > MOST)
    return clsh_error_arg(L, 2, "must hold at most %d names; got %d", MOST,
                          (int)n);
  luaL_checkstack(L, (int)n + 8, "too many names");
  const char *what = luaL_checkstring(L, 3);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    names[i - 1] = luaL_checkstring(L, -1);
  }
  names[n] = NULL;
  if (!lua_isnoneornil(L, 1) && lua_type(L, 1) != LUA_TTABLE)
    return clsh_error(L, "%s: options must be a table%s%s%s; got %s", what,
                      n > 0 ? ", {" : "", n > 0 ? names[0] : "",
                      n > 0 ? " = ...}" : "", clsh_option_got(L, 1));
  if (!lua_isnoneornil(L, 1))
    check(L, 1, names, what);
  return 0;
}

void clsh_option_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"options", cl_options}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
