/*
** host.c - opens module cl.host.
** SPDX-License-Identifier: MIT
*/
#include "host.h"

int luaopen_cl_host(lua_State *L) {
  lua_newtable(L);
  clsh_blas_open(L);
  clsh_gaussian_open(L);
  clsh_hostbox_open(L);
  clsh_hostcsr_open(L);
  clsh_hostgemm_open(L);
  clsh_hostpatterns_open(L);
  clsh_hostscan_open(L);
  clsh_hostsort_open(L);
  clsh_hostsparse_open(L);
  clsh_hosttranspose_open(L);
  clsh_hosttruth_open(L);
  clsh_hostwindow_open(L);
  return 1;
}
