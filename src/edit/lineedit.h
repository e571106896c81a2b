/*
** lineedit.h - what the shell asks of an editor of statements: lineedit.c
** on GNU readline, lineedit_none.c for LINEEDIT=none.
** SPDX-License-Identifier: MIT
*/
#ifndef lineedit_h
#define lineedit_h

#include <stdbool.h>

#include <lua.h>

#define PROMPT "cl> "
#define PROMPT2 "..> "

typedef enum Input { INPUT_TEXT, INPUT_END, INPUT_CANCEL } Input;

/*
** Opens the editor and pops a table: the functions that it asks, each of
** which may be missing and none of which may run what the user wrote.
**   complete(text) -> true: Enter submits; false: more lines have to come
**   candidates(text, cursor) -> first, list, hint, common, shown: what may
**     replace the bytes first..cursor, where cursor is the number of bytes
**     before it; `common` does at once, and the list is shown as `shown` says
**   mask(text) -> a class letter for each byte, see prompt/highlight.lua, or
**     nil, where no colours are wanted
**   help(text, cursor) -> what F1 shows, or nil
**   clean(text) -> a pasted text without prompts
**   idle() called once, when the first prompt has been shown
** Its field `history` is false where none is to be read or written. Returns
** whether input comes from a terminal, with prompts.
*/
bool clsh_openedit(lua_State *L);

/*
** Reads a statement, of as many lines as it takes, and pushes its text;
** pushes nothing at the end of the input and after Ctrl-C. `draft`, unless
** NULL, is the text to begin with; it is all, where nothing can be edited.
*/
Input clsh_edit(lua_State *L, const char *draft);

/* ask.c, for the editors themselves */
void clsh_setasked(lua_State *L);
bool clsh_ask(lua_State *L, const char *name, int narg, int nres);
bool clsh_iscomplete(lua_State *L);
Input clsh_plainedit(lua_State *L, bool terminal, const char *draft);

#endif
