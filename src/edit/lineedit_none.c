/*
** lineedit_none.c - the editor for LINEEDIT=none: lines as the terminal gives
** them, and nothing is edited.
** SPDX-License-Identifier: MIT
*/
#include "editor.h"

bool clsh_lineedit_open(lua_State *L, const Shell *shell) {
  return clsh_statement_open(L, shell);
}

Input clsh_lineedit_read(lua_State *L, const char *draft) {
  return clsh_statement_read(L, draft);
}

bool clsh_lineedit_drop(void) {
  return false;
}
