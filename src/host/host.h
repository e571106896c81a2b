/*
** host.h - what the files of cl.host share.
** SPDX-License-Identifier: MIT
*/
#ifndef host_h
#define host_h

#include "cl/array.h"

/* Operands of C = alpha A B + beta C0, all of real types, dense. */
typedef struct Gemm {
  const Array *a, *b, *c0; /* c0: NULL where beta is 0 */
  size_t m, n, k;
  double alpha, beta;
  bool trans_a, trans_b; /* of gemm_blas only */
} Gemm;

/* The greatest error so far and its place, from 0. */
typedef struct Worst {
  double err;
  size_t row, col;
} Worst;

/* host.c */
double clsh_seconds(void);
int clsh_rawoption(lua_State *L, int arg, const char *name);
double clsh_scaled(double got, double expected, double scale);
void clsh_worse(Worst *w, double err, size_t row, size_t col);
const Array *clsh_checkreals(lua_State *L, int arg, int ndims);
void clsh_checkgemm(lua_State *L, int a, const char *const names[],
                    const char *what, Gemm *g);
void clsh_checksame(lua_State *L, const Array *a, const Array *b);

/* hostloop.c */
int clsh_gemmloop(lua_State *L);
int clsh_transposeerror(lua_State *L);
int clsh_transposeloop(lua_State *L);
void clsh_widen(lua_State *L, int arg);
Array *clsh_startgemm(lua_State *L, const Gemm *g);

/* hostsparse.c */
int clsh_csrerror(lua_State *L);
int clsh_csrloop(lua_State *L);
int clsh_diaerror(lua_State *L);
int clsh_dialoop(lua_State *L);

/* hostconvert.c */
int clsh_diatocsr(lua_State *L);

/* blas.c */
int clsh_gemmblas(lua_State *L);
int clsh_hostblas(lua_State *L);

#endif
