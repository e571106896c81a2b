/*
** source.c - the input of a compiler: the text of a program and its options,
** and the files of the text with a hash of their content.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "program.h"

#define MAXDEPTH 32    /* of files that include files */
#define QUOTED "-I \"" /* an option for a folder with a blank */
#define ONCE "#pragma once"
#define BLANKS " \t'\\" /* characters of a path that drivers fail at */
#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

/* Moves the value at the top to the end of the list at `list`. */
void clsh_source_append(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* Pushes the bytes of a file; false if it cannot be read. */
static bool pushfile(lua_State *L, const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return false;
  char *p = lua_newuserdatauv(L, (size_t)st.st_size + 1, 0);
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    lua_pop(L, 1);
    return false;
  }
  size_t n = fread(p, 1, (size_t)st.st_size, f);
  fclose(f);
  lua_pushlstring(L, p, n);
  lua_remove(L, -2);
  return true;
}

/* Pushes the folder of the Lua file that called, with its slash; or "". */
static void pushcallerdir(lua_State *L) {
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (ar.source[0] != '@')
      continue;
    const char *slash = strrchr(ar.source, '/');
    if (slash == NULL)
      break;
    lua_pushlstring(L, ar.source + 1, (size_t)(slash - ar.source));
    return;
  }
  lua_pushliteral(L, "");
}

/*
** Pushes the text of a kernel file and the path where it was found: as
** named, beside the calling script, or below the folder of kernels.
*/
void clsh_source_push(lua_State *L, const char *path) {
  int top = lua_gettop(L);
  const char *places[3] = {path, path, path};
  if (path[0] != '/') {
    pushcallerdir(L);
    places[1] = lua_pushfstring(L, "%s%s", lua_tostring(L, -1), path);
    if (lua_getfield(L, LUA_REGISTRYINDEX, CLSHELL_KERNELS) == LUA_TSTRING)
      places[2] = lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), path);
  }
  lua_pushstring(L, path); /* the places, each once */
  for (int i = 0; i < 3; i++) {
    bool again = i > 0 && strcmp(places[i], path) == 0;
    if (!again && pushfile(L, places[i])) {
      lua_pushstring(L, places[i]);
      lua_rotate(L, top + 1, 2);
      lua_settop(L, top + 2);
      return;
    }
    if (i > 0 && !again)
      lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), places[i]);
  }
  clsh_error(L, "no kernel file '%s'; looked for %s", path,
             lua_tostring(L, -1));
}

/* Raises where the compiler would see only a part of the string at the top. */
static const char *checkzeros(lua_State *L, const char *name) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  if (strlen(text) != len)
    clsh_error(L, "%s must hold no zero byte; got one after '%s'", name, text);
  return text;
}

static int lineof(const char *text, const char *place) {
  int line = 1;
  for (const char *s = text; s < place; s++)
    line += *s == '\n';
  return line;
}

/* Raises where the compiler would drop the rest of the text at `idx`, and
** where the text defines a name that makes drivers overrun their memory. */
void clsh_source_check(lua_State *L, int idx, const char *name) {
  size_t len;
  const char *text = lua_tolstring(L, idx, &len);
  const char *zero = text + strlen(text);
  if (zero != text + len)
    clsh_error(L,
               "%s:%d: the source has a zero byte, at byte %I; OpenCL C is "
               "plain text",
               name, lineof(text, zero), (LUAI_UACINT)(zero - text + 1));
  for (const char *s = text; *s != '\0';) {
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
      n++;
    if (n > MAXKERNELNAME && s[n + strspn(s + n, " \t\r\n")] == '(')
      clsh_error(L, "%s:%d: a kernel's name may have %d letters; got %d", name,
                 lineof(text, s), MAXKERNELNAME, (int)n);
    s += n > 0 ? n : 1;
  }
}

/* Raises where the last option lacks its value: drivers crash. */
static void checklast(lua_State *L, const char *options) {
  size_t n = strlen(options);
  while (n > 0 && isspace((unsigned char)options[n - 1]))
    n--;
  size_t first = n;
  while (first > 0 && !isspace((unsigned char)options[first - 1]))
    first--;
  if (n - first == 2 && (strncmp(options + first, "-D", 2) == 0 ||
                         strncmp(options + first, "-I", 2) == 0))
    clsh_error(L, "the last option, %s, must have a value; got '%s'",
               lua_pushlstring(L, options + first, 2), options);
}

/* Moves the string at the top to the end of the options at `options`. */
static void addoption(lua_State *L, int options) {
  lua_pushfstring(L, "%s %s", lua_tostring(L, options), lua_tostring(L, -1));
  lua_replace(L, options);
  lua_pop(L, 1);
}

/* Pushes a path that stays right when the process changes its folder. */
static const char *pushfull(lua_State *L, const char *path) {
  char cwd[4096];
  if (*path == '/' || getcwd(cwd, sizeof cwd) == NULL)
    return lua_pushstring(L, path);
  while (strncmp(path, "./", 2) == 0)
    path += 2 + strspn(path + 2, "/");
  return lua_pushfstring(L, "%s/%s", cwd, path);
}

static void addinclude(lua_State *L, int options, const char *dir) {
  dir = pushfull(L, dir);
  if (strchr(dir, '"') != NULL)
    clsh_error(L,
               "include: a folder's path must have no quotation mark, as "
               "drivers fail at it; got '%s'",
               dir);
  bool plain = strpbrk(dir, BLANKS) == NULL;
  lua_pushfstring(L, plain ? "-I %s" : QUOTED "%s\"", dir);
  lua_remove(L, -2);
  addoption(L, options);
}

/* Adds the folder of the source, which only its own #includes need. */
static void addownfolder(lua_State *L, int options, const char *source,
                         const char *path) {
  const char *slash = strrchr(path, '/');
  if (strstr(source, "#include") == NULL)
    return;
  if (slash != NULL) {
    lua_pushlstring(L, path, (size_t)(slash - path + 1));
    addinclude(L, options, lua_tostring(L, -1));
    lua_pop(L, 1);
  } else if (access(path, R_OK) == 0) {
    addinclude(L, options, "./");
  }
}

/* Adds {include = "dir"} or {include = {"a", "b"}}. */
static void addincludes(lua_State *L, int options, int opts) {
  int type = lua_getfield(L, opts, "include");
  if (type == LUA_TSTRING)
    addinclude(L, options, checkzeros(L, "include"));
  else if (type == LUA_TTABLE)
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1); i++) {
      if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
        clsh_error(L, "include: folder %d must be a string; got a %s", (int)i,
                   luaL_typename(L, -1));
      addinclude(L, options, checkzeros(L, "include"));
      lua_pop(L, 1);
    }
  else if (type != LUA_TNIL)
    clsh_error(L, "include must be a folder or a list of folders; got a %s",
               luaL_typename(L, -1));
  lua_pop(L, 1);
}

/* Whether a text names a macro: `N`, or `F(x)` with parameters. */
static bool ismacro(const char *name) {
  size_t n = strspn(name, WORD), len = strlen(name);
  return n > 0 && !isdigit((unsigned char)name[0]) &&
         (n == len || (name[n] == '(' && name[len - 1] == ')'));
}

/* Pushes a number as OpenCL C spells it. */
static void pushnumber(lua_State *L, int idx) {
  double x = lua_tonumber(L, idx);
  if (isfinite(x))
    luaL_tolstring(L, idx, NULL);
  else
    lua_pushstring(L, isnan(x) ? "NAN" : x > 0 ? "INFINITY" : "-INFINITY");
}

/*
** Pushes the line of the source that defines the key and value at the top two
** places: drivers split options at blanks, each quotes them in its own way,
** and an option reaches into the driver's own headers. False: nothing is to
** be defined.
*/
static bool pushdefine(lua_State *L) {
  int type = lua_type(L, -1);
  if (lua_type(L, -2) != LUA_TSTRING)
    clsh_error(L, "defines: names must be strings; got a %s",
               luaL_typename(L, -2));
  lua_pushvalue(L, -2);
  const char *name = checkzeros(L, "defines");
  lua_pop(L, 1);
  if (!ismacro(name))
    clsh_error(L, "defines: '%s' must be a name, such as N or F(x)", name);
  if (type == LUA_TBOOLEAN) {
    lua_pushfstring(L, "#define %s 1\n", name);
    return lua_toboolean(L, -2);
  }
  if (type == LUA_TNUMBER)
    pushnumber(L, -1);
  else if (type == LUA_TSTRING)
    lua_pushvalue(L, -1);
  else
    clsh_error(L, "defines: %s must be a number, string or boolean; got a %s",
               name, luaL_typename(L, -1));
  const char *value = checkzeros(L, name);
  size_t n = strlen(value);
  if (strpbrk(value, "\r\n") != NULL)
    clsh_error(L, "defines: %s must be one line; got '%s'", name, value);
  bool joins = n > 0 && value[n - 1] == '\\'; /* the next line to it */
  lua_pushfstring(L, "#define %s %s%s\n", name, value, joins ? "/**/" : "");
  lua_remove(L, -2);
  return true;
}

static int less(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
** Adds {defines = {...}} to the lines of the source, which are at the top.
** Sorted: the same defines give the same text.
*/
static void adddefines(lua_State *L, int opts) {
  int lines = lua_gettop(L), type = lua_getfield(L, opts, "defines");
  if (type != LUA_TTABLE && type != LUA_TNIL)
    clsh_error(L, "defines must be a table; got a %s", luaL_typename(L, -1));
  lua_newtable(L); /* anchors the strings */
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, lines + 1) != 0; lua_pop(L, 1)) {
      if (pushdefine(L))
        clsh_source_append(L, lines + 2);
      else
        lua_pop(L, 1);
    }
  size_t n = lua_rawlen(L, lines + 2);
  const char **sorted = lua_newuserdatauv(L, (n + 1) * sizeof *sorted, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, lines + 2, (lua_Integer)i + 1);
    sorted[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  qsort(sorted, n, sizeof *sorted, less);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n; i++)
    luaL_addstring(&b, sorted[i]);
  luaL_pushresult(&b);
  lua_replace(L, lines);
  lua_settop(L, lines);
}

/*
** Pushes the build options as one string, and the lines to put in front of
** the source, "" for none. `opts`: a table or nil.
*/
void clsh_source_pushoptions(lua_State *L, int opts, const char *source,
                             const char *path) {
  lua_pushliteral(L, CLSHELL_ARGINFO);
  int options = lua_gettop(L);
  lua_pushliteral(L, "");
  addownfolder(L, options, source, path);
  if (lua_isnil(L, opts))
    return;
  addincludes(L, options, opts);
  adddefines(L, opts);
  int type = lua_getfield(L, opts, "options");
  if (type != LUA_TNIL && type != LUA_TSTRING)
    clsh_error(L, "options must be a string; got a %s", luaL_typename(L, -1));
  if (type == LUA_TSTRING) {
    checklast(L, checkzeros(L, "options"));
    addoption(L, options);
  }
  lua_settop(L, options + 1);
  if (lua_rawlen(L, -1) > 0) { /* lines and names as the user knows them */
    lua_pushfstring(L, "#line 1 \"<defines>\"\n%s#line 1 \"<kernel>\"\n",
                    lua_tostring(L, -1));
    lua_replace(L, options + 1);
  }
}

/* FNV-1a of some bytes, going on from `h`. */
uint64_t clsh_source_hash(uint64_t h, const void *data, size_t n) {
  const unsigned char *p = data;
  for (size_t i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3;
  return h;
}

static uint64_t hashtext(lua_State *L, int idx) {
  size_t n;
  const char *s = lua_tolstring(L, idx, &n);
  return clsh_source_hash(0xcbf29ce484222325, s, n);
}

/*
** The files of a program are a table: the list of their paths, the program's
** own first, and path -> hash of the text. Pushes the path with number i and
** its hash.
*/
static const char *pushentry(lua_State *L, int files, lua_Integer i) {
  lua_rawgeti(L, files, i);
  lua_pushvalue(L, -1);
  lua_rawget(L, files);
  assert(lua_isinteger(L, -1));
  return lua_tostring(L, -2);
}

/* Adds the file with the text at the top; false: the table has it. */
static bool addfile(lua_State *L, int files, const char *path) {
  bool known = lua_getfield(L, files, path) != LUA_TNIL;
  lua_pop(L, 1);
  if (known)
    return false;
  clsh_source_check(L, -1, path);
  lua_pushinteger(L, (lua_Integer)hashtext(L, -1));
  lua_setfield(L, files, path);
  lua_pushstring(L, path);
  clsh_source_append(L, files);
  return true;
}

/* Pushes the list of the folders that the options name by -I. Of a name that
** the list has as a key, the driver itself has the text. */
static void pushfolders(lua_State *L, const char *options) {
  lua_newtable(L);
  int list = lua_gettop(L);
  for (const char *s = options; (s = strstr(s, "-I")) != NULL;) {
    s += 2;
    s += strspn(s, " ");
    bool quoted = *s == '"';
    s += quoted;
    size_t n = strcspn(s, quoted ? "\"" : " ");
    lua_pushlstring(L, s, n);
    clsh_source_append(L, list);
    s += n;
  }
}

/* Pushes the name that a line includes; false if it includes none. */
static bool pushincluded(lua_State *L, const char *line, bool *quoted) {
  line += strspn(line, " \t");
  if (*line != '#')
    return false;
  line += 1 + strspn(line + 1, " \t");
  if (strncmp(line, "include", 7) != 0)
    return false;
  line += 7 + strspn(line + 7, " \t");
  *quoted = *line == '"';
  if (!*quoted && *line != '<')
    return false;
  size_t n = strcspn(line + 1, *quoted ? "\"\r\n" : ">\r\n");
  lua_pushlstring(L, line + 1, n);
  return true;
}

/*
** Pushes the path and the text of the file whose name is at the top, from the
** first folder of a list that has it; NULL, with nothing pushed: none has it.
*/
static const char *pushnamed(lua_State *L, int folders, const char *from,
                             bool quoted) {
  const char *name = lua_tostring(L, -1);
  int top = lua_gettop(L);
  bool given = lua_getfield(L, folders, name) != LUA_TNIL;
  lua_pop(L, 1);
  if (given)
    return NULL;
  lua_Integer n = (lua_Integer)lua_rawlen(L, folders);
  const char *slash = quoted ? strrchr(from, '/') : NULL;
  for (lua_Integer i = slash != NULL ? 0 : 1; i <= n; i++) {
    if (i == 0) /* beside the file that includes it */
      lua_pushlstring(L, from, (size_t)(slash - from));
    else
      lua_rawgeti(L, folders, i);
    const char *path =
        lua_pushfstring(L, *name == '/' ? "%s%s" : "%s/%s",
                        *name == '/' ? "" : lua_tostring(L, -1), name);
    lua_replace(L, top + 1);
    if (pushfile(L, path))
      return path;
    lua_settop(L, top);
  }
  return NULL;
}

/*
** Adds the files that the text at the top, of file `path`, includes; the list
** of the folders lies behind the files.
*/
static void addincluded(lua_State *L, int files, const char *path, int depth) {
  bool quoted;
  luaL_checkstack(L, LUA_MINSTACK, "#include");
  if (depth > MAXDEPTH)
    return;
  for (const char *s = lua_tostring(L, -1); *s != '\0';) {
    int top = lua_gettop(L);
    const char *other = pushincluded(L, s, &quoted)
                            ? pushnamed(L, files + 1, path, quoted)
                            : NULL;
    if (other != NULL && addfile(L, files, other))
      addincluded(L, files, other, depth + 1);
    lua_settop(L, top);
    s += strcspn(s, "\n");
    s += *s == '\n';
  }
}

static void expand(lua_State *L, int pieces, const char *path,
                   const char *name, int depth);

/* Adds file `path` with the text at the top; a guard stands for its pragma. */
static void expandfile(lua_State *L, int pieces, const char *path, int depth) {
  char guard[40];
  bool once = strstr(lua_tostring(L, -1), ONCE) != NULL;
  snprintf(guard, sizeof guard, "CLSH_ONCE_%016llx",
           (unsigned long long)hashtext(L, lua_gettop(L)));
  const char *name = luaL_gsub(L, path, "\\", "\\\\");
  name = luaL_gsub(L, name, "\"", "\\\"");
  lua_pushfstring(L, once ? "#ifndef %s\n#define %s\n" : "", guard, guard);
  clsh_source_append(L, pieces);
  lua_pushfstring(L, "#line 1 \"%s\"\n", name);
  clsh_source_append(L, pieces);
  lua_pushvalue(L, -3);
  expand(L, pieces, path, name, depth + 1);
  lua_pushstring(L, once ? "\n#endif\n" : "\n");
  clsh_source_append(L, pieces);
}

/* Pushes a line that includes a file, with the file's full path. */
static void pushpathline(lua_State *L, const char *line, const char *end,
                         const char *path) {
  const char *first = line + strcspn(line, "\"<");
  const char *last = first + 1 + strcspn(first + 1, "\">\r\n");
  last += last < end && strchr("\">", *last) != NULL;
  lua_pushlstring(L, line, (size_t)(first - line));
  lua_pushfstring(L, "\"%s\"", pushfull(L, path));
  lua_remove(L, -2);
  lua_pushlstring(L, last, (size_t)(end - last));
  lua_concat(L, 3);
}

/*
** Adds the lines of the text at the top, of file `path`, to the pieces. `name`
** stands for the file in messages. The folders lie behind the pieces.
*/
static void expand(lua_State *L, int pieces, const char *path,
                   const char *name, int depth) {
  const char *end;
  int line = 1;
  luaL_checkstack(L, LUA_MINSTACK, "#include");
  for (const char *s = lua_tostring(L, -1); *s != '\0'; s = end, line++) {
    int top = lua_gettop(L);
    const char *file = NULL;
    bool quoted;
    end = s + strcspn(s, "\n");
    end += *end == '\n';
    if (depth < MAXDEPTH && pushincluded(L, s, &quoted))
      file = pushnamed(L, pieces + 1, path, quoted);
    if (file != NULL && strpbrk(file, BLANKS) != NULL) {
      expandfile(L, pieces, file, depth);
      lua_pushfstring(L, "#line %d \"%s\"\n", line + 1, name);
    } else if (file != NULL && quoted) {
      pushpathline(L, s, end, file);
    } else if (depth > 0 && strncmp(s, ONCE, strlen(ONCE)) == 0) {
      lua_pushliteral(L, "\n");
    } else {
      lua_pushlstring(L, s, (size_t)(end - s));
    }
    clsh_source_append(L, pieces);
    lua_settop(L, top);
  }
}

/*
** Pushes the text at `text` as the compiler gets it. A file that it includes
** in quotes is named by its full path: drivers look in the working folder
** first. Of a path with a blank or an apostrophe the text holds the file
** itself, as drivers split -I there, and the compiler gets the options without
** such folders. `path`: of the text's own file, or NULL. The Program at
** `program` may have headers of its own.
*/
void clsh_source_pushexpanded(lua_State *L, int program, int text,
                              const char *path, const char *options) {
  if (strstr(lua_tostring(L, text), "include") == NULL) {
    lua_pushvalue(L, text);
    return;
  }
  lua_newtable(L);
  int pieces = lua_gettop(L);
  pushfolders(L, options);
  if (lua_getiuservalue(L, program, PROGRAM_NAMES) == LUA_TTABLE)
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
      lua_pushboolean(L, true);
      lua_settable(L, pieces + 1);
    }
  lua_settop(L, pieces + 1);
  path = path != NULL ? pushfull(L, path) : lua_pushliteral(L, "");
  lua_pushvalue(L, text);
  expand(L, pieces, path, "<kernel>", 0);
  lua_settop(L, pieces);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_Integer n = (lua_Integer)lua_rawlen(L, pieces);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, pieces, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  lua_remove(L, pieces);
}

/* Removes folders from the options whose files the expanded text holds. */
void clsh_source_dropquoted(char *options) {
  char *s = options;
  while ((s = strstr(s, QUOTED)) != NULL) {
    char *end = strchr(s + strlen(QUOTED), '"');
    if (end == NULL)
      return;
    memmove(s, end + 1, strlen(end + 1) + 1);
  }
}

/*
** Pushes the table of the files of a program, whose own file has the text at
** `text`, and a comment with the hash of the included files, "" without them:
** the comment changes with the files.
*/
const char *clsh_source_pushfiles(lua_State *L, int text, const char *path,
                                  const char *options) {
  lua_newtable(L);
  int files = lua_gettop(L);
  pushfolders(L, options);
  path = pushfull(L, path);
  lua_pushvalue(L, text);
  addfile(L, files, path);
  addincluded(L, files, path, 0);
  lua_settop(L, files);
  uint64_t h = 0;
  lua_Integer n = (lua_Integer)lua_rawlen(L, files);
  for (lua_Integer i = 2; i <= n; i++) {
    pushentry(L, files, i);
    lua_Integer one = lua_tointeger(L, -1);
    h = clsh_source_hash(h, &one, sizeof one);
    lua_pop(L, 2);
  }
  char comment[48] = "";
  if (n > 1)
    snprintf(comment, sizeof comment, "\n// includes %016llx\n",
             (unsigned long long)h);
  return lua_pushstring(L, comment);
}

/*
** The kernel of Linux tells of edits of watched files, at once: one question
** for all files, where stat() takes one for each. It does not tell of moved
** folders, nor of edits by other hosts: after a BLINK the files are looked at.
*/
#define BLINK 0.05 /* seconds */

#ifdef __linux__
static int watcher = -2; /* of inotify; -1: there is none */

/* Whether later edits of a file will be told. */
static bool watch(const char *path) {
  if (watcher == -2)
    watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return inotify_add_watch(watcher, path,
                           IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF |
                               IN_DELETE_SELF) >= 0;
}

/* Whether a watched file was edited since the last question. */
static bool edited(void) {
  char events[4096];
  bool any = false;
  while (watcher >= 0 && read(watcher, events, sizeof events) > 0)
    any = true;
  return any;
}
#else
#define watch(path) ((void)(path), false)
#define edited() false
#endif

static bool unwatched; /* a file of the last questions could not be watched */

/*
** A number that stays the same while no file is edited, for a BLINK at most.
** Files that were found unchanged under this number still are.
*/
lua_Integer clsh_source_edits(void) {
  static lua_Integer edits;
  static double looked;
  double now = clsh_poll_now();
  if (edited() || unwatched || now - looked > BLINK) {
    edits++;
    looked = now;
    unwatched = false;
  }
  return edits;
}

/*
** The inode, size and times of a file. An edit changes one of them, unless it
** falls into the second of the edit before: so new files get no stamp.
*/
typedef struct Stamp {
  int64_t inode, size, modified, changed;
} Stamp;

static bool stampof(const char *path, Stamp *s) {
  struct stat st;
  if (stat(path, &st) != 0)
    return false;
  *s = (Stamp){(int64_t)st.st_ino, st.st_size, st.st_mtime, st.st_ctime};
  return time(NULL) > s->modified + 2 && time(NULL) > s->changed + 2;
}

/*
** Whether the content of a file of the table (or nil) at `files` has changed.
** A missing file is about to be written anew. files[-i] is the stamp of file
** i, with which its content was found unchanged; files[0]: clsh_source_edits()
** as all were.
*/
bool clsh_source_changed(lua_State *L, int files) {
  int top = lua_gettop(L);
  bool changed = false;
  lua_Integer n =
      lua_istable(L, files) ? (lua_Integer)lua_rawlen(L, files) : 0;
  lua_Integer edits = n > 0 ? clsh_source_edits() : 0;
  if (n == 0 || (lua_rawgeti(L, files, 0) == LUA_TNUMBER &&
                 lua_tointeger(L, -1) == edits)) {
    lua_settop(L, top);
    return false;
  }
  for (lua_Integer i = 1; i <= n && !changed; i++) {
    Stamp now;
    lua_settop(L, top);
    const char *path = pushentry(L, files, i);
    unwatched = !watch(path) || unwatched; /* first: no edit goes unseen */
    bool old = stampof(path, &now);
    lua_rawgeti(L, files, -i);
    bool same = old && lua_rawlen(L, -1) == sizeof now &&
                memcmp(lua_tostring(L, -1), &now, sizeof now) == 0;
    if (!same && pushfile(L, path)) {
      changed = hashtext(L, -1) != (uint64_t)lua_tointeger(L, -3);
      if (old && !changed) {
        lua_pushlstring(L, (const char *)&now, sizeof now);
        lua_rawseti(L, files, -i);
      }
    }
  }
  lua_settop(L, top);
  lua_pushinteger(L, edits);
  if (!unwatched && !changed)
    lua_rawseti(L, files, 0);
  lua_settop(L, top);
  return changed;
}
