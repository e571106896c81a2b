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
**   candidates(text, cursor) -> first, list, hint: what may replace the bytes
**     first..cursor; cursor is the number of bytes before it; nil: none
**   mask(text) -> a class letter for each byte, see prompt/highlight.lua
**   help(text, cursor) -> what F1 shows, or nil
**   clean(text) -> a pasted text without prompts
**   idle() called once, when the first prompt has been shown
** Returns whether input comes from a terminal, with prompts.
*/
bool clsh_openedit(lua_State *L);

/*
** Reads a statement, of as many lines as it takes, and pushes its text;
** pushes nothing at the end of the input and after Ctrl-C.
*/
Input clsh_edit(lua_State *L);

/* histfile.c */
void clsh_openhistory(void);
void clsh_keephistory(const char *text);

#endif
