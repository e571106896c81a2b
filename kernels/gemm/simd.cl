/* simd.cl - matrix product on explicit vectors, for CPU devices
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, from operands packed into panels (pack.cl).
** One work-item computes MT x NT blocks of MR x NR elements, NR = NV VW;
** the sums of one block are MR x NV vectors of VW elements:
**
**                  panel of B: K x NR,   [k][j]
**                   +---VW---+---VW---+
**     panel of A:   | b[0]   | b[1]   |     for each k, for each row i:
**     K x MR, [k][i]+--------+--------+       sum[i][v] += a[i] * b[v]
**     a[0]          |sum[0][0] sum[0][1]
**     a[1]          |sum[1][0]   ...        one load per b[v], one
**     ...           |  ...                  broadcast per a[i]
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M / MR panels, rounded up; panel p begins at A + p * lda and
**             holds A[p MR + i][k] at [k MR + i], zero beyond row M
** B  in       N / NR panels, rounded up; panel p begins at B + p * ldb and
**             holds B[k][p NR + j] at [k NR + j], zero beyond column N
** lda, ldb    elements from panel to panel: K MR and K NR
** C  in, out  M x N, row-major (not packed), row i begins at C + i * ldc
**
** NDRange: global = (N / (NR NT), M / (MR MT)), both rounded up; local = 1
** Defines: REAL, VW, MR, NV, MT, NT, AHEAD; PLACED, see submatrix.cl
** Assumes: C overlaps neither A nor B
**
** Lesson: a CPU core has no use for barriers or local memory, which are
** ordinary memory and loops to it. It wants what a good BLAS does: sums
** that stay in vector registers for the whole of K (MR NV of them, plus NV
** for b and one for a, of 32 with AVX-512 and 16 with AVX2), operands laid
** out in the order of use so that each load hits the next cache line, and
** blocks in an order that keeps a panel of B in the cache while MT panels
** of A pass by. Panels come from the second cache, and are asked for AHEAD
** steps early. vload, vstore and fma on the vector type tell the compiler
** that full-width vectors are meant; some would otherwise halve them. It
** pays on CPUs from about 64 x 64 on; below that the packing dominates. */
#ifndef REAL
#define REAL float /* element type: half, float or double */
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
#ifndef MT
#define MT 6 /* blocks per work-item, downwards */
#endif
#ifndef NT
#define NT 12 /* blocks per work-item, across */
#endif
#ifndef AHEAD
#define AHEAD 32 /* steps of k from use to what is asked for, 0: nothing is */
#endif

#include "submatrix.cl"

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REALV PASTE(REAL, VW)
#define VLOAD PASTE(vload, VW)
#define VSTORE PASTE(vstore, VW)
#define NR (NV * VW)

#if AHEAD > 0 && defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
#define ASK(p) __builtin_prefetch((const void *)(size_t)(p))
#endif
#endif
#ifndef ASK
#define ASK(p)
#endif

/* c[0 .. VW-1] = alpha sum + beta c */
static void store_vector(REALV sum, REAL alpha, REAL beta, global REAL *c)
{
  REALV value = alpha * sum;
  if (beta != (REAL)0)
    value = fma((REALV)(beta), VLOAD(0, c), value);
  VSTORE(value, 0, c);
}

/* The same for the first 'cols' elements only, cols < VW */
static void store_part(REALV sum, REAL alpha, REAL beta, global REAL *c,
                       size_t cols)
{
  REAL part[VW];
  VSTORE(sum, 0, part);
  for (size_t j = 0; j < cols; j++) {
    REAL value = alpha * part[j];
    if (beta != (REAL)0)
      value += beta * c[j];
    c[j] = value;
  }
}

/* One block: MR x NR elements of C, of which rows x cols exist */
static void block(int K, REAL alpha, global const REAL *a,
                  global const REAL *b, REAL beta, global REAL *C,
                  size_t ldc, size_t rows, size_t cols)
{
  REALV sum[MR][NV];
  #pragma unroll
  for (int i = 0; i < MR; i++) {
    #pragma unroll
    for (int v = 0; v < NV; v++)
      sum[i][v] = (REALV)(0);
  }

  for (int k = 0; k < K; k++, a += MR, b += NR) {
    REALV bk[NV];
    #pragma unroll
    for (int v = 0; v < NV; v++) {
      bk[v] = VLOAD(v, b);
      ASK(b + AHEAD * NR + v * VW);
    }
    ASK(a + AHEAD * MR);
    #pragma unroll
    for (int i = 0; i < MR; i++) {
      #pragma unroll
      for (int v = 0; v < NV; v++)
        sum[i][v] = fma((REALV)(a[i]), bk[v], sum[i][v]);
    }
  }

  #pragma unroll
  for (int i = 0; i < MR; i++) {
    #pragma unroll
    for (int v = 0; v < NV; v++) {
      const size_t j = v * VW;
      global REAL *c = C + i * ldc + j;
      if ((size_t)i < rows && j + VW <= cols)
        store_vector(sum[i][v], alpha, beta, c);
      else if ((size_t)i < rows && j < cols)
        store_part(sum[i][v], alpha, beta, c, cols - j);
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const size_t m = M, n = N;
  const size_t row0 = get_global_id(1) * (MT * MR);
  const size_t col0 = get_global_id(0) * (NT * NR);
  const size_t rows = min(row0 + MT * MR, m);
  const size_t cols = min(col0 + NT * NR, n);

  for (size_t j = col0; j < cols; j += NR) {
    for (size_t i = row0; i < rows; i += MR)
      block(K, alpha, A + i / MR * lda, B + j / NR * ldb, beta,
            C + i * ldc + j, ldc, m - i, n - j);
  }
}
