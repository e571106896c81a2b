/*
** options.h - the tables of the command line, which optiontable.c holds.
** SPDX-License-Identifier: MIT
*/
#ifndef options_h
#define options_h

#include <lua.h>

/* codes of options without a letter */
#define OPT_LONG 256
#define OPT_DEVICES 257
#define OPT_DOCTOR 258
#define OPT_TIMEOUT 259
#define OPT_STORE 260
#define OPT_COLOR 261
#define OPT_HELPALL 262
#define OPT_COMPLETE 263
#define OPT_MANUAL 264

typedef struct Option {
  int code;          /* its letter, or a number above OPT_LONG */
  const char *name;  /* the long one; may be NULL */
  const char *arg;   /* what the help calls its argument; NULL: a flag */
  const char *kind;  /* of the argument, which tells what completes it */
  const char *group; /* of the help; NULL: an option for programs */
  const char *help;  /* in few words; a line each */
  const char *more;  /* in sentences */
} Option;

typedef struct Fact {
  const char *name;
  const char *text;
} Fact;

/* All end with an entry of NULLs. */
extern const Option clsh_optiontable[];
extern const Fact clsh_uses[], clsh_examples[], clsh_environment[],
    clsh_files[], clsh_exits[];
extern const char *const clsh_formats[], *const clsh_whens[];

int clsh_openoptiontable(lua_State *L);

/* usage.c */
void clsh_printhelp(void);
void clsh_printhelpall(void);

#endif
