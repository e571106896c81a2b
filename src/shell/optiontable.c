/*
** optiontable.c - the command line, told once: parsing, --help, --help-all,
** the manual page and the shells' completions are all made from these tables.
** SPDX-License-Identifier: MIT
*/
#include <lauxlib.h>

#include "options.h"

const Option clsh_optiontable[] = {
    {'d', "device", "SEL", "device", "Device",
     "number | gpu | cpu | part of a name\n(otherwise CLSHELL_DEVICE)",
     "The device of the session: its number in the list of --devices, "
     "gpu, cpu or accelerator for the first of that type, or part of its "
     "name or platform. Otherwise CLSHELL_DEVICE, else the first GPU, "
     "accelerator or CPU."},
    {OPT_DEVICES, "devices", NULL, NULL, "Device",
     "list the devices (-f json for tools)",
     "Lists the devices and exits, in the format of --format. Exit code 3 "
     "where there is none."},
    {OPT_DOCTOR, "doctor", NULL, NULL, "Device",
     "explain why a device is missing",
     "Looks at the OpenCL loader, the drivers it is told of and why one does "
     "not load, platforms and devices, permissions, PoCL's cache and the "
     "programs and libraries that clshell uses, and says what to install. "
     "Exit code 0 when a device is usable, else 3."},
    {'e', NULL, "CODE", "code", "Running", "run CODE", "Runs Lua code."},
    {'p', NULL, "EXPR", "code", "Running", "print the values of EXPR",
     "Prints the values of a Lua expression, in the format of --format."},
    {'l', NULL, "MOD", "module", "Running",
     "require MOD into a global; or G=MOD",
     "Calls require MOD and puts the result into the global MOD; -l G=MOD "
     "into the global G."},
    {'I', NULL, "DIR", "dir", "Running", "search DIR for modules too",
     "Adds a folder to those that require searches, after that of the "
     "script. May be repeated."},
    {'i', "interactive", NULL, NULL, "Running",
     "open the shell afterwards, failed or not",
     "Opens the interactive shell after the script or code, also when that "
     "failed, with its globals."},
    {'c', "check", NULL, NULL, "Running",
     "compile script and kernels, run nothing",
     "Compiles the script, the modules beside it and the kernels that it "
     "names in calls of cl.build, cl.kernel and define, and runs nothing. "
     "What cannot be known without running is listed. Exit code 1 when "
     "something does not compile."},
    {'n', "no-init", NULL, NULL, "Running", "skip init.lua and history",
     "The interactive shell neither runs init.lua nor reads or writes its "
     "history."},
    {OPT_TIMEOUT, "timeout", "SEC", "seconds", "Running",
     "stop the whole run (exit 124)",
     "Stops the run after so many seconds, inside a call of a driver too. "
     "What was measured is printed and kept as after Ctrl-C. Exit code "
     "124."},
    {'f', "format", "FMT", "format", "Output",
     "table | csv | json | ndjson | md | t4",
     "How -p, --devices, scripts that measure and the commands on kept runs "
     "print: table for people, csv, json, ndjson (a JSON object a line), md "
     "(Markdown) or t4 (Kernel Tuner's)."},
    {'o', "output", "FILE", "file", "Output", "write the results there",
     "Writes results to a file: what a script that measures has as its own "
     "option -o, and the output of -p and --devices."},
    {OPT_STORE, "store", "FILE", "store", "Output",
     "keep benches there; none: nowhere",
     "The SQLite file in which benches are kept, none for nowhere; otherwise "
     "CLSHELL_STORE."},
    {'q', "quiet", NULL, NULL, "Output", "no banner, no progress; errors only",
     "Neither banner, progress nor notes: only results and errors."},
    {OPT_COLOR, "color", "WHEN", "when", "Output", "auto | always | never",
     "Whether output is coloured. auto: NO_COLOR, then FORCE_COLOR and "
     "CLICOLOR_FORCE decide, else whether the stream is a terminal."},
    {'h', "help", NULL, NULL, "Output", "this text", "Prints a short help."},
    {OPT_HELPALL, "help-all", NULL, NULL, "Output",
     "every option, environment, files",
     "Prints every option, the environment, the files and the exit codes."},
    {'V', "version", NULL, NULL, "Output", "the version",
     "Prints the versions of clshell and Lua."},
    {OPT_COMPLETE, "complete", "KIND", "kind", NULL, NULL,
     "For the completions of shells: prints the words of a KIND, one a line: "
     "device, script, command, format or option."},
    {OPT_MANUAL, "manual", "KIND", "kind", NULL, NULL,
     "Prints what make install installs: man, the manual page, or the "
     "completion of a shell: bash, zsh or fish."},
    {0, NULL, NULL, NULL, NULL, NULL, NULL},
};

const char *const clsh_formats[] = {"table", "csv", "json", "ndjson",
                                    "md",    "t4",  NULL};
const char *const clsh_whens[] = {"auto", "always", "never", NULL};

const Fact clsh_environment[] = {
    {"CLSHELL_DEVICE", "the device, as for --device"},
    {"CLSHELL_HOME", "the folder with lua/, kernels/ and scripts/"},
    {"CLSHELL_STORE", "the file in which benches are kept, or none"},
    {"NO_COLOR", "no colour, where not empty"},
    {"FORCE_COLOR", "colour without a terminal; also CLICOLOR_FORCE"},
    {"COLUMNS", "the width of tables, otherwise the window's"},
    {"TERM", "dumb: no colour, no line editing"},
    {"LUA_PATH_5_4", "where require searches besides"},
    {"XDG_CONFIG_HOME", "holds clshell/init.lua (~/.config)"},
    {"XDG_STATE_HOME", "holds clshell/history (~/.local/state)"},
    {"XDG_DATA_HOME", "holds clshell/runs.db (~/.local/share)"},
    {"XDG_CACHE_HOME", "holds what was measured once (~/.cache)"},
    {"OCL_ICD_VENDORS", "where the OpenCL loader looks for drivers"},
    {NULL, NULL},
};

const Fact clsh_files[] = {
    {"~/.config/clshell/init.lua", "run before the first prompt"},
    {"~/.local/state/clshell/history", "what was typed at the prompt"},
    {"~/.local/share/clshell/runs.db", "benches, with their samples"},
    {"/etc/OpenCL/vendors/*.icd", "the drivers that the loader offers"},
    {NULL, NULL},
};

const Fact clsh_exits[] = {
    {"0", "ok"},
    {"1", "script error"},
    {"2", "bad usage"},
    {"3", "no matching device"},
    {"4", "regression found"},
    {"124", "--timeout is over"},
    {"130", "interrupted"},
    {NULL, NULL},
};

const Fact clsh_uses[] = {
    {"clshell", "interactive shell"},
    {"clshell script.lua [args]", "run a script (args in `arg` and `...`)"},
    {"clshell -e 'code'   -p 'expr'", "run code / print values"},
    {"clshell -", "run standard input"},
    {"clshell history [options]", "runs kept of earlier benches; as well: "
                                  "best,\ncompare, export, import, prune"},
    {NULL, NULL},
};

const Fact clsh_examples[] = {
    {"clshell -d gpu bench_tiles.lua 2048", "on the first GPU"},
    {"clshell -f csv bench_tiles.lua > tiles.csv", "for a spreadsheet"},
    {"clshell -p 'cl.device().name'", "the device taken"},
    {NULL, NULL},
};

static void pushfacts(lua_State *L, const Fact *f) {
  lua_newtable(L);
  for (lua_Integer i = 1; f->name != NULL; f++, i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, f->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, f->text);
    lua_setfield(L, -2, "text");
    lua_rawseti(L, -2, i);
  }
}

static void pushwords(lua_State *L, const char *const words[]) {
  lua_newtable(L);
  for (lua_Integer i = 0; words[i] != NULL; i++) {
    lua_pushstring(L, words[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static void pushoption(lua_State *L, const Option *o) {
  const char letter[2] = {(char)(o->code < OPT_LONG ? o->code : 0), '\0'};
  const char *const keys[] = {"letter", "name", "arg", "kind",
                              "group",  "help", "more"};
  const char *const values[] = {*letter != '\0' ? letter : NULL,
                                o->name,
                                o->arg,
                                o->kind,
                                o->group,
                                o->help,
                                o->more};
  lua_createtable(L, 0, 7);
  for (int i = 0; i < 7; i++) {
    lua_pushstring(L, values[i]);
    lua_setfield(L, -2, keys[i]);
  }
}

/*
** require "clshell.optiontable": the tables of this file as lists, `options`,
** `uses`, `examples`, `environment`, `files`, `exits`, `formats` and `whens`.
*/
int clsh_openoptiontable(lua_State *L) {
  static const struct {
    const char *name;
    const Fact *facts;
  } lists[] = {{"uses", clsh_uses},
               {"examples", clsh_examples},
               {"environment", clsh_environment},
               {"files", clsh_files},
               {"exits", clsh_exits}};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    pushfacts(L, lists[i].facts);
    lua_setfield(L, -2, lists[i].name);
  }
  lua_newtable(L);
  for (const Option *o = clsh_optiontable; o->code != 0; o++) {
    pushoption(L, o);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "options");
  pushwords(L, clsh_formats);
  lua_setfield(L, -2, "formats");
  pushwords(L, clsh_whens);
  lua_setfield(L, -2, "whens");
  return 1;
}
