/*
** edit.h - the editor of statements at the prompt, for the shell:
** lineedit.c on GNU readline, lineedit_none.c for LINEEDIT=none.
** SPDX-License-Identifier: MIT
*/
#ifndef edit_h
#define edit_h

#include <stdbool.h>

#include <lua.h>

typedef enum Input { INPUT_TEXT, INPUT_END, INPUT_CANCEL } Input;

/* Functions of the program that the editor calls. */
typedef struct Shell {
  bool (*expired)(void);              /* the time of the run is over */
  void (*endinterrupt)(lua_State *L); /* a Ctrl-C has been dealt with */
  void (*restoreterminal)(void);      /* may be called in signal handlers */
} Shell;

/*
** Opens the editor and pops a table of functions that it calls. Each may be
** missing, and none may run code of the user:
**   complete(text) -> true: Enter submits; false: more lines have to come;
**     and, of several inputs, the bytes of the first, which it submits
**   candidates(text, cursor) -> first, list, hint, common, shown: texts that
**     may replace the bytes first..cursor, where cursor is the number of
**     bytes before it; `common` replaces them at once, and the list is shown
**     as `shown` says
**   mask(text) -> a class letter for each byte, or nil for no colours; see
**     lua/clshell/shell/prompt/highlight.lua
**   help(text, cursor) -> the text that F1 shows, or nil
**   clean(text) -> a pasted text without prompts
**   keymap() -> "emacs" or "vi", asked before each statement; nil: as it is
**   entries() -> the list of the entries of the history, the oldest first
**   remember(text) adds an entry to that list
**   argument(text) -> the last argument of an entry, for Alt-., or nil
**   indent(text, cursor) -> the blanks that the line of the cursor begins
**     with, nil where they stay, and the blanks of a new line after it
**   suggests() -> whether entries of the history are suggested
**   idle() called once, after the first prompt was shown
** Returns whether input comes from a terminal, with prompts.
*/
bool clsh_lineedit_open(lua_State *L, const Shell *shell);

/*
** Reads a statement, of as many lines as it takes, and pushes its text;
** pushes nothing at the end of the input and after Ctrl-C. `draft`, unless
** NULL, is the text to begin with; without an editor it is the statement.
*/
Input clsh_lineedit_read(lua_State *L, const char *draft);

/* Drops the later inputs of a transcript; returns whether there were any. */
bool clsh_lineedit_drop(void);

#endif
