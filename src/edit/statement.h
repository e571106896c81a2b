/*
** statement.h - parts of both editors: calls of the session's functions, and
** statements that are read line by line.
** SPDX-License-Identifier: MIT
*/
#ifndef statement_h
#define statement_h

#include "edit.h"

#define PROMPT "cl> "
#define PROMPT2 "..> "

extern const Shell *clsh_statement_shell;

bool clsh_statement_open(lua_State *L, const Shell *shell);
bool clsh_statement_ask(lua_State *L, const char *name, int narg, int nres);
bool clsh_statement_complete(lua_State *L, size_t *first);
Input clsh_statement_read(lua_State *L, const char *draft);

#endif
