/*
** lineedit_none.c - an editor that edits nothing, for LINEEDIT=none: lines
** come as the terminal gives them.
** SPDX-License-Identifier: MIT
*/
#include <unistd.h>

#include "lineedit.h"

static bool terminal;

bool clsh_openedit(lua_State *L) {
  clsh_setasked(L);
  terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  return terminal;
}

Input clsh_edit(lua_State *L, const char *draft) {
  return clsh_plainedit(L, terminal, draft);
}
