/*
** main.c - the program clshell: finds its files, runs scripts or the shell.
** main makes a state and calls pmain in protected mode, as lua.c does.
** SPDX-License-Identifier: MIT
*/
#ifdef __linux__
#include <pthread.h>
#include <sys/resource.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "cl/cl.h"
#include "host/host.h"
#include "shell.h"

#define STACKSIZE ((size_t)64 << 20) /* of a driver's threads, bytes */
#define NOMEMORY PROGRAM ": not enough memory\n"
#define OVER PROGRAM ": stopped, as --timeout is over\n"

static int exitcode = EXIT_OK;
static Launch launch; /* of one process among several */
static bool several;
static char title[64] = PROGRAM; /* in front of messages */

/* Sets `arg`: the script is at 0, the words before it below 0. */
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
  if (status != LUA_OK && clsh_timeout_expired()) {
    fputs(OVER, stderr);
    exitcode = EXIT_TIMEOUT;
    lua_pop(L, 1);
  } else if (status != LUA_OK)
    exitcode = clsh_run_report(L, title);
  return status;
}

/* Calls a function of clshell.shell.commands.actions, arguments at the top. */
static int calltool(lua_State *L, const char *name, int narg) {
  int base = lua_gettop(L) - narg;
  luaL_checkstack(L, LUA_MINSTACK, "too many values");
  int status = clsh_run_require(L, PROGRAM ".shell.commands.actions");
  if (status != LUA_OK)
    return status;
  lua_getfield(L, -1, name);
  lua_insert(L, base + 1);
  lua_pop(L, 1);
  return clsh_run_call(L, narg, 1);
}

/*
** Runs the tool of an option such as --devices in place of the script. Its
** arguments are the option's or the script's name, and the code of -e and -p.
*/
static int runtool(lua_State *L, const Options *o, const char *what) {
  int narg = 1;
  luaL_checkstack(L, o->nactions + 3, "too many options");
  lua_pushstring(L, what);
  for (int i = 0; i < o->nactions; i++) {
    const Action *a = &o->actions[i];
    if (a->kind != 'e' && a->kind != 'p')
      continue;
    lua_pushfstring(L, "%s%s", a->kind == 'p' ? "return " : "", a->text);
    narg++;
  }
  int status = report(L, calltool(L, o->tool, narg));
  if (status == LUA_OK)
    exitcode = (int)lua_tointeger(L, -1);
  return status;
}

/*
** Runs a command such as history, or reports that there is no such command.
** False: nothing was done, as the name is a file's and no command's.
*/
static bool runcommand(lua_State *L, const char *name, bool isfile,
                       int *status) {
  lua_pushstring(L, name);
  lua_getglobal(L, "arg");
  *status = calltool(L, "command", 2);
  bool known = *status != LUA_OK || lua_type(L, -1) != LUA_TSTRING;
  if (!known && isfile) {
    lua_pop(L, 1);
    return false;
  }
  *status = report(L, known ? *status : LUA_ERRFILE);
  if (*status == LUA_OK) {
    exitcode = (int)lua_tointeger(L, -1);
    *status = exitcode == EXIT_OK ? LUA_OK : LUA_ERRRUN;
  }
  return true;
}

/*
** Notes that --format or -o had no effect: only scripts that measure look at
** them.
*/
static void checktaken(lua_State *L, const Options *o, const char *script) {
  if (o->quiet || (o->format == NULL && o->output == NULL))
    return;
  for (int i = 0; i < o->nactions; i++)
    if (o->actions[i].kind == 'p') /* -p prints in that format */
      return;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "cl");
  lua_getfield(L, -1, "commandline");
  if (lua_istable(L, -1) && lua_getfield(L, -1, "taken") == LUA_TNIL)
    fprintf(stderr,
            PROGRAM ": note: %s has no results that -f and -o apply to; in a "
                    "script of\nyour own, results{r1, r2}:html(\"FILE.html\") "
                    "writes the report (?results)\n",
            script != NULL ? clsh_options_shown(script) : "stdin");
}

/* Tells what to do with a file of OpenCL C or CUDA, which is no script. */
static void notescript(const char *script) {
  const char *dot = script != NULL ? strrchr(script, '.') : NULL;
  if (dot != NULL && (strcmp(dot, ".cl") == 0 || strcmp(dot, ".cu") == 0))
    fprintf(stderr,
            PROGRAM ": note: a %s file holds kernels; clshell --check %s "
                    "compiles it, and\ncl.build \"%s\" in a script builds "
                    "it\n",
            dot, clsh_options_shown(script), clsh_options_shown(script));
}

static int runscript(lua_State *L, const Options *o, const char *script) {
  bool isstdin = script == NULL || strcmp(script, "-") == 0;
  bool isfile = isstdin || access(script, F_OK) == 0;
  bool isword = !isstdin && strpbrk(script, "/.") == NULL;
  int status = LUA_OK;
  if ((!isfile || isword) && runcommand(L, script, isfile, &status))
    return status;
  status = luaL_loadfile(L, isstdin ? NULL : script);
  if (status != LUA_OK) {
    report(L, status);
    notescript(script);
    return status;
  }
  int n = o->script < o->argc ? o->argc - o->script - 1 : 0;
  luaL_checkstack(L, n + 3, "too many arguments to the script");
  for (int i = 0; i < n; i++)
    lua_pushstring(L, o->argv[o->script + 1 + i]);
  status = report(L, clsh_run_call(L, n, 0));
  if (status == LUA_OK)
    checktaken(L, o, script);
  return status;
}

/* -l MOD or -l GLOBAL=MOD */
static int dolibrary(lua_State *L, const char *text) {
  const char *equals = strchr(text, '=');
  lua_pushlstring(L, text,
                  equals != NULL ? (size_t)(equals - text) : strlen(text));
  int status = clsh_run_require(L, equals != NULL ? equals + 1 : text);
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
  if (a->kind != 'e' && a->kind != 'p') /* is in cl.commandline by now */
    return LUA_OK;
  int base = lua_gettop(L);
  clsh_traceback_remember(L, "=(command line)", a->text);
  int status = a->kind == 'p' ? clsh_repl_load(L, a->text, "=(command line)")
                              : luaL_loadbuffer(L, a->text, strlen(a->text),
                                                "=(command line)");
  if (status == LUA_OK)
    status = clsh_run_call(L, 0, a->kind == 'p' ? LUA_MULTRET : 0);
  if (status == LUA_OK && a->kind == 'p')
    status = calltool(L, "print", lua_gettop(L) - base);
  return report(L, status);
}

/* Sets a list in the table at the top: the values of an option. */
static void setlist(lua_State *L, const Options *o, char kind,
                    const char *name) {
  lua_newtable(L);
  for (int i = 0, n = 0; i < o->nactions; i++)
    if (o->actions[i].kind == kind) {
      lua_pushstring(L, o->actions[i].text);
      lua_rawseti(L, -2, ++n);
    }
  lua_setfield(L, -2, name);
}

/*
** Sets cl.commandline, the options for Lua, and the folder of the script if
** that is a file. cl is at index 1.
*/
static void setcommandline(lua_State *L, const Options *o,
                           const char *script) {
  const struct {
    const char *name, *value;
  } texts[] = {{"format", o->format},
               {"output", o->output},
               {"as", o->as},
               {"trace", o->trace}};
  lua_createtable(L, 0, 14);
  setlist(L, o, 'I', "include");
  setlist(L, o, 'D', "defines");
  setlist(L, o, 'O', "options");
  if (script != NULL && strcmp(script, "-") != 0) {
    clsh_home_pushfolder(L, script);
    lua_setfield(L, -2, "folder");
  }
  clsh_field_boolean(L, "quiet", o->quiet);
  clsh_field_boolean(L, "noinit", o->noinit);
  clsh_field_string(L, "color", o->color != NULL ? o->color : "auto");
  for (int i = 0; i < 4; i++)
    clsh_field_string(L, texts[i].name, texts[i].value);
  if (o->timeout > 0) {
    lua_pushnumber(L, o->timeout);
    lua_setfield(L, -2, "timeout");
  }
  clsh_home_pushprogram(L);
  lua_setfield(L, -2, "program");
  clsh_field_integer(L, "rank", several ? launch.rank : 0);
  clsh_field_integer(L, "ranks", several ? launch.size : 1);
  lua_setfield(L, 1, "commandline");
}

/* The modules of the program itself, which `require` finds here. */
static void preload(lua_State *L) {
  static const luaL_Reg modules[] = {
      {"cl.host", luaopen_cl_host},
      {PROGRAM ".child", luaopen_clshell_child},
      {PROGRAM ".cudarun", luaopen_clshell_cudarun},
      {PROGRAM ".journal", luaopen_clshell_journal},
      {PROGRAM ".optiontable", luaopen_clshell_optiontable},
      {PROGRAM ".restart", luaopen_clshell_restart},
      {PROGRAM ".system", luaopen_clshell_system},
      {NULL, NULL}};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  luaL_setfuncs(L, modules, 0);
  lua_pop(L, 1);
}

/*
** CPU drivers keep the private variables of a whole work-group on the stack
** of the thread that runs it (PoCL), and a group of thousands of work-items
** overflows the usual 8 MiB: the process would die. The threads that drivers
** start from now on get more. It is address space, not memory, until it is
** used; where address space is rationed the stacks stay as they are.
*/
static void deepenstacks(void) {
#ifdef __linux__
  struct rlimit space;
  pthread_attr_t attr;
  size_t size = 0;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY ||
      pthread_getattr_default_np(&attr) != 0)
    return;
  if (pthread_attr_getstacksize(&attr, &size) == 0 && size < STACKSIZE &&
      pthread_attr_setstacksize(&attr, STACKSIZE) == 0)
    (void)pthread_setattr_default_np(&attr);
  pthread_attr_destroy(&attr);
#endif
}

/* Makes the state ready; returns the script's path (anchored) or NULL. */
static const char *openstate(lua_State *L, const Options *o) {
  luaL_openlibs(L);
  clsh_restart_open(L, o->argv);
  clsh_interrupt_open(L);
  clsh_traceback_open(L);
  if (o->timeout > 0)
    clsh_timeout_start(L, clsh_restart_deadline(o->timeout));
  if (o->tool == NULL)
    clsh_crash_open();
  clsh_exit_open(L);
  deepenstacks();
  luaL_requiref(L, "cl", luaopen_cl, 1);
  preload(L);
  clsh_home_push(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, 1, "home");
  const char *home = lua_tostring(L, 2);
  const char *script = NULL;
  if (o->script < o->argc) {
    script = clsh_home_pushscript(L, o->argv[o->script], home);
    clsh_crash_script(strcmp(script, "-") != 0 ? script : NULL);
  }
  setcommandline(L, o, script);
  clsh_home_setpath(L, home);
  createargtable(L, o, script);
  if (o->device != NULL)
    clsh_device_choose(L, o->device);
  return script;
}

/*
** Whether the code and the script of the command line are run: always, but
** after a restart only where the user wants the session back.
*/
static bool wanted(lua_State *L, bool hascode) {
  if (!clsh_restart_began())
    return true;
  int status = clsh_run_require(L, PROGRAM ".shell.prompt.restore");
  if (status == LUA_OK) {
    lua_getfield(L, -1, "ask");
    lua_remove(L, -2);
    lua_pushboolean(L, hascode);
    status = clsh_run_call(L, 1, 1);
  }
  if (report(L, status) != LUA_OK || !lua_toboolean(L, -1))
    return false;
  clsh_restart_stage(RESTART_RESTORE);
  return true;
}

/* Runs the tool, or the code and script, of the command line. */
static int runoptions(lua_State *L, const Options *o, const char *script) {
  int status = report(L, clsh_run_require(L, PROGRAM));
  if (o->tool != NULL)
    return runtool(L, o, o->what != NULL ? o->what : script);
  bool all = wanted(L, script != NULL || o->code);
  for (int i = 0; i < o->nactions && status == LUA_OK; i++)
    if (all || o->actions[i].kind == 'l')
      status = doaction(L, &o->actions[i]);
  if (!all)
    return status;
  bool input = !o->code && !o->interactive && !isatty(STDIN_FILENO);
  if (status == LUA_OK && (script != NULL || input))
    status = runscript(L, o, script);
  else if (status == LUA_OK && o->code)
    checktaken(L, o, "the code");
  return status;
}

/*
** Prepares one of several processes: its messages name its rank, it writes
** whole lines, and it takes its turn among the devices. False: the prompt and
** a script by standard input are for one process.
*/
static bool beginrank(const Options *o) {
  bool isstdin =
      o->script < o->argc ? strcmp(o->argv[o->script], "-") == 0 : !o->code;
  several = clsh_launcher_several(&launch);
  if (!several)
    return true;
  if (o->interactive || (o->tool == NULL && isstdin)) {
    if (launch.rank == 0)
      fprintf(stderr,
              PROGRAM ": the prompt, and a script by standard input, are for "
                      "one process; %s\nhas started %d, of which one alone "
                      "has that input; give a script's file\n",
              launch.launcher, launch.size);
    return false;
  }
  snprintf(title, sizeof title, PROGRAM ": rank %d", launch.rank);
  clsh_launcher_own();
  clsh_cl_piped = true;
  clsh_lines_open();
  clsh_device_spread(launch.local, launch.localsize);
  return true;
}

static int pmain(lua_State *L) {
  const Options *o = lua_touserdata(L, 1);
  lua_settop(L, 0);
  const char *script = openstate(L, o);
  runoptions(L, o, script);
  bool shell = script == NULL && !o->code && isatty(STDIN_FILENO);
  bool done = o->tool != NULL || clsh_timeout_expired();
  if (done || !(o->interactive || shell))
    return 0;
  clsh_crash_script(NULL);
  clsh_repl_run(L, o->quiet);
  exitcode = EXIT_OK; /* the failures were shown, the user went on */
  if (clsh_timeout_expired())
    fputs(OVER, stderr);
  return 0;
}

/* Runs everything in a Lua state of its own; returns the exit code. */
static int run(Options *o) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs(NOMEMORY, stderr);
    return EXIT_SCRIPT;
  }
  lua_pushcfunction(L, pmain);
  lua_pushlightuserdata(L, o);
  report(L, lua_pcall(L, 1, 0, 0));
  clsh_exit_leave(L);
  if (clsh_exit_library != NULL)
    clsh_exit_library(clsh_timeout_expired() ? EXIT_TIMEOUT : exitcode);
  lua_close(L);
  return clsh_timeout_expired() ? EXIT_TIMEOUT : exitcode;
}

int main(int argc, char *argv[]) {
  Options o = {.argc = argc, .argv = argv};
  clsh_exit_begin();
  o.actions = calloc((size_t)argc + 1, sizeof *o.actions);
  if (o.actions == NULL) {
    fputs(NOMEMORY, stderr);
    return EXIT_SCRIPT;
  }
  int code = clsh_options_parse(&o);
  if (code < 0)
    code = beginrank(&o) ? run(&o) : EXIT_USAGE;
  free(o.actions);
  if (code == EXIT_INTERRUPT && fflush(NULL) == 0)
    raise(SIGINT); /* so that a calling shell stops as well */
  clsh_exit_end(code);
  return code;
}
