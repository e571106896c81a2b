/*
** cuda.c - cuBLAS and cuSPARSE as a peer of scripts/bench_peers.lua, which
** sends one line at a time and reads one line back:
**   sgemm M N K [B] | tf32 M N K [B] | dgemm M N K [B] | hgemm M N K
**                       a product on random operands, of halves with sums in
**                       float; or a batch of B products, one after another in
**                       memory
**   csr POINTS NX NY NZ | sell POINTS NX NY NZ   a stencil's matrix times a
**                       random vector; csr tries each algorithm
**   csr SIZE ROWS ENTRIES FILE   a square matrix with values of SIZE bytes:
**                       the file has row_ptr, col_ind and the values
**   run N               N launches on end: the seconds of all by CUDA events
** What is prepared answers "ok WHAT", a failure "error REASON". Leading: ten
** untimed launches after each preparation. Row-major, as in the ladders.
** Built by `make peers` where nvcc is found.
** SPDX-License-Identifier: MIT
*/
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

enum { WARMUP = 10, TRIES = 20, SLICE = 32, MAXPOINTS = 27 };

typedef struct Csr {
  int64_t rows, nnz;
  int size; /* bytes of a value; 4 for stencils */
  int *ptr, *col;
  void *val;
} Csr;

static cublasHandle_t blas;
static cusparseHandle_t sparse;
static cudaEvent_t begin, end;
static void *memory[8]; /* of what is prepared */
static int blocks;
static int (*launch)(void); /* of what is prepared; 0 where it went well */
static int m, n, k, bits;   /* of a product; bits of an element */
static int batch;           /* products of one launch */
static cusparseSpMatDescr_t matrix;
static cusparseDnVecDescr_t vecx, vecy;
static cusparseSpMVAlg_t algorithm;
static cudaDataType real; /* of matrix and vectors */
static void *workspace;

static uint64_t state = 88172645463325252u;

static float uniform(void) { /* xorshift (Marsaglia 2003), [0, 1) */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (float)(state >> 40) * 0x1p-24f;
}

/* Device memory of so many bytes, with a copy of `host` if there is one. */
static void *device(size_t bytes, const void *host) {
  void *p = NULL;
  if (blocks == 8 || cudaMalloc(&p, bytes > 0 ? bytes : 1) != cudaSuccess)
    return NULL;
  memory[blocks++] = p;
  if (host != NULL &&
      cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
    return NULL;
  return p;
}

/* The bits of the half nearest to x, 0 <= x < 1. */
static uint16_t tohalf(float x) {
  int e;
  float part = frexpf(x, &e);
  if (x < 0x1p-14f)
    return (uint16_t)(x * 0x1p24f + 0.5f);
  return (uint16_t)(((e + 14) << 10) + (int)(part * 2048 + 0.5f) - 1024);
}

/* Device memory of `count` random numbers of `size` bytes. */
static void *noise(size_t count, int size) {
  char *host = malloc(count * (size_t)size);
  if (host == NULL)
    return NULL;
  for (size_t i = 0; i < count; i++) {
    float x = uniform();
    if (size == 2)
      ((uint16_t *)(void *)host)[i] = tohalf(x);
    else if (size == 4)
      ((float *)(void *)host)[i] = x;
    else
      ((double *)(void *)host)[i] = x;
  }
  void *p = device(count * (size_t)size, host);
  free(host);
  return p;
}

static void forget(void) {
  while (blocks > 0)
    cudaFree(memory[--blocks]);
  if (matrix != NULL)
    cusparseDestroySpMat(matrix);
  if (vecx != NULL)
    cusparseDestroyDnVec(vecx);
  if (vecy != NULL)
    cusparseDestroyDnVec(vecy);
  matrix = NULL;
  vecx = vecy = NULL;
  launch = NULL;
}

/* C = A B row-major is C' = B' A' in the column-major cuBLAS. */
static int product(void) {
  static const float one = 1, zero = 0;
  static const double done = 1, dzero = 0;
  if (batch > 1) {
    long long a = (long long)m * k, b = (long long)k * n;
    long long c = (long long)m * n;
    if (bits == 64)
      return cublasDgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k,
                                       &done, memory[1], n, b, memory[0], k, a,
                                       &dzero, memory[2], n, c,
                                       batch) != CUBLAS_STATUS_SUCCESS;
    return cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k,
                                     &one, memory[1], n, b, memory[0], k, a,
                                     &zero, memory[2], n, c,
                                     batch) != CUBLAS_STATUS_SUCCESS;
  }
  if (bits == 64)
    return cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &done,
                       memory[1], n, memory[0], k, &dzero, memory[2],
                       n) != CUBLAS_STATUS_SUCCESS;
  if (bits == 16)
    return cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one,
                        memory[1], CUDA_R_16F, n, memory[0], CUDA_R_16F, k,
                        &zero, memory[2], CUDA_R_16F, n, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS;
  return cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, memory[1],
                     n, memory[0], k, &zero, memory[2],
                     n) != CUBLAS_STATUS_SUCCESS;
}

/* 1 and 0 as factors of the matrix's type. */
static const void *factor(int value) {
  static const float single[] = {0, 1};
  static const double both[] = {0, 1};
  return real == CUDA_R_64F ? (const void *)&both[value] : &single[value];
}

static int times(void) {
  return cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, factor(1),
                      matrix, vecx, factor(0), vecy, real, algorithm,
                      workspace) != CUSPARSE_STATUS_SUCCESS;
}

/* Milliseconds of `count` launches on end, negative for a failure. */
static double run(int count) {
  float ms = -1;
  int failed = launch == NULL;
  cudaEventRecord(begin, 0);
  for (int i = 0; i < count && !failed; i++)
    failed = launch();
  cudaEventRecord(end, 0);
  if (cudaEventSynchronize(end) != cudaSuccess || failed ||
      cudaEventElapsedTime(&ms, begin, end) != cudaSuccess)
    return -1;
  return ms;
}

static const char *prepare_product(int size, cublasMath_t math) {
  size_t count = (size_t)batch;
  bits = size * 8;
  if (batch < 1)
    return "a batch has one product at least";
  if (noise(count * (size_t)m * (size_t)k, size) == NULL ||
      noise(count * (size_t)k * (size_t)n, size) == NULL ||
      noise(count * (size_t)m * (size_t)n, size) == NULL)
    return "no memory";
  if (cublasSetMathMode(blas, math) != CUBLAS_STATUS_SUCCESS)
    return "cublasSetMathMode fails";
  launch = product;
  return run(WARMUP) < 0 ? "the product fails" : NULL;
}

/* The columns of a row of a 5-, 7- or 27-point stencil, ascending. */
static int columns(int points, int64_t x, int64_t y, int64_t z,
                   const int64_t *size, int64_t *list) {
  int count = 0, depth = points == 5 ? 0 : 1;
  for (int64_t c = z - depth; c <= z + depth; c++)
    for (int64_t b = y - 1; b <= y + 1; b++)
      for (int64_t a = x - 1; a <= x + 1; a++) {
        int away = (a != x) + (b != y) + (c != z);
        if ((points == 27 || away <= 1) && a >= 0 && a < size[0] && b >= 0 &&
            b < size[1] && c >= 0 && c < size[2])
          list[count++] = (c * size[1] + b) * size[0] + a;
      }
  return count;
}

static int fill(Csr *a, int points, const int64_t *size) {
  a->rows = size[0] * size[1] * size[2];
  a->size = 4;
  size_t most = (size_t)a->rows * (size_t)points;
  a->ptr = malloc(((size_t)a->rows + 1) * sizeof *a->ptr);
  a->col = malloc(most * sizeof *a->col);
  float *val = a->val = malloc(most * sizeof *val);
  if (most > INT32_MAX || !a->ptr || !a->col || !a->val)
    return 0;
  int64_t row = 0, list[MAXPOINTS];
  a->nnz = 0;
  for (int64_t z = 0; z < size[2]; z++)
    for (int64_t y = 0; y < size[1]; y++)
      for (int64_t x = 0; x < size[0]; x++, row++) {
        int count = columns(points, x, y, z, size, list);
        a->ptr[row] = (int)a->nnz;
        for (int i = 0; i < count; i++, a->nnz++) {
          a->col[a->nnz] = (int)list[i];
          val[a->nnz] = uniform();
        }
      }
  a->ptr[row] = (int)a->nnz;
  return 1;
}

/* Reads a matrix whose rows, nnz and size are known. */
static int load(Csr *a, const char *path) {
  FILE *f = fopen(path, "rb");
  size_t rows = (size_t)a->rows + 1, n = (size_t)a->nnz;
  size_t bytes = n * (size_t)a->size;
  a->ptr = malloc(rows * sizeof *a->ptr);
  a->col = malloc(n * sizeof *a->col);
  a->val = malloc(bytes);
  int ok = f && a->ptr && a->col && a->val &&
           fread(a->ptr, sizeof *a->ptr, rows, f) == rows &&
           fread(a->col, sizeof *a->col, n, f) == n &&
           fread(a->val, 1, bytes, f) == bytes;
  if (f != NULL)
    fclose(f);
  return ok;
}

static cusparseStatus_t describe_csr(const Csr *a) {
  void *ptr = device(((size_t)a->rows + 1) * sizeof *a->ptr, a->ptr);
  void *col = device((size_t)a->nnz * sizeof *a->col, a->col);
  void *val = device((size_t)a->nnz * (size_t)a->size, a->val);
  if (!ptr || !col || !val)
    return CUSPARSE_STATUS_ALLOC_FAILED;
  return cusparseCreateCsr(&matrix, a->rows, a->rows, a->nnz, ptr, col, val,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, real);
}

/* Sliced ELL: in a slice of rows the entries stand by columns, padded with
   column -1 to the longest row of the slice. */
static cusparseStatus_t describe_sell(const Csr *a) {
  int64_t slices = (a->rows + SLICE - 1) / SLICE, total = 0;
  int *start = malloc(((size_t)slices + 1) * sizeof *start);
  if (start == NULL)
    return CUSPARSE_STATUS_ALLOC_FAILED;
  for (int64_t s = 0; s < slices; s++) {
    int width = 0;
    for (int64_t i = s * SLICE; i < (s + 1) * SLICE && i < a->rows; i++)
      if (a->ptr[i + 1] - a->ptr[i] > width)
        width = a->ptr[i + 1] - a->ptr[i];
    start[s] = (int)total;
    total += (int64_t)width * SLICE;
  }
  start[slices] = (int)total;
  int *col = malloc((size_t)total * sizeof *col);
  float *val = calloc((size_t)total, sizeof *val);
  void *dstart = NULL, *dcol = NULL, *dval = NULL;
  if (col != NULL && val != NULL && total <= INT32_MAX) {
    memset(col, 0xff, (size_t)total * sizeof *col);
    for (int64_t i = 0; i < a->rows; i++)
      for (int j = a->ptr[i]; j < a->ptr[i + 1]; j++) {
        int64_t to =
            start[i / SLICE] + (int64_t)(j - a->ptr[i]) * SLICE + i % SLICE;
        col[to] = a->col[j];
        val[to] = ((float *)a->val)[j];
      }
    dstart = device(((size_t)slices + 1) * sizeof *start, start);
    dcol = device((size_t)total * sizeof *col, col);
    dval = device((size_t)total * sizeof *val, val);
  }
  free(start);
  free(col);
  free(val);
  if (!dstart || !dcol || !dval)
    return CUSPARSE_STATUS_ALLOC_FAILED;
  return cusparseCreateSlicedEll(&matrix, a->rows, a->rows, a->nnz, total,
                                 SLICE, dstart, dcol, dval, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 CUDA_R_32F);
}

/* Makes an algorithm the one that times() uses; its seconds, or negative. */
static double try_algorithm(cusparseSpMVAlg_t alg) {
  size_t size = 0;
  algorithm = alg;
  if (cusparseSpMV_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                              factor(1), matrix, vecx, factor(0), vecy, real,
                              alg, &size) != CUSPARSE_STATUS_SUCCESS)
    return -1;
  workspace = device(size, NULL);
  if (workspace == NULL)
    return -1;
  cusparseSpMV_preprocess(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, factor(1),
                          matrix, vecx, factor(0), vecy, real, alg, workspace);
  launch = times;
  return run(WARMUP) < 0 ? -1 : run(TRIES);
}

/* A matrix, whose memory goes, times a vector, by its fastest algorithm; the
** others' times are said. `made`: the matrix could be made. */
static const char *prepare_matrix(Csr a, int made, int sell,
                                  const char **what) {
  static const struct {
    cusparseSpMVAlg_t alg;
    const char *name;
  } ways[] = {{CUSPARSE_SPMV_CSR_ALG1, "CSR_ALG1"},
              {CUSPARSE_SPMV_CSR_ALG2, "CSR_ALG2"},
              {CUSPARSE_SPMV_SELL_ALG1, "sliced ELL"}};
  static char said[80];
  double ms[3] = {-1, -1, -1};
  int best = -1;
  cusparseStatus_t status = CUSPARSE_STATUS_ALLOC_FAILED;
  real = a.size == 8 ? CUDA_R_64F : CUDA_R_32F;
  if (made)
    status = sell ? describe_sell(&a) : describe_csr(&a);
  free(a.ptr);
  free(a.col);
  free(a.val);
  if (status != CUSPARSE_STATUS_SUCCESS)
    return cusparseGetErrorString(status);
  void *x = noise((size_t)a.rows, a.size), *y = noise((size_t)a.rows, a.size);
  if (!x || !y ||
      cusparseCreateDnVec(&vecx, a.rows, x, real) != CUSPARSE_STATUS_SUCCESS ||
      cusparseCreateDnVec(&vecy, a.rows, y, real) != CUSPARSE_STATUS_SUCCESS)
    return "no memory for the vectors";
  for (int i = sell ? 2 : 0; i < (sell ? 3 : 2); i++) {
    ms[i] = try_algorithm(ways[i].alg);
    if (ms[i] > 0 && (best < 0 || ms[i] < ms[best]))
      best = i;
  }
  if (best < 0)
    return "no algorithm of cuSPARSE works";
  *what = ways[best].name;
  if (!sell && ms[1 - best] > 0) {
    snprintf(said, sizeof said, "%s; %s takes %.2f times as long", *what,
             ways[1 - best].name, ms[1 - best] / ms[best]);
    *what = said;
  }
  return try_algorithm(ways[best].alg) < 0 ? "cuSPARSE fails" : NULL;
}

/* Prepares what a line asks for. Returns what is wrong, or NULL. */
static const char *prepare(const char *line, const char **what) {
  long long size[3];
  int points;
  forget();
  *what = "cuBLAS";
  batch = 1;
  if (sscanf(line, "sgemm %d %d %d %d", &m, &n, &k, &batch) >= 3)
    return prepare_product(4, CUBLAS_DEFAULT_MATH);
  if (sscanf(line, "tf32 %d %d %d %d", &m, &n, &k, &batch) >= 3)
    return prepare_product(4, CUBLAS_TF32_TENSOR_OP_MATH);
  if (sscanf(line, "dgemm %d %d %d %d", &m, &n, &k, &batch) >= 3)
    return prepare_product(8, CUBLAS_DEFAULT_MATH);
  if (sscanf(line, "hgemm %d %d %d", &m, &n, &k) == 3)
    return prepare_product(2, CUBLAS_DEFAULT_MATH);
  int sell = strncmp(line, "sell", 4) == 0;
  Csr a = {0};
  char path[768];
  if (sscanf(line, "%*s %d %lld %lld %lld", &points, size, size + 1,
             size + 2) == 4 &&
      (points == 5 || points == 7 || points == 27)) {
    int64_t sizes[3] = {size[0], size[1], size[2]};
    int made = fill(&a, points, sizes);
    return prepare_matrix(a, made, sell, what);
  }
  if (sscanf(line, "csr %d %lld %lld %767[^\n]", &a.size, size, size + 1,
             path) == 4 &&
      (a.size == 4 || a.size == 8) && size[0] > 0 && size[1] > 0) {
    a.rows = size[0];
    a.nnz = size[1];
    int made = load(&a, path);
    return prepare_matrix(a, made, 0, what);
  }
  return "what is that?";
}

int main(void) {
  char line[1024];
  const char *what = "";
  int version = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS ||
      cusparseCreate(&sparse) != CUSPARSE_STATUS_SUCCESS ||
      cudaEventCreate(&begin) != cudaSuccess ||
      cudaEventCreate(&end) != cudaSuccess) {
    puts("error no CUDA device");
    return 1;
  }
  cublasGetVersion(blas, &version);
  printf("ok %d\n", version);
  while (fgets(line, sizeof line, stdin) != NULL) {
    int count;
    if (sscanf(line, "run %d", &count) == 1) {
      printf("%.9g\n", run(count) / 1e3);
      continue;
    }
    const char *wrong = prepare(line, &what);
    if (wrong != NULL)
      printf("error %s\n", wrong);
    else
      printf("ok %s\n", what);
  }
  return 0;
}
