/*
** fault.c - what MPI reports, raised.
** SPDX-License-Identifier: MIT
*/
#include "comm.h"

/* Raises unless `code` is MPI_SUCCESS: "MPI_Irecv: text of the library". */
void clsh_fault_check(lua_State *L, int code, const char *call) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int n = 0;
  if (code == MPI_SUCCESS)
    return;
  if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
    n = 0;
  text[n] = '\0';
  clsh_error(L, "%s: %s", call, n > 0 ? text : "an unknown error of MPI");
}
