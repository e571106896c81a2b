/*
** repl.h - what the files of the program, not of module `cl`, share.
** SPDX-License-Identifier: MIT
*/
#ifndef repl_h
#define repl_h

#include <stdbool.h>

#include <lua.h>

#define PROGRAM "clshell"

/* exit codes */
#define EXIT_OK 0
#define EXIT_SCRIPT 1
#define EXIT_USAGE 2
#define EXIT_DEVICE 3
#define EXIT_INTERRUPT 130
#define EXIT_PIPE 141

/* options.c */
typedef struct Action {
  char kind; /* 'e' run code, 'p' print an expression, 'l' require */
  const char *text;
} Action;
typedef struct Options {
  int argc;
  char **argv;
  Action *actions; /* in the order given; room for argc */
  int nactions;
  int script; /* its index in argv; argc: there is none */
  const char *device;
  bool code; /* -e or -p is among the actions */
  bool list; /* --devices */
  bool interactive, quiet;
} Options;
int clsh_parse(Options *o);

/* report.c */
int clsh_docall(lua_State *L, int narg, int nres);
int clsh_report(lua_State *L, const char *progname);

/* interrupt.c */
void clsh_openinterrupt(lua_State *L);
void clsh_closeinterrupt(void);
void clsh_endinterrupt(lua_State *L);
bool clsh_isinterrupt(lua_State *L, int idx);

/* repl.c */
void clsh_repl(lua_State *L, bool quiet);
int clsh_loadexpression(lua_State *L, const char *code, const char *name);
int clsh_printresults(lua_State *L, int first);

/* complete.c */
void clsh_pushcandidates(lua_State *L);

#endif
