/* small_simd.cl - many small products in a launch, for CPU devices
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C for each of `count` products of one shape. A
** work-item computes EACH products, one after another, in blocks of MR rows
** and NV vectors of VW columns, as simd.cl does, from the operands as they
** lie in memory:
**
**            b[0]   b[1]          a row of B, NV vectors
**     a[0]   sum[0][0] sum[0][1]
**     a[1]   sum[1][0]   ...      MR elements of a column of A
**
** count       products
** M, N, K     (defines) rows of C, columns of C, length of the sums
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K each, or K x M with TRANS_A: row i at i * lda
** B  in       K x N each, or N x K with TRANS_B: row i at i * ldb
** C  in, out  M x N each: row i at i * ldc
** at_x        .x: elements from the pointer to the first matrix, .y: from one
**             matrix to the next, 0 where all products share it
**
** NDRange: global = count / EACH, rounded up; local = 1
** Defines: REAL, M, N, K, VW, MR, NV, EACH, TRANS_A, TRANS_B
** Assumes: NV divides N / VW, rounded up; C overlaps neither A nor B
**
** Lesson: packing pays where an element is used many times, and the first
** cache holds a small matrix whole, packed or not. So only a B moves whose
** rows are no whole vectors or lie the other way: it goes to private memory,
** its rows filled up with zeros. All sizes are constants, and the compiler
** unrolls short loops. One launch for all products saves the cost of many
** launches, and EACH products in a work-item save the starts of others. */
#include "../type/real.cl"
#ifndef M
#define M 16 /* rows of C */
#endif
#ifndef N
#define N 16 /* columns of C */
#endif
#ifndef K
#define K 16 /* length of the sums */
#endif
#ifndef VW
#define VW 8 /* elements in a vector: 2, 4, 8 or 16 */
#endif
#ifndef MR
#define MR 6 /* rows of C in a block */
#endif
#ifndef NV
#define NV 2 /* vectors in a row of a block */
#endif
#ifndef EACH
#define EACH 8 /* products of a work-item */
#endif
#ifndef TRANS_A
#define TRANS_A 0 /* 1: A is stored transposed */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: B is stored transposed */
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REALV PASTE(REAL, VW)
#define VLOAD PASTE(vload, VW)
#define VSTORE PASTE(vstore, VW)
#define WIDTH ((N + VW - 1) / VW * VW) /* columns in whole vectors */
#define COPIED (TRANS_B || N % VW != 0)

/* c[0 .. VW-1] = alpha sum + beta c, or, of the `last` vector of a row, only
** the elements that exist */
static void store(REALV sum, REAL alpha, REAL beta, global REAL *c, int last)
{
  if (N % VW == 0 || !last) {
    REALV value = alpha * sum;
    if (beta != (REAL)0)
      value = fma((REALV)(beta), VLOAD(0, c), value);
    VSTORE(value, 0, c);
  } else {
    REAL part[VW];
    VSTORE(sum, 0, part);
    #pragma unroll
    for (int j = 0; j < N % VW; j++) {
      REAL value = alpha * part[j];
      if (beta != (REAL)0)
        value += beta * c[j];
      c[j] = value;
    }
  }
}

#if COPIED
#define SPACE /* private: the address space of B as it is multiplied */
#else
#define SPACE global
#endif

/* The block of C that begins at row i, column j; rows beyond the last are
** computed as the last, not stored. */
static void block(REAL alpha, global const REAL *A, int lda,
                  SPACE const REAL *B, int ldb, REAL beta, global REAL *C,
                  int ldc, int i, int j)
{
  REALV sum[MR][NV];
  #pragma unroll
  for (int r = 0; r < MR; r++) {
    #pragma unroll
    for (int v = 0; v < NV; v++)
      sum[r][v] = (REALV)(0);
  }
  #pragma unroll 4
  for (int k = 0; k < K; k++) {
    REALV b[NV];
    #pragma unroll
    for (int v = 0; v < NV; v++)
      b[v] = VLOAD(v, B + k * ldb + j);
    #pragma unroll
    for (int r = 0; r < MR; r++) {
      const int row = M % MR == 0 ? i + r : min(i + r, M - 1);
      const REAL a = TRANS_A ? A[k * (size_t)lda + row]
                             : A[row * (size_t)lda + k];
      #pragma unroll
      for (int v = 0; v < NV; v++)
        sum[r][v] = fma((REALV)(a), b[v], sum[r][v]);
    }
  }
  #pragma unroll
  for (int r = 0; r < MR; r++) {
    #pragma unroll
    for (int v = 0; v < NV; v++) {
      if (i + r < M)
        store(sum[r][v], alpha, beta,
              C + (i + r) * (size_t)ldc + j + v * VW,
              j + v * VW + VW > N);
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(int count, REAL alpha, global const REAL *restrict A, int lda,
          long2 at_a, global const REAL *restrict B, int ldb, long2 at_b,
          REAL beta, global REAL *restrict C, int ldc, long2 at_c)
{
  const size_t first = get_global_id(0) * (size_t)EACH;
  const size_t last = min(first + EACH, (size_t)count);

  for (size_t p = first; p < last; p++) {
    global const REAL *a = A + at_a.x + (long)p * at_a.y;
    global const REAL *b = B + at_b.x + (long)p * at_b.y;
    global REAL *c = C + at_c.x + (long)p * at_c.y;
#if COPIED
    REAL rows[K * WIDTH] __attribute__((aligned(64)));
    for (int k = 0; k < K; k++) {
      for (int j = 0; j < N; j++)
        rows[k * WIDTH + j] = TRANS_B ? b[j * (size_t)ldb + k]
                                      : b[k * (size_t)ldb + j];
      for (int j = N; j < WIDTH; j++)
        rows[k * WIDTH + j] = 0;
    }
#define ROWS rows, WIDTH
#else
#define ROWS b, ldb
#endif
    #pragma unroll 1
    for (int i = 0; i < M; i += MR) {
      #pragma unroll 1
      for (int j = 0; j < WIDTH; j += NV * VW)
        block(alpha, a, lda, ROWS, beta, c, ldc, i, j);
    }
  }
}
