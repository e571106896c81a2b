/*
** blas.c - cl.host: the matrix product of OpenBLAS, through CBLAS. The library
** is loaded at the first need and never linked: clshell runs without it.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "cl/driver.h"
#include "host.h"

#define ROWMAJOR 101 /* CblasRowMajor */
#define NOTRANS 111  /* CblasNoTrans */
#define TRANS 112    /* CblasTrans */

typedef void (*Sgemm)(int order, int transa, int transb, int m, int n, int k,
                      float alpha, const float *a, int lda, const float *b,
                      int ldb, float beta, float *c, int ldc);
typedef void (*Dgemm)(int order, int transa, int transb, int m, int n, int k,
                      double alpha, const double *a, int lda, const double *b,
                      int ldb, double beta, double *c, int ldc);

/* Functions of the library; all but the first two may be NULL. */
static struct {
  Sgemm sgemm;
  Dgemm dgemm;
  const char *(*config)(void);
  const char *(*corename)(void);
  int (*getthreads)(void);
  void (*setthreads)(int n);
} blas;

static const char *const candidates[] = {
#ifdef __APPLE__
    "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
    "/usr/local/opt/openblas/lib/libopenblas.dylib", "libopenblas.dylib",
    "/System/Library/Frameworks/Accelerate.framework/Accelerate",
#else
    "libopenblas.so.0",
    "libopenblas.so",
    "libopenblasp.so.0",
    "libcblas.so.3",
    "libblas.so.3",
#endif
    NULL};

/* Loads the library for good: its threads run in it. */
static bool load(void) {
  for (int i = 0; blas.sgemm == NULL && candidates[i] != NULL; i++) {
    void *lib = dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL)
      continue;
    if (!clsh_driver_function(lib, "cblas_dgemm", &blas.dgemm) ||
        !clsh_driver_function(lib, "cblas_sgemm", &blas.sgemm)) {
      dlclose(lib); /* a BLAS without CBLAS */
      continue;
    }
    clsh_driver_function(lib, "openblas_get_config", &blas.config);
    clsh_driver_function(lib, "openblas_get_corename", &blas.corename);
    clsh_driver_function(lib, "openblas_get_num_threads", &blas.getthreads);
    clsh_driver_function(lib, "openblas_set_num_threads", &blas.setthreads);
  }
  return blas.sgemm != NULL;
}

static int missing(lua_State *L) {
  lua_pushnil(L);
  lua_pushliteral(L, "no OpenBLAS was found");
  return 2;
}

/** cl.host.blas() -> table, or nil and the reason
 * The BLAS that gemm_blas uses: name, path, and where it tells, config,
 * core (the CPU type that it chose) and threads.
 * Example:
 * local blas, why = host.blas()
 * print(blas and blas.name or why)
 */
static int host_blas(lua_State *L) {
  Dl_info info;
  void *p;
  if (!load())
    return missing(L);
  lua_createtable(L, 0, 5);
  clsh_field_string(L, "name", blas.config != NULL ? "OpenBLAS" : "CBLAS");
  if (blas.config != NULL)
    clsh_field_string(L, "config", blas.config());
  if (blas.corename != NULL)
    clsh_field_string(L, "core", blas.corename());
  memcpy(&p, &blas.sgemm, sizeof p);
  if (dladdr(p, &info) != 0 && info.dli_fname != NULL)
    clsh_field_string(L, "path", info.dli_fname);
  if (blas.getthreads != NULL)
    clsh_field_integer(L, "threads", blas.getthreads());
  return 1;
}

/* OpenBLAS 0.3.21 reads small A and B with alpha 0, too, on CPUs with AVX-512:
** a NaN there would come through. A product of no terms reads nothing. */
static void multiply(const Gemm *g, Array *c) {
  const void *a = g->a->block->data, *b = g->b->block->data;
  int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  int ta = g->trans_a ? TRANS : NOTRANS, tb = g->trans_b ? TRANS : NOTRANS;
  int lda = g->trans_a ? m : k, ldb = g->trans_b ? k : n;
  if (g->alpha == 0 || (c->type->unit == 4 && (float)g->alpha == 0))
    k = 0;
  if (c->type->unit == 4)
    blas.sgemm(ROWMAJOR, ta, tb, m, n, k, (float)g->alpha, a, lda, b, ldb,
               (float)g->beta, c->block->data, n);
  else
    blas.dgemm(ROWMAJOR, ta, tb, m, n, k, g->alpha, a, lda, b, ldb, g->beta,
               c->block->data, n);
}

/** cl.host.gemm_blas(A, B [, opts]) -> C, seconds, or nil and the reason
 * alpha*A*B + beta*C0 by OpenBLAS, in float or double; nil without OpenBLAS or
 * for another type. The first call starts its threads: time the second call.
 * Options:
 *   alpha    1      factor of the product
 *   beta     0      factor of C0
 *   C0       -      the added matrix: an Array of C's shape
 *   trans_a  false  true: A is handed over transposed
 *   trans_b  false  true: B is handed over transposed
 *   threads  -      so many; without it as OpenBLAS likes
 * Example:
 * local A = cl.array("float", {64, 64}):random(1)
 * local C, seconds = host.gemm_blas(A, A)
 * print(C and 2 * 64 ^ 3 / seconds / 1e9 or seconds) -- GFLOPS, or why not
 */
static int host_gemm_blas(lua_State *L) {
  Gemm g;
  lua_settop(L, 3);
  clsh_hostcheck_reals(L, 1, true);
  clsh_hostcheck_gemm(L, 1, "alpha beta C0 trans_a trans_b threads",
                      "gemm_blas", &g);
  clsh_hostcheck_same(L, g.a, g.b);
  if (g.c0 != NULL)
    clsh_hostcheck_same(L, g.a, g.c0);
  size_t threads = clsh_option_size(L, 3, "threads", 0);
  if (threads > 4096)
    return clsh_error(L, "option threads must be in 1..4096; got %I",
                      (lua_Integer)threads);
  if (!load())
    return missing(L);
  if (g.a->type->unit < 4 || g.m > INT_MAX || g.n > INT_MAX || g.k > INT_MAX) {
    lua_pushnil(L);
    lua_pushfstring(L,
                    g.a->type->unit < 4 ? "CBLAS has no %s"
                                        : "CBLAS counts up to 2^31 - 1",
                    g.a->type->name);
    return 2;
  }
  Array *c = clsh_hostcheck_newproduct(L, &g);
  if (g.c0 == NULL) /* its pages come before the clock starts */
    memset(c->block->data, 0, clsh_array_bytes(c));
  bool change = threads != 0 && blas.setthreads != NULL;
  int before = blas.getthreads != NULL ? blas.getthreads() : 1;
  if (change)
    blas.setthreads((int)threads);
  double start = clsh_poll_now();
  multiply(&g, c);
  double seconds = clsh_poll_now() - start;
  if (change)
    blas.setthreads(before);
  lua_pushnumber(L, seconds);
  return 2;
}

void clsh_blas_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"blas", host_blas}, {"gemm_blas", host_gemm_blas}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
