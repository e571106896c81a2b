/*
** nearest.c - lists of names: as text, and the name nearest to a mistyped
** word.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "object.h"

#define MAXWORD 62

static int least(int a, int b) {
  return a < b ? a : b;
}

static bool same(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
** Edit distance of two short words, letter case aside. Two letters that
** changed places count once (optimal string alignment).
*/
static int distance(const char *a, const char *b) {
  int rows[3][MAXWORD + 1];
  int n = (int)strlen(b);
  if (n > MAXWORD || strlen(a) > MAXWORD)
    return INT_MAX;
  for (int j = 0; j <= n; j++)
    rows[0][j] = j;
  int i = 1;
  for (; a[i - 1] != '\0'; i++) {
    int *row = rows[i % 3];
    const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      row[j] = least(last[j - 1] + !same(a[i - 1], b[j - 1]),
                     least(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
          same(a[i - 2], b[j - 1]))
        row[j] = least(row[j], before[j - 2] + 1);
    }
  }
  return rows[(i + 2) % 3][n];
}

/*
** The edits from a word to a name, or INT_MAX. In a word as short as `at` no
** letter may be another: `as` is not near. Of longer words half of the letters
** stay: `lt` is not near to `std`.
*/
static int away(const char *word, const char *name) {
  int d = distance(word, name);
  int n = (int)strlen(word), m = (int)strlen(name);
  return (d > 0 && n < 3 && m == n) || d > (n > m ? n : m) / 2 ? INT_MAX : d;
}

/* The most edits to a name that is near; 0 for a long word: no name is. */
static int most(const char *word) {
  size_t n = strlen(word);
  return n > MAXWORD ? 0 : (int)n / 3 + 1;
}

/* The name of the NULL-ended list nearest to `word`; NULL if none is near. */
const char *clsh_nearest(const char *word, const char *const names[]) {
  const char *best = NULL;
  int limit = most(word);
  for (; *names != NULL; names++) {
    int d = away(word, *names);
    if (d <= limit) {
      limit = d - 1;
      best = *names;
    }
  }
  return best;
}

/* Pushes the names of the NULL-ended list: "a, b, c". */
const char *clsh_nearest_pushlist(lua_State *L, const char *const names[]) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; names[i] != NULL; i++) {
    luaL_addstring(&b, i == 0 ? "" : ", ");
    luaL_addstring(&b, names[i]);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/** cl.nearest(word, names [, most]) -> string or nil
 * The name of the list nearest to `word`, or nil. A near name is within `most`
 * edits, by default a third of the word's letters and one, and at most half of
 * the letters of the longer of the two. To a word of one or two letters no
 * other word of the same length is near.
 * Example: print(cl.nearest("doubles", {"float", "double", "int"})) --> double
 */
static int cl_nearest(lua_State *L) {
  const char *word = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer limit = luaL_optinteger(L, 3, most(word));
  limit = limit > MAXWORD ? MAXWORD : limit;
  lua_settop(L, 2);
  lua_pushnil(L); /* the best at 3 */
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
    int d = away(word, lua_tostring(L, -1));
    if (d <= limit) {
      limit = d - 1;
      lua_replace(L, 3);
    }
    lua_settop(L, 3);
  }
  lua_settop(L, 3);
  return 1;
}

void clsh_nearest_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"nearest", cl_nearest}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
