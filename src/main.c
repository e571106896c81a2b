/*
** main.c - the program clshell: finds its files, runs scripts or the shell.
** main makes a state and calls pmain in protected mode, as lua.c does.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <lualib.h>

#include "clshell.h"
#include "repl.h"

#define MAXPATH 4096

static int exitcode = EXIT_OK;

/* Pushes the path of this program; an empty string where it is unknown. */
static void pushexecutable(lua_State *L) {
  char path[MAXPATH] = "";
#ifdef __APPLE__
  uint32_t size = sizeof path;
  if (_NSGetExecutablePath(path, &size) != 0)
    path[0] = '\0';
#else
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
#endif
  char *real = realpath(path, NULL);
  lua_pushstring(L, real != NULL ? real : "");
  free(real);
}

/* Pushes the folder of path `s`, "." if it names none. */
static void pushfolder(lua_State *L, const char *s) {
  const char *slash = strrchr(s, '/');
  if (slash == NULL)
    lua_pushliteral(L, ".");
  else
    lua_pushlstring(L, s, slash == s ? 1 : (size_t)(slash - s));
}

/* Whether the folder on the top holds the Lua files; else it is popped. */
static bool ishome(lua_State *L) {
  const char *file =
      lua_pushfstring(L, "%s/lua/clshell/init.lua", lua_tostring(L, -1));
  bool found = access(file, R_OK) == 0;
  lua_pop(L, found ? 1 : 2);
  return found;
}

/* Raises: the Lua files are not where `where` says. */
static void nohome(lua_State *L, const char *where, const char *dir) {
  clsh_error(L, "no lua/clshell/init.lua %s %s", where, dir);
}

/*
** Pushes the folder with lua/ kernels/ scripts/: $CLSHELL_HOME, else beside
** the program's own folder (the source tree, a moved installation), else
** where it was to be installed.
*/
static void pushhome(lua_State *L) {
  const char *env = getenv("CLSHELL_HOME");
  if (env != NULL && *env != '\0') {
    lua_pushstring(L, env);
    if (!ishome(L))
      nohome(L, "in CLSHELL_HOME,", env);
    return;
  }
  int base = lua_gettop(L);
  pushexecutable(L);
  pushfolder(L, lua_tostring(L, -1));
  pushfolder(L, lua_tostring(L, -1));
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  const char *root = lua_tostring(L, base + 1);
  lua_pushstring(L, root);
  bool found = ishome(L);
  if (!found) {
    lua_pushfstring(L, "%s/share/" PROGRAM, root);
    found = ishome(L);
  }
  if (!found) {
    lua_pushliteral(L, DATADIR);
    if (!ishome(L))
      nohome(L, "in " DATADIR " or", root);
  }
  lua_remove(L, base + 1);
}

/*
** Puts folders in front of package.path: that of the script (of what a link
** points to), if there is one, then clshell's own.
*/
static void setpath(lua_State *L, const char *script, const char *home) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua;%s", home, home,
                  lua_tostring(L, -1));
  if (script != NULL) {
    char *real = realpath(script, NULL);
    lua_pushstring(L, real != NULL ? real : script);
    free(real);
    pushfolder(L, lua_tostring(L, -1));
    const char *dir = lua_tostring(L, -1);
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", dir, dir,
                    lua_tostring(L, -3));
    lua_replace(L, -4);
    lua_pop(L, 2);
  }
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

/*
** Pushes the path of the script, `-` and full paths as they are; any other
** is tried as it is, then among the installed scripts.
*/
static const char *pushscript(lua_State *L, const char *name,
                              const char *home) {
  lua_pushstring(L, name);
  if (strcmp(name, "-") == 0 || *name == '/' || access(name, F_OK) == 0)
    return lua_tostring(L, -1);
  const char *other = lua_pushfstring(L, "%s/scripts/%s", home, name);
  if (access(other, F_OK) == 0) {
    lua_remove(L, -2);
    return lua_tostring(L, -1);
  }
  lua_pop(L, 1);
  return lua_tostring(L, -1);
}

/* The table `arg`: the script is 0, what stands before it negative. */
static void createargtable(lua_State *L, const Options *o,
                           const char *script) {
  int zero = o->script < o->argc ? o->script : 0;
  lua_createtable(L, o->argc - zero - 1 > 0 ? o->argc - zero - 1 : 0,
                  zero + 1);
  for (int i = 0; i < o->argc; i++) {
    lua_pushstring(L, i == o->script ? script : o->argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

/* Reports a failure; the status passes through. */
static int report(lua_State *L, int status) {
  if (status != LUA_OK)
    exitcode = clsh_report(L, PROGRAM);
  return status;
}

/*
** Runs a command such as history, which returns the exit code. Returns false
** where none is called so; otherwise the command's own failure is reported.
*/
static bool runcommand(lua_State *L, const char *name) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, PROGRAM ".command");
  if (report(L, clsh_docall(L, 1, 1)) != LUA_OK)
    return true;
  lua_getfield(L, -1, "run");
  lua_pushstring(L, name);
  lua_getglobal(L, "arg");
  if (report(L, clsh_docall(L, 2, 1)) != LUA_OK)
    return true;
  bool known = !lua_isnil(L, -1);
  if (known)
    exitcode = (int)lua_tointeger(L, -1);
  return known;
}

static int runscript(lua_State *L, const Options *o, const char *script) {
  bool isstdin = script == NULL || strcmp(script, "-") == 0;
  if (!isstdin && *script != '/' && access(script, F_OK) != 0) {
    if (runcommand(L, script))
      return exitcode == EXIT_OK ? LUA_OK : LUA_ERRRUN;
    lua_getglobal(L, "cl");
    lua_getfield(L, -1, "home");
    lua_pushfstring(L, "cannot open %s: not there, nor in %s/scripts", script,
                    lua_tostring(L, -1));
    return report(L, LUA_ERRFILE);
  }
  int status = luaL_loadfile(L, isstdin ? NULL : script);
  if (status != LUA_OK)
    return report(L, status);
  int n = o->script < o->argc ? o->argc - o->script - 1 : 0;
  luaL_checkstack(L, n + 3, "too many arguments to the script");
  for (int i = 0; i < n; i++)
    lua_pushstring(L, o->argv[o->script + 1 + i]);
  return report(L, clsh_docall(L, n, 0));
}

/* -l MOD or -l GLOBAL=MOD */
static int dolibrary(lua_State *L, const char *text) {
  const char *equals = strchr(text, '=');
  lua_pushlstring(L, text,
                  equals != NULL ? (size_t)(equals - text) : strlen(text));
  lua_getglobal(L, "require");
  lua_pushstring(L, equals != NULL ? equals + 1 : text);
  int status = clsh_docall(L, 1, 1);
  if (status == LUA_OK) {
    lua_pushglobaltable(L);
    lua_insert(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  return report(L, status);
}

static int doaction(lua_State *L, const Action *a) {
  if (a->kind == 'l')
    return dolibrary(L, a->text);
  int base = lua_gettop(L);
  int status =
      a->kind == 'p'
          ? clsh_loadexpression(L, a->text, "=(command line)")
          : luaL_loadbuffer(L, a->text, strlen(a->text), "=(command line)");
  if (status == LUA_OK)
    status = clsh_docall(L, 0, a->kind == 'p' ? LUA_MULTRET : 0);
  if (status == LUA_OK && a->kind == 'p')
    status = clsh_printresults(L, base + 1);
  return report(L, status);
}

/* --devices: one line each. Called in protected mode. */
static int listdevices(lua_State *L) {
  lua_getglobal(L, "cl");
  lua_getfield(L, -1, "devices");
  lua_call(L, 0, 1);
  int list = lua_gettop(L);
  lua_Integer n = luaL_len(L, list);
  if (n == 0) { /* raises, and says what to install */
    lua_getfield(L, list - 1, "device");
    lua_call(L, 0, 0);
  }
  for (lua_Integer i = 1; i <= n; i++) {
    static const char *const fields[] = {"index", "name", "type", "platform"};
    lua_geti(L, list, i);
    for (int f = 0; f < 4; f++) {
      lua_getfield(L, list + 1, fields[f]);
      luaL_tolstring(L, -1, NULL);
      lua_replace(L, -2);
    }
    lua_getfield(L, list + 1, "max_compute_units");
    lua_getfield(L, list + 1, "global_mem_size");
    printf("%s  %s  %s  %s  %lld units  %.1f GiB\n", lua_tostring(L, list + 2),
           lua_tostring(L, list + 3), lua_tostring(L, list + 4),
           lua_tostring(L, list + 5), (long long)lua_tointeger(L, list + 6),
           (double)lua_tonumber(L, list + 7) / (1 << 30));
    lua_settop(L, list);
  }
  return 0;
}

/* Makes the state ready; returns the script's path (anchored) or NULL. */
static const char *openstate(lua_State *L, const Options *o) {
  luaL_openlibs(L);
  clsh_openinterrupt(L);
  luaL_requiref(L, "cl", luaopen_cl, 1);
  pushhome(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, 1, "home");
  const char *home = lua_tostring(L, 2);
  const char *script = NULL;
  if (o->script < o->argc)
    script = pushscript(L, o->argv[o->script], home);
  bool isfile = script != NULL && strcmp(script, "-") != 0;
  setpath(L, isfile ? script : NULL, home);
  createargtable(L, o, script);
  if (o->device != NULL)
    clsh_select(L, o->device);
  return script;
}

/* What the command line asks for, up to the shell. */
static int runoptions(lua_State *L, const Options *o, const char *script) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, PROGRAM);
  int status = report(L, clsh_docall(L, 1, 0));
  if (status == LUA_OK && o->list) {
    lua_pushcfunction(L, listdevices);
    return report(L, clsh_docall(L, 0, 0));
  }
  for (int i = 0; i < o->nactions && status == LUA_OK; i++)
    status = doaction(L, &o->actions[i]);
  bool input = !o->code && !o->interactive && !isatty(STDIN_FILENO);
  if (status == LUA_OK && (script != NULL || input))
    status = runscript(L, o, script);
  return status;
}

static int pmain(lua_State *L) {
  const Options *o = lua_touserdata(L, 1);
  lua_settop(L, 0);
  const char *script = openstate(L, o);
  runoptions(L, o, script);
  bool shell = script == NULL && !o->code && isatty(STDIN_FILENO);
  if (o->list || !(o->interactive || shell))
    return 0;
  clsh_repl(L, o->quiet);
  exitcode = EXIT_OK; /* the failures were shown, the user went on */
  return 0;
}

/*
** At every exit, os.exit included: output that did not arrive is a failure.
** A reader that left early is none worth a word.
*/
static void closeout(void) {
  clsh_closeinterrupt();
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return;
  int error = errno;
  struct pollfd fd = {STDOUT_FILENO, POLLOUT, 0};
  if (error == EPIPE || (poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR)))
    _exit(EXIT_PIPE);
  fprintf(stderr, PROGRAM ": cannot write standard output%s%s\n",
          error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
  _exit(EXIT_SCRIPT);
}

/* Runs everything in a Lua state of its own; returns the exit code. */
static int run(Options *o) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fprintf(stderr, PROGRAM ": cannot create a Lua state: no memory\n");
    return EXIT_SCRIPT;
  }
  lua_pushcfunction(L, pmain);
  lua_pushlightuserdata(L, o);
  report(L, clsh_docall(L, 1, 0));
  clsh_closeinterrupt();
  lua_close(L);
  return exitcode;
}

int main(int argc, char *argv[]) {
  Options o = {.argc = argc, .argv = argv};
  atexit(closeout);
  o.actions = calloc((size_t)argc + 1, sizeof *o.actions);
  if (o.actions == NULL)
    return EXIT_SCRIPT;
  int code = clsh_parse(&o);
  if (code < 0)
    code = run(&o);
  free(o.actions);
  if (code == EXIT_INTERRUPT && fflush(NULL) == 0)
    raise(SIGINT); /* so that a calling shell stops as well */
  return code;
}
