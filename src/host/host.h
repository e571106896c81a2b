/*
** host.h - module cl.host, and the checks of arguments that the files of
** folder host/ share.
** SPDX-License-Identifier: MIT
*/
#ifndef host_h
#define host_h

#include "cl/array.h"

/* Operands of C = alpha A B + beta C0, dense: reals, or char and C of int. */
typedef struct Gemm {
  const Array *a, *b, *c0; /* c0: NULL where beta is 0 */
  size_t m, n, k;          /* k: 0 where A and B are not read, as alpha is 0 */
  double alpha, beta;
  bool trans_a, trans_b; /* of gemm_blas only */
  bool whole;            /* C is of int, which wraps around */
} Gemm;

/* The greatest error so far and its place, from 0. */
typedef struct Worst {
  double err;
  size_t row, col;
} Worst;

/* A sparse matrix: its arrays and extents. DIA has offsets and a pitch. */
typedef struct Sparse {
  const Array *values, *x;
  const int64_t *offsets; /* DIA, copied */
  const Array *row_ptr, *col_ind;
  size_t rows, cols, ndiags, pitch, nnz;
} Sparse;

/* host.c. Stock Lua finds cl.so by the root of the name cl.host. */
int luaopen_cl_host(lua_State *L);

/* hostcheck.c */
double clsh_hostcheck_number(lua_State *L, int arg, const char *name,
                             double def);
double clsh_hostcheck_scaled(double got, double expected, double scale);
void clsh_hostcheck_worse(Worst *w, double err, size_t row, size_t col);
int clsh_hostcheck_pushworst(lua_State *L, const Worst *w, int n);
void clsh_hostcheck_load(const Array *a, size_t i, size_t n, double *x);
uint64_t clsh_hostcheck_bits(const void *p, size_t size);
Array *clsh_hostcheck_newvector(lua_State *L, const char *type, size_t n);
const Array *clsh_hostcheck_reals(lua_State *L, int arg, bool matrix);
const Array *clsh_hostcheck_numbers(lua_State *L, int arg, size_t unit);
const Array *clsh_hostcheck_matrix(lua_State *L, int arg);
void clsh_hostcheck_gemm(lua_State *L, int a, const char *names,
                         const char *what, Gemm *g);
void clsh_hostcheck_factors(Gemm *g, const Type *t);
void clsh_hostcheck_extent(lua_State *L, const Array *c, const char *name,
                           const Gemm *g);
void clsh_hostcheck_same(lua_State *L, const Array *a, const Array *b);
Array *clsh_hostcheck_newproduct(lua_State *L, const Gemm *g);

/* hostsparse.c */
void clsh_hostsparse_checkmatrix(lua_State *L, const char *what,
                                 const char *known, Sparse *m);
void clsh_hostsparse_extent(const Sparse *m, size_t d, size_t *lo, size_t *hi);
void clsh_hostsparse_indexes(lua_State *L, const Sparse *m, int **row_ptr,
                             int **col_ind);

/* the other files: their functions go to the table at the stack's top */
void clsh_blas_open(lua_State *L);
void clsh_gaussian_open(lua_State *L);
void clsh_hostbox_open(lua_State *L);
void clsh_hostcsr_open(lua_State *L);
void clsh_hostgemm_open(lua_State *L);
void clsh_hostpatterns_open(lua_State *L);
void clsh_hostscan_open(lua_State *L);
void clsh_hostsort_open(lua_State *L);
void clsh_hostsparse_open(lua_State *L);
void clsh_hosttranspose_open(lua_State *L);
void clsh_hosttruth_open(lua_State *L);
void clsh_hostwindow_open(lua_State *L);

#endif
