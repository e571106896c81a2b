/*
** sourcefiles.c - the files that a program is made of, as they were when it
** was built, and whether they have another content by now.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define MAXDEPTH 32 /* of files that include files */

/* PROGRAM_FILES is a list: path, Stamp, path, Stamp ..., its own file first.
 */
typedef struct Stamp {
  int64_t sec, nsec, size;
  uint64_t inode, hash; /* hash: of the content */
  bool fresh; /* changed so lately that its time may not tell the next one */
} Stamp;

#ifdef __APPLE__
#define MTIME st_mtimespec
#else
#define MTIME st_mtim
#endif

/* Reads all but the hash; false if there is no such file. */
static bool getstamp(const char *path, Stamp *s) {
  struct stat st;
  struct timespec now;
  memset(s, 0, sizeof *s);
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return false;
  clock_gettime(CLOCK_REALTIME, &now);
  s->sec = st.MTIME.tv_sec;
  s->nsec = st.MTIME.tv_nsec;
  s->size = st.st_size;
  s->inode = st.st_ino;
  s->fresh = now.tv_sec <= s->sec + 2;
  return true;
}

/* FNV-1a of some bytes, going on from `h`. */
static uint64_t hash(uint64_t h, const void *data, size_t n) {
  const unsigned char *p = data;
  for (size_t i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3;
  return h;
}

static uint64_t hashtext(lua_State *L, int idx) {
  size_t n;
  const char *s = lua_tolstring(L, idx, &n);
  return hash(0xcbf29ce484222325, s, n);
}

static void append(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

static bool isnoted(lua_State *L, int files, const char *path) {
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, files); i += 2) {
    lua_rawgeti(L, files, i);
    bool same = strcmp(lua_tostring(L, -1), path) == 0;
    lua_pop(L, 1);
    if (same)
      return true;
  }
  return false;
}

/* Notes the file at `path` and pushes its text; false: none, or known. */
static bool notefile(lua_State *L, int files, const char *path) {
  Stamp s;
  if (isnoted(L, files, path) || !getstamp(path, &s) ||
      !clsh_pushfile(L, path))
    return false;
  s.hash = hashtext(L, -1);
  lua_pushstring(L, path);
  append(L, files);
  lua_pushlstring(L, (const char *)&s, sizeof s);
  append(L, files);
  return true;
}

/* Pushes the list of the folders that the options name by -I. */
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
    append(L, list);
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

static void noteincluded(lua_State *L, int files, int folders,
                         const char *path, int depth);

/* Notes the file `name` in the first of the folders that has it. */
static void notename(lua_State *L, int files, int folders, const char *from,
                     bool quoted, int depth) {
  const char *name = lua_tostring(L, -1);
  int top = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, folders);
  for (lua_Integer i = quoted ? 0 : 1; i <= n; i++) {
    Stamp s;
    lua_settop(L, top);
    if (i == 0) { /* beside the file that includes it */
      const char *slash = strrchr(from, '/');
      lua_pushlstring(L, from, slash != NULL ? (size_t)(slash - from) : 0);
    } else
      lua_rawgeti(L, folders, i);
    const char *path =
        *name == '/' ? name
                     : lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), name);
    if (getstamp(path, &s)) {
      if (notefile(L, files, path))
        noteincluded(L, files, folders, path, depth + 1);
      break;
    }
  }
  lua_settop(L, top);
}

/* Notes what the text at the top, of the file `path`, includes. */
static void noteincluded(lua_State *L, int files, int folders,
                         const char *path, int depth) {
  bool quoted;
  luaL_checkstack(L, LUA_MINSTACK, "#include");
  if (depth > MAXDEPTH)
    return;
  for (const char *s = lua_tostring(L, -1); *s != '\0';) {
    if (pushincluded(L, s, &quoted)) {
      notename(L, files, folders, path, quoted, depth);
      lua_pop(L, 1);
    }
    s += strcspn(s, "\n");
    s += *s == '\n';
  }
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

/*
** Notes the files of the program at `program`: its own, whose text is at
** `text`, and what that includes. Leaves a comment about the included ones
** on the stack, "" where there are none: it changes when they do.
*/
const char *clsh_notefiles(lua_State *L, int program, int text,
                           const char *path, const char *options) {
  Stamp s;
  path = pushfull(L, path);
  lua_newtable(L);
  int files = lua_gettop(L);
  getstamp(path, &s);
  s.fresh = true; /* it was read before */
  s.hash = hashtext(L, text);
  lua_pushstring(L, path);
  append(L, files);
  lua_pushlstring(L, (const char *)&s, sizeof s);
  append(L, files);
  pushfolders(L, options);
  lua_pushvalue(L, text);
  noteincluded(L, files, files + 1, path, 0);
  lua_settop(L, files);
  uint64_t h = 0;
  lua_Integer n = (lua_Integer)lua_rawlen(L, files);
  for (lua_Integer i = 4; i <= n; i += 2) {
    lua_rawgeti(L, files, i);
    memcpy(&s, lua_tostring(L, -1), sizeof s);
    h = hash(h, &s.hash, sizeof s.hash);
    lua_pop(L, 1);
  }
  lua_setiuservalue(L, program, PROGRAM_FILES);
  char comment[48] = "";
  if (n > 2)
    snprintf(comment, sizeof comment, "\n// includes %016llx\n",
             (unsigned long long)h);
  return lua_pushstring(L, comment);
}

/*
** Whether the file whose path and stamp are at `at` of the list has another
** content by now. One that is not there is about to be written anew.
*/
static bool filechanged(lua_State *L, int files, lua_Integer at) {
  Stamp old, s;
  lua_rawgeti(L, files, at);
  const char *path = lua_tostring(L, -1);
  lua_rawgeti(L, files, at + 1);
  memcpy(&old, lua_tostring(L, -1), sizeof old);
  bool there = getstamp(path, &s);
  bool same = old.sec == s.sec && old.nsec == s.nsec && old.size == s.size &&
              old.inode == s.inode && !old.fresh;
  lua_pop(L, 1);
  if (!there || same || !clsh_pushfile(L, path)) {
    lua_pop(L, 1);
    return false;
  }
  s.hash = hashtext(L, -1);
  bool changed = s.hash != old.hash;
  if (!changed) {
    lua_pushlstring(L, (const char *)&s, sizeof s);
    lua_rawseti(L, files, at + 1);
  }
  lua_pop(L, 2);
  return changed;
}

/* Whether a file of the program at `program` has changed. */
bool clsh_fileschanged(lua_State *L, int program) {
  bool changed = false;
  if (lua_getiuservalue(L, program, PROGRAM_FILES) == LUA_TTABLE) {
    int files = lua_gettop(L);
    lua_Integer n = (lua_Integer)lua_rawlen(L, files);
    for (lua_Integer i = 1; i < n && !changed; i += 2)
      changed = filechanged(L, files, i);
  }
  lua_pop(L, 1);
  return changed;
}
