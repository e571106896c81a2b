/*
** shell.h - the functions that the files of the program share.
** SPDX-License-Identifier: MIT
*/
#ifndef shell_h
#define shell_h

#include <stdbool.h>

#include <lua.h>

#define PROGRAM "clshell"

/* exit codes */
#define EXIT_OK 0
#define EXIT_SCRIPT 1
#define EXIT_USAGE 2
#define EXIT_DEVICE 3
#define EXIT_TIMEOUT 124
#define EXIT_INTERRUPT 130
#define EXIT_PIPE 141

/* optiontable.c: the options of the command line, ended by a code of 0 */
#define OPT_LONG 256 /* codes from here on have no letter */
#define OPT_DEVICES 257
#define OPT_DOCTOR 258
#define OPT_TIMEOUT 259
#define OPT_STORE 260
#define OPT_COLOR 261
#define OPT_HELPALL 262
#define OPT_COMPLETE 263
#define OPT_MANUAL 264
#define OPT_CALLS 265
#define OPT_CUDA 266
#define OPT_MEMCHECK 267
#define OPT_OPTIONS 268
#define OPT_AS 269
#define OPT_TRACE 270
typedef struct Option {
  int code;          /* its letter, or a number above OPT_LONG */
  const char *name;  /* the long name; may be NULL */
  const char *arg;   /* the name of its argument in the help; NULL: a flag */
  const char *kind;  /* of the argument; completion goes by it */
  const char *tool;  /* the function of shell/commands/actions.lua, or NULL */
  const char *group; /* in the help; NULL: an option for programs */
  const char *help;  /* in few words; lines */
  const char *more;  /* in sentences */
} Option;
extern const Option clsh_optiontable[];
extern const char *const clsh_optiontable_formats[],
    *const clsh_optiontable_whens[];
int luaopen_clshell_optiontable(lua_State *L);

/* options.c */
typedef struct Action {
  char kind; /* e and p run code, l requires, I D O: see cl.commandline */
  const char *text;
} Action;
typedef struct Options {
  int argc;
  char **argv;
  Action *actions; /* in the order given; room for argc */
  int nactions;
  int script; /* its index in argv; argc: no script */
  const char *device, *as, *format, *output, *color, *trace;
  const char *tool; /* runs in place of a script: devices, doctor ...; NULL */
  const char *what; /* the tool's argument */
  double timeout;   /* seconds; 0: none */
  bool code;        /* -e or -p is among the actions */
  bool interactive, noinit, quiet;
} Options;
int clsh_options_parse(Options *o);
const char *clsh_options_shown(const char *word);

/* home.c */
extern const char clsh_home_commit[]; /* of the build; "": it is unknown */
void clsh_home_pushprogram(lua_State *L);
void clsh_home_push(lua_State *L);
const char *clsh_home_pushscript(lua_State *L, const char *name,
                                 const char *home);
void clsh_home_pushfolder(lua_State *L, const char *script);
void clsh_home_setpath(lua_State *L, const char *home);

/* child.c */
int luaopen_clshell_child(lua_State *L);

/* cudarun.c */
int luaopen_clshell_cudarun(lua_State *L);

/* system.c */
int luaopen_clshell_system(lua_State *L);

/* timeout.c */
void clsh_timeout_start(lua_State *L, double end);
bool clsh_timeout_expired(void);

/* journal.c */
int clsh_journal_file(const char **name);
void clsh_journal_remove(void);
int luaopen_clshell_journal(lua_State *L);

/* restart.c: the step after a crash, which the new program is told: the end;
   the user is asked; the restore crashed; %restart */
typedef enum Restart {
  RESTART_NEVER = '-',
  RESTART_PROMPT = 'p',
  RESTART_RESTORE = 'r',
  RESTART_COMMAND = 'c'
} Restart;
void clsh_restart_open(lua_State *L, char *argv[]);
double clsh_restart_deadline(double seconds);
bool clsh_restart_began(void);
void clsh_restart_stage(Restart now);
bool clsh_restart_able(void);
void clsh_restart_crashed(void);
int luaopen_clshell_restart(lua_State *L);

/* crash.c */
void clsh_crash_open(void);
void clsh_crash_script(const char *name);

/* run.c */
int clsh_run_call(lua_State *L, int narg, int nres);
int clsh_run_require(lua_State *L, const char *name);
int clsh_run_report(lua_State *L, const char *progname);

/* traceback.c */
void clsh_traceback_open(lua_State *L);
void clsh_traceback_keep(lua_State *L, int idx);
void clsh_traceback_keepcoroutine(lua_State *L, lua_State *co);
void clsh_traceback_drop(lua_State *L);
void clsh_traceback_remember(lua_State *L, const char *chunkname,
                             const char *text);

/* interrupt.c */
void clsh_interrupt_open(lua_State *L);
void clsh_interrupt_close(void);
void clsh_interrupt_end(lua_State *L);
void clsh_interrupt_stop(void);
void clsh_interrupt_restoreterminal(void);
bool clsh_interrupt_test(lua_State *L, int idx);
lua_CFunction clsh_interrupt_replace(lua_State *L, const char *library,
                                     const char *name, lua_CFunction f);

/* launcher.c */
typedef struct Launch {
  const char *launcher;             /* in words */
  int rank, size, local, localsize; /* from 0; local: on its host */
} Launch;
bool clsh_launcher_get(Launch *l);
bool clsh_launcher_several(Launch *l);
void clsh_launcher_own(void);

/* lines.c */
void clsh_lines_open(void);
void clsh_lines_end(void);

/* exit.c */
extern void (*clsh_exit_library)(int code); /* module mpi's part of the end */
void clsh_exit_begin(void);
void clsh_exit_leave(lua_State *L);
void clsh_exit_end(int code);
void clsh_exit_open(lua_State *L);

/* repl.c */
void clsh_repl_run(lua_State *L, bool quiet);
int clsh_repl_load(lua_State *L, const char *code, const char *name);

#endif
