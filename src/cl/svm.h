/*
** svm.h - shared virtual memory, and the buffers whose memory it is.
** SPDX-License-Identifier: MIT
*/
#ifndef svm_h
#define svm_h

#include "context.h"

/* svm.c */
typedef struct Svm Svm;
Svm *clsh_svm_new(lua_State *L, Context *c, bool fine, size_t bytes);
void *clsh_svm_address(const Svm *s);
cl_int clsh_svm_give(Svm *s, cl_mem mem);
void clsh_svm_free(Svm *s);

/* uses.c */
void clsh_uses_copy(lua_State *L, int kernel, cl_kernel handle);
void clsh_uses_open(lua_State *L);

#endif
