/*
** optiontable.c - the options of the command line, for parsing, --help, the
** manual page and the completions of shells.
** SPDX-License-Identifier: MIT
*/
#include <lauxlib.h>

#include "cl/cl.h"
#include "shell.h"

const Option clsh_optiontable[] = {
    {'d', "device", "SEL", "device", NULL, "Device",
     "number | gpu | cpu | part of a name\n(otherwise CLSHELL_DEVICE)",
     "The device of the session: its number in the list of --devices, "
     "gpu, cpu or accelerator for the first of that type, or part of its "
     "name or platform. Otherwise CLSHELL_DEVICE, else the first GPU, "
     "accelerator or CPU. The processes that mpirun starts on a host take "
     "the devices that fit in turn."},
    {OPT_AS, "as", "GPU", "gpu", NULL, "Device",
     "keep the limits of that GPU: M1, T4 ...",
     "Devices keep the limits of the GPU, work-items of a work-group, local "
     "memory and constant memory, where their own are not lower, so that "
     "what the GPU cannot run is refused here. Names, and compute "
     "capabilities of NVIDIA such as 8.6, as for occupancy. Times and rates "
     "are the real device's, and results name both."},
    {OPT_DEVICES, "devices", NULL, NULL, "devices", "Device",
     "list the devices (-f json for tools)",
     "Lists the devices and exits, in the format of --format. Exit code 3 "
     "where there is none."},
    {OPT_DOCTOR, "doctor", NULL, NULL, "doctor", "Device",
     "explain why a device is missing",
     "Looks at the OpenCL loader, the drivers it is told of and why a driver "
     "does not load, platforms and devices, permissions, PoCL's cache and the "
     "programs and libraries that clshell uses, and says what to install. "
     "Exit code 0 when a device is usable, else 3."},
    {'e', NULL, "CODE", "code", NULL, "Running", "run CODE", "Runs Lua code."},
    {'p', NULL, "EXPR", "code", NULL, "Running", "print the values of EXPR",
     "Prints the values of a Lua expression, in the format of --format."},
    {'l', NULL, "MOD", "module", NULL, "Running",
     "require MOD into a global; or G=MOD",
     "Calls require MOD and puts the result into the global MOD; -l G=MOD "
     "into the global G."},
    {'I', NULL, "DIR", "dir", NULL, "Running", "search DIR for modules too",
     "Adds a folder in which require searches, before all others. May be "
     "repeated."},
    {'i', "interactive", NULL, NULL, NULL, "Running",
     "open the shell afterwards, failed or not",
     "Opens the interactive shell after the script or code, also when that "
     "failed, with its globals."},
    {'c', "check", NULL, NULL, "check", "Running",
     "compile script and kernels, run nothing",
     "Compiles the scripts and files of kernels that follow, the modules "
     "beside a script and the kernels that it names in calls of cl.build, "
     "cl.kernel and define, and as rungs such as gemm.tiled, and runs "
     "nothing. Calls that cannot be known without running, and globals that "
     "nothing sets, are listed. -D, -I and --options, here or among the "
     "files, are for files of kernels. Exit code 1 when something does not "
     "compile."},
    {'D', NULL, "NAME[=VALUE]", "define", NULL, "Running",
     "with --check: define a macro",
     "Defines a macro for the files of kernels that --check compiles, 1 "
     "without a value. May be repeated."},
    {OPT_OPTIONS, "options", "TEXT", "text", NULL, "Running",
     "with --check: options of the compiler",
     "Options of the compiler, such as -cl-std=CL3.0, for the files of "
     "kernels that --check compiles."},
    {OPT_CUDA, "cuda", NULL, NULL, "cuda", "Running",
     "compile a CUDA file, list its kernels",
     "Compiles the kernels of a CUDA file for the device, - for standard "
     "input, and runs nothing. Lists the kernels, how to launch each, and "
     "the Lua for the host's calls. Exit codes as for --check, "
     "which does the same to a file that ends in .cu."},
    {OPT_MEMCHECK, "memcheck", NULL, NULL, "memcheck", "Running",
     "check every launch on a simulator",
     "Runs the script with the simulator Oclgrind as its only device, and "
     "tells the defects of its kernels: accesses outside Buffers and arrays, "
     "races, barriers in divergent code, values that were never written. It "
     "executes some million instructions a second: take small problems. "
     "Exit code 1 where there is a defect."},
    {'n', "no-init", NULL, NULL, NULL, "Running", "skip init.lua and history",
     "The interactive shell neither runs init.lua nor reads or writes its "
     "history."},
    {OPT_TIMEOUT, "timeout", "SEC", "seconds", NULL, "Running",
     "stop the whole run (exit 124)",
     "Stops the run after so many seconds, inside a call of a driver too. "
     "Results so far are printed and kept as after Ctrl-C. Exit code "
     "124."},
    {'f', "format", "FMT", "format", NULL, "Output", "table | csv | json | md",
     "How -p, --devices, scripts that measure and the commands on kept runs "
     "print: table for people, csv, json or md (Markdown)."},
    {'o', "output", "FILE", "file", NULL, "Output", "write the results there",
     "Writes results to a file, as the option -o of a script that measures, "
     "and the output of -p and --devices. Of the processes that "
     "mpirun starts, rank 0 alone writes it."},
    {OPT_STORE, "store", "FILE", "store", NULL, "Output",
     "keep benches there; none: nowhere",
     "The SQLite file in which benches are kept, none for nowhere; otherwise "
     "CLSHELL_STORE."},
    {OPT_TRACE, "trace", "FILE", "file", NULL, "Output",
     "write a timeline, for ui.perfetto.dev",
     "Records every command of every queue, builds, waits of the host and the "
     "functions of the script, and writes them as JSON in the Trace Event "
     "format, which ui.perfetto.dev opens, at the end, after an error, "
     "Ctrl-C and os.exit too. A summary goes to "
     "standard error. The processes that mpirun starts share one file."},
    {'q', "quiet", NULL, NULL, NULL, "Output",
     "no banner, no progress; errors only",
     "Neither banner, progress nor notes: only results and errors."},
    {OPT_COLOR, "color", "WHEN", "when", NULL, "Output",
     "auto | always | never",
     "Whether output is coloured. auto: NO_COLOR, then FORCE_COLOR and "
     "CLICOLOR_FORCE decide, else whether the stream is a terminal."},
    {'h', "help", NULL, NULL, "help", "Output", "this text",
     "Prints a short help."},
    {OPT_HELPALL, "help-all", NULL, NULL, "help_all", "Output",
     "every option, environment, files",
     "Prints every option, the environment, the files and the exit codes."},
    {'V', "version", NULL, NULL, NULL, "Output", "the version",
     "Prints the versions of clshell and Lua."},
    {OPT_COMPLETE, "complete", "KIND", "kind", "complete", NULL, NULL,
     "For the completions of shells: prints the words of a KIND, one a line: "
     "device, script, command, format or option; or line: the words that "
     "may stand in place of the last word behind --."},
    {OPT_MANUAL, "manual", "KIND", "kind", "manual", NULL, NULL,
     "Prints a file that make install installs: man, the manual page, or the "
     "completion of a shell: bash, zsh or fish. html opens the help in a "
     "browser, html WORD the page of a word, and prints its address."},
    {OPT_CALLS, "calls", NULL, NULL, "calls", NULL, NULL,
     "For clshell itself: runs the calls that another clshell sends."},
    {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

const char *const clsh_optiontable_formats[] = {"table", "csv", "json", "md",
                                                NULL};
const char *const clsh_optiontable_whens[] = {"auto", "always", "never", NULL};

static void setwords(lua_State *L, const char *key,
                     const char *const words[]) {
  lua_newtable(L);
  for (lua_Integer i = 0; words[i] != NULL; i++) {
    lua_pushstring(L, words[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

static void pushoption(lua_State *L, const Option *o) {
  const char letter[2] = {(char)(o->code < OPT_LONG ? o->code : 0), '\0'};
  lua_createtable(L, 0, 7);
  clsh_field_string(L, "letter", *letter != '\0' ? letter : NULL);
  clsh_field_string(L, "name", o->name);
  clsh_field_string(L, "arg", o->arg);
  clsh_field_string(L, "kind", o->kind);
  clsh_field_string(L, "group", o->group);
  clsh_field_string(L, "help", o->help);
  clsh_field_string(L, "more", o->more);
}

/* require "clshell.optiontable": the lists `options`, `formats`, `whens`. */
int luaopen_clshell_optiontable(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_newtable(L);
  for (int i = 0; clsh_optiontable[i].code != 0; i++) {
    pushoption(L, &clsh_optiontable[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "options");
  setwords(L, "formats", clsh_optiontable_formats);
  setwords(L, "whens", clsh_optiontable_whens);
  return 1;
}
