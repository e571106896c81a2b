/*
** buildlog.c - a compiler's log, with the user's file name, the source line
** and a caret. Every driver names the source differently; what they share
** is `:line:column:`.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define MAXSHOWN 8 /* diagnostics; the whole log is in e.log */

typedef struct Place {
  const char *head; /* of the log line up to the place: file or severity */
  size_t headlen;
  long line, column;
  const char *text; /* after the place */
  size_t textlen;
} Place;

/* Finds `:line:column:` in a log line of n bytes. */
static bool findplace(const char *s, size_t n, Place *p) {
  for (size_t i = 0; i + 4 < n; i++) {
    char *end;
    if (s[i] != ':' || !isdigit((unsigned char)s[i + 1]))
      continue;
    p->line = strtol(s + i + 1, &end, 10);
    if (*end != ':' || !isdigit((unsigned char)end[1]))
      continue;
    p->column = strtol(end + 1, &end, 10);
    if (*end != ':' || end >= s + n)
      continue;
    p->head = s;
    p->headlen = i;
    p->text = end + 1 + strspn(end + 1, " ");
    p->textlen = p->text < s + n ? (size_t)(s + n - p->text) : 0;
    return true;
  }
  return false;
}

/* The severity a log line tells, before or after the place. */
static const char *severity(const Place *p) {
  static const char *const names[] = {"error", "warning", "note"};
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(names[i]);
    if ((p->headlen >= n && memcmp(p->head, names[i], n) == 0) ||
        (p->textlen >= n && memcmp(p->text, names[i], n) == 0))
      return names[i];
  }
  return "error";
}

/*
** Whether a place lies in a file the source includes: its name's last part
** occurs in the source text, as it must in the #include.
*/
static bool included(const Place *p, const char *source) {
  char base[128];
  size_t i = p->headlen;
  while (i > 0 && p->head[i - 1] != '/' && p->head[i - 1] != ' ')
    i--;
  size_t n = p->headlen - i;
  if (n == 0 || n >= sizeof base)
    return false;
  memcpy(base, p->head + i, n);
  base[n] = '\0';
  return strchr(base, '.') != NULL && strstr(source, base) != NULL;
}

/* Adds line `n` of the source with a caret under column `column`. */
static void addexcerpt(luaL_Buffer *b, const char *source, long n,
                       long column) {
  char number[32];
  for (long i = 1; i < n && source != NULL; i++) {
    source = strchr(source, '\n');
    source = source != NULL ? source + 1 : NULL;
  }
  if (source == NULL)
    return;
  size_t len = strcspn(source, "\r\n");
  snprintf(number, sizeof number, "\n%6ld | ", n);
  luaL_addstring(b, number);
  luaL_addlstring(b, source, len);
  luaL_addstring(b, "\n       | ");
  for (long i = 0; i + 1 < column && (size_t)i < len; i++)
    luaL_addchar(b, source[i] == '\t' ? '\t' : ' ');
  luaL_addchar(b, '^');
}

static void addplace(luaL_Buffer *b, const Place *p, const char *source,
                     const char *file) {
  char number[64];
  const char *kind = severity(p);
  size_t n = strlen(kind);
  const char *text = p->text;
  size_t len = p->textlen;
  if (len > n && memcmp(text, kind, n) == 0) { /* "error: text" */
    size_t skip = n + strspn(text + n, ": ");
    text += skip < len ? skip : len;
    len -= skip < len ? skip : len;
  }
  bool own = !included(p, source);
  luaL_addchar(b, '\n');
  if (own)
    luaL_addstring(b, file);
  else
    luaL_addlstring(b, p->head, p->headlen);
  snprintf(number, sizeof number, ":%ld:%ld: %s: ", p->line, p->column, kind);
  luaL_addstring(b, number);
  luaL_addlstring(b, text, len);
  if (own)
    addexcerpt(b, source, p->line, p->column);
}

/*
** Pushes the readable form of a build log: each diagnostic begins on a new
** line. A log without any place is pushed as it is.
*/
static void pushreadable(lua_State *L, const char *log, const char *source,
                         const char *file) {
  int shown = 0, more = 0;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (const char *s = log; *s != '\0';) {
    Place p;
    size_t n = strcspn(s, "\n");
    if (findplace(s, n, &p)) {
      if (shown++ < MAXSHOWN)
        addplace(&b, &p, source, file);
      else
        more++;
    }
    s += n + (s[n] == '\n');
  }
  if (shown == 0) {
    luaL_addchar(&b, '\n');
    luaL_addstring(&b, log);
  }
  if (more > 0) {
    char text[64];
    snprintf(text, sizeof text, "\n... and %d more; all of it is in e.log",
             more);
    luaL_addstring(&b, text);
  }
  luaL_pushresult(&b);
}

/* Pushes the driver's build log, without white space at its end. */
void clsh_pushdriverlog(lua_State *L, cl_program p, cl_device_id d) {
  size_t size = 0;
  clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *text = lua_newuserdatauv(L, size + 1, 0);
  memset(text, 0, size + 1);
  clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  size_t n = strlen(text);
  while (n > 0 && isspace((unsigned char)text[n - 1]))
    n--;
  lua_pushlstring(L, text, n);
  lua_remove(L, -2);
}

/* Raises for a build that failed; log and options are strings. */
void clsh_buildfailed(lua_State *L, cl_int err, const char *log,
                      const char *options, const char *source,
                      const char *name) {
  pushreadable(L, log, source, name);
  lua_pushfstring(L, "clBuildProgram: %s (%d): %s with options \"%s\"%s",
                  clsh_errorname(err), (int)err, name, options,
                  lua_tostring(L, -1));
  clsh_pusherror(L, err, "clBuildProgram", lua_tostring(L, -1));
  lua_pushstring(L, log);
  lua_setfield(L, -2, "log");
  lua_error(L);
}
