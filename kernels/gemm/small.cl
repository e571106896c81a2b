/* small.cl - many small products in a launch, several to a work-group
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C for each of `count` products of one shape. A
** work-group copies A and B of MANY neighbours to local memory and computes
** them; TM x TN work-items share a product, each with RM rows and CN chunks
** of VN columns of C:
**
**   in memory: A0 A1 A2 A3 A4 ..     chunks of C, 0 to 3: the work-item tx
**              |-- group 0 --| ..      0  1  2  3  0  1  2  3   row ty
**                                      0  1  2  3  0  1  2  3   row ty + TM
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
** NDRange: global = count / MANY groups, rounded up; local = WG
** Local memory: MANY (SA + SB) elements
** Defines: REAL, M, N, K, MANY, WG, RM, TM, CN, TN, VN, VK, UNROLL, VA, VB,
**          VC, TRANS_A, TRANS_B, FLAT_A, FLAT_B
** Assumes: WG >= MANY TM TN; TM RM >= M; TN CN VN >= N; VN divides N, VK
**          divides K; where VA, VB or VC is above 1, base, rows and distance
**          of that operand are multiples of so many elements; C overlaps
**          neither A nor B
**
** Lesson: a small product has little to compute and takes its time from
** memory. So each operand has to be read once, in whole cache lines, with many
** loads under way at a time. Matrices of a batch that follow each other
** without gaps are one stretch of memory (FLAT): the group reads it as such,
** 16 bytes to a work-item, whatever the rows are, and the first sum begins
** after all loads have been issued. All sizes are constants: no loop has a
** rest that is not known beforehand, and no division is left. Rows of local
** memory are an odd number of vectors apart, so that neighbours find them in
** different banks. */
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
#ifndef MANY
#define MANY 8 /* products of a work-group */
#endif
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef RM
#define RM 4 /* rows of C of a work-item, TM apart */
#endif
#ifndef TM
#define TM 4 /* work-items below each other in a product */
#endif
#ifndef CN
#define CN 1 /* chunks of a row of C of a work-item, TN apart */
#endif
#ifndef TN
#define TN 4 /* work-items beside each other in a product */
#endif
#ifndef VN
#define VN 4 /* elements in a chunk: 1, 2, 4 or 8 */
#endif
#ifndef VK
#define VK 4 /* steps of a sum in a load of A from local memory */
#endif
#ifndef UNROLL
#define UNROLL 1 /* loads of A from local memory in the body of the loop */
#endif
#ifndef VA
#define VA 1 /* elements of A in a load */
#endif
#ifndef VB
#define VB 1 /* elements of B in a load */
#endif
#ifndef VC
#define VC 1 /* elements of C in a load or store: 1 or VN */
#endif
#ifndef TRANS_A
#define TRANS_A 0 /* 1: A is stored transposed */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: B is stored transposed */
#endif
#ifndef FLAT_A
#define FLAT_A 0 /* 1: the matrices A follow each other without gaps */
#endif
#ifndef FLAT_B
#define FLAT_B 0 /* 1: the matrices B do */
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
typedef REAL wide1;
typedef PASTE(REAL, 2) wide2;
typedef PASTE(REAL, 4) wide4;
typedef PASTE(REAL, 8) wide8;
#define WIDE(v) PASTE(wide, v) /* v elements */

/* n elements, n a multiple of v, as an odd number of vectors */
#define ODD(n, v) ((n) / (v) % 2 == 1 ? (n) : (n) + (v))
#define PA ODD(K, VK)      /* elements from row to row of A, local memory */
#define SA ODD(M * PA, VK) /* from matrix to matrix */
#define SB ODD(K * N, VN)  /* B there, whose rows have no gaps */

/* Loads of a work-item for matrices of `size` elements, v at a time */
#define LOADS(size, v) ((MANY * (size) + WG * (v) - 1) / (WG * (v)))

/* Loads matrices X of rows of `cols` to x, `size` elements each, v at a
** time, and stores them to local memory; `limit` elements are there. */
#define LOAD(x, X, ld, at, size, cols, v, flat)                              \
  _Pragma("unroll") for (uint i = 0; i < LOADS(size, v); i++)                \
  {                                                                          \
    const uint e = (i * WG + id) * (v), r = e % (size);                      \
    if (e < there * (size))                                                  \
      x[i] = *(global const WIDE(v) *)(X                                     \
          + (flat ? e                                                        \
                  : e / (size) * (at).y + r / (cols) * (size_t)(ld)          \
                        + r % (cols)));                                      \
  }

#define STORE(x, P, pitch, stride, size, cols, v, turned)                    \
  _Pragma("unroll") for (uint i = 0; i < LOADS(size, v); i++)                \
  {                                                                          \
    const uint e = (i * WG + id) * (v);                                      \
    if (e >= there * (size))                                                 \
      continue;                                                              \
    if (!(turned) && (cols) % (v) == 0) {                                    \
      const uint r = e % (size);                                             \
      *(local WIDE(v) *)(P + e / (size) * (stride) + r / (cols) * (pitch)    \
                         + r % (cols)) = x[i];                               \
    } else {                                                                 \
      _Pragma("unroll") for (uint j = 0; j < (v); j++)                       \
      {                                                                      \
        const uint r = (e + j) % (size);                                     \
        P[(e + j) / (size) * (stride)                                        \
          + (turned ? r % (cols) * (pitch) + r / (cols)                      \
                    : r / (cols) * (pitch) + r % (cols))]                    \
            = ((const REAL *)(x + i))[j];                                    \
      }                                                                      \
    }                                                                        \
  }

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int count, REAL alpha, global const REAL *restrict A, int lda,
          long2 at_a, global const REAL *restrict B, int ldb, long2 at_b,
          REAL beta, global REAL *restrict C, int ldc, long2 at_c)
{
  local REAL As[MANY * SA] __attribute__((aligned(16)));
  local REAL Bs[MANY * SB] __attribute__((aligned(16)));
  const uint id = get_local_id(0);
  const size_t first = get_group_id(0) * (size_t)MANY;
  const uint there = min((size_t)MANY, (size_t)count - first);
  A += at_a.x + (long)first * at_a.y;
  B += at_b.x + (long)first * at_b.y;
  C += at_c.x + (long)first * at_c.y;

  WIDE(VA) a_in[LOADS(M * K, VA)];
  WIDE(VB) b_in[LOADS(K * N, VB)];
  LOAD(a_in, A, lda, at_a, M * K, (TRANS_A ? M : K), VA, FLAT_A)
  LOAD(b_in, B, ldb, at_b, K * N, (TRANS_B ? K : N), VB, FLAT_B)
  STORE(a_in, As, PA, SA, M * K, (TRANS_A ? M : K), VA, TRANS_A)
  STORE(b_in, Bs, N, SB, K * N, (TRANS_B ? K : N), VB, TRANS_B)
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint p = id / (TM * TN), ty = id % (TM * TN) / TN, tx = id % TN;
  if (p >= there)
    return;

  REAL sum[RM][CN * VN];
  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < CN * VN; j++)
      sum[i][j] = 0;
  }

  /* Rows and chunks beyond the last are computed as the last, not stored. */
  local const REAL *a = As + p * SA, *b = Bs + p * SB;
  #pragma unroll UNROLL
  for (int k = 0; k < K; k += VK) {
    REAL ak[RM][VK] __attribute__((aligned(16)));
    #pragma unroll
    for (int i = 0; i < RM; i++) {
      const uint row = min(ty + TM * i, (uint)M - 1);
      *(WIDE(VK) *)ak[i] = *(local const WIDE(VK) *)(a + row * PA + k);
    }
    #pragma unroll
    for (int kk = 0; kk < VK; kk++) {
      REAL bk[CN * VN] __attribute__((aligned(16)));
      #pragma unroll
      for (int j = 0; j < CN; j++) {
        const uint chunk = min(tx + TN * j, (uint)(N / VN) - 1);
        *(WIDE(VN) *)(bk + j * VN)
          = *(local const WIDE(VN) *)(b + (k + kk) * N + chunk * VN);
      }
      #pragma unroll
      for (int i = 0; i < RM; i++) {
        #pragma unroll
        for (int j = 0; j < CN * VN; j++)
          sum[i][j] += ak[i][kk] * bk[j];
      }
    }
  }

  C += (long)p * at_c.y;
  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < CN * VN; j += VC) {
      const uint row = ty + TM * i;
      const uint col = (tx + TN * (j / VN)) * VN + j % VN;
      if (row < M && col < N) {
        global WIDE(VC) *c = (global WIDE(VC) *)(C + row * (size_t)ldc + col);
        REAL out[VC] __attribute__((aligned(16)));
        #pragma unroll
        for (int v = 0; v < VC; v++)
          out[v] = alpha * sum[i][j + v];
        if (beta != 0)
          *c = *(WIDE(VC) *)out + beta * *c;
        else
          *c = *(WIDE(VC) *)out;
      }
    }
  }
}
