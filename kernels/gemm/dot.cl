/* dot.cl - matrix product of char by dot products of four elements
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C in int, which wraps around. A word has four
** neighbours of a row of A, another four of a row of the transposed B; one
** instruction of many GPUs adds the sum of their products to an int:
**
**    A  row i  | a0 a1 a2 a3 | ...        sum += a0 b0 + a1 b1
**    B  row j  | b0 b1 b2 b3 | ...             + a2 b2 + a3 b3
**
** The blocks are as in register.cl: BM x BN elements of C for a work-group,
** RM x RN for a work-item, in steps of BK words.
**
** M, N, K     rows of C, columns of C, words of a row of A and B; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K words, row-major, lda >= 4 K elements
** B  in       N x K words, row-major, ldb >= 4 K elements
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: groups = (N / BN, M / BM), rounded up (dimension 0 = columns);
**          local = (BN / RN, BM / RM), global = groups * local
** Local memory: BK (BM + BN + 2) words
** Defines: BM, BN, BK, RM, RN; RM divides BM, RN divides BN; PLACED, see
**          submatrix.cl
** Assumes: rows and matrices of A and B begin at multiples of 4 bytes, and
**          hold zeros beyond their last element; C overlaps neither A nor B
**
** Lesson: four products for an instruction, and for a local read. OpenCL 3
** has a built-in for it, NVIDIA an instruction; elsewhere the compiler gets
** plain C. */
#ifndef BM
#define BM 64 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 64 /* columns of C per work-group */
#endif
#ifndef BK
#define BK 8 /* words of a tile along k */
#endif
#ifndef RM
#define RM 4 /* rows of C per work-item */
#endif
#ifndef RN
#define RN 4 /* columns of C per work-item */
#endif

#include "submatrix.cl"
#include "dot4.cl"

#define LX (BN / RN) /* local size */
#define LY (BM / RM)
#define WG (LX * LY)

/* Words k0 .. k0 + BK - 1 of `lines` rows from `first` on, below `end`. */
#define LOAD(tile, lines, X, ld, first, end)                                 \
  for (uint e = id; e < lines * BK; e += WG) {                               \
    const size_t row = first + e / BK, k = k0 + e % BK;                      \
    tile[e % BK][e / BK] = row < end && k < K ? X[row * (ld / 4) + k] : 0;   \
  }

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void gemm(int M, int N, int K, int alpha, global const char *restrict A,
          int lda, global const char *restrict B, int ldb, int beta,
          global int *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  local uint As[BK][BM + 1], Bs[BK][BN + 1];
  global const uint *a4 = (global const uint *)A;
  global const uint *b4 = (global const uint *)B;
  const size_t m = M, n = N;
  const uint tx = get_local_id(0), ty = get_local_id(1);
  const uint id = ty * LX + tx;
  const size_t row0 = get_group_id(1) * BM, col0 = get_group_id(0) * BN;

  int sum[RM][RN];
  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < RN; j++)
      sum[i][j] = 0;
  }
  for (int k0 = 0; k0 < K; k0 += BK) {
    LOAD(As, BM, a4, lda, row0, m)
    LOAD(Bs, BN, b4, ldb, col0, n)
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < BK; k++) {
      uint a[RM], b[RN];
      #pragma unroll
      for (int i = 0; i < RM; i++)
        a[i] = As[k][i * LY + ty];
      #pragma unroll
      for (int j = 0; j < RN; j++)
        b[j] = Bs[k][j * LX + tx];
      #pragma unroll
      for (int i = 0; i < RM; i++) {
        #pragma unroll
        for (int j = 0; j < RN; j++)
          sum[i][j] = DOT4(a[i], b[j], sum[i][j]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < RN; j++) {
      const size_t row = row0 + i * LY + ty, col = col0 + j * LX + tx;
      if (row < m && col < n) {
        global int *c = C + row * ldc + col;
        uint value = (uint)alpha * (uint)sum[i][j];
        if (beta != 0)
          value += (uint)beta * (uint)*c;
        *c = value;
      }
    }
  }
}
