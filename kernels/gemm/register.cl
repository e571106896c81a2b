/* register.cl - matrix product, a block of outputs in each work-item
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. Two levels of blocking: a work-group computes
** BM x BN elements of C from tiles of BK in local memory; each work-item
** owns RM x RN of them in registers:
**
**                       B  +------- BN -------+
**                      BK  |      | b[RN]     |
**                          +------------------+
**    A  +- BK -+        C  +------------------+    for each k of the tile:
**       |------|           |      +----+      |      RM + RN local reads,
**    BM | a[RM]|       BM  |      |sum | RM   |      RM * RN multiply-adds
**       |------|           |      +-RN-+      |
**       +------+           +------------------+
**
** (the RM rows of a work-item are drawn together; in fact they lie in runs
** of VM neighbours, the runs of all work-items interleaved, so that
** neighbours read neighbouring cells of local memory; the same for RN)
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: groups = (N / BN, M / BM), rounded up (dimension 0 = columns);
**          local = (BN / RN, BM / RM), global = groups * local
** Local memory: BK (BM + VM + BN) elements, VM = 4, 2 or 1 as RM allows
** Defines: REAL, BM, BN, BK, RM, RN; RM divides BM, RN divides BN;
**          PLACED, see submatrix.cl
** Assumes: nothing about the shape; C overlaps neither A nor B
**
** Lesson: the tile size and the work-group size come apart. A local read
** costs as much as a multiply-add or more; the tiled rungs need two reads
** for each, here it is (RM + RN) / (RM RN): 8 x 8 needs a quarter of one.
** The loops over RM and RN are unrolled, since an array lives in registers
** only if all its indexes are constants. It pays on every GPU, as long as
** the registers suffice (RM RN + RM + RN and some 30 more, of 255 on
** NVIDIA) and the matrix has enough blocks to occupy all units: small
** matrices want small BM and BN. The best tile is often not square. */
#include "../type/real.cl"
#ifndef BM
#define BM 64 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 64 /* columns of C per work-group */
#endif
#ifndef BK
#define BK 16 /* depth of a tile */
#endif
#ifndef RM
#define RM 4 /* rows of C per work-item */
#endif
#ifndef RN
#define RN 4 /* columns of C per work-item */
#endif

#include "submatrix.cl"

#if BM % RM || BN % RN
#error "RM must divide BM and RN must divide BN"
#endif

#define LX (BN / RN)  /* local size */
#define LY (BM / RM)
#define WG (LX * LY)

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

/* FETCH_x(dst, src): dst[0 .. Vx-1] = src[0 .. Vx-1], one local read */
#define FETCH4(dst, src) \
  vstore4(*(local const PASTE(REAL, 4) *)(src), 0, dst)
#define FETCH2(dst, src) \
  vstore2(*(local const PASTE(REAL, 2) *)(src), 0, dst)
#define FETCH1(dst, src) (*(dst) = *(src))
#if RM % 4 == 0
#define VM 4 /* neighbouring rows of C in one work-item */
#define FETCH_A FETCH4
#elif RM % 2 == 0
#define VM 2
#define FETCH_A FETCH2
#else
#define VM 1
#define FETCH_A FETCH1
#endif
#if RN % 4 == 0
#define VN 4 /* neighbouring columns of C in one work-item */
#define FETCH_B FETCH4
#elif RN % 2 == 0
#define VN 2
#define FETCH_B FETCH2
#else
#define VN 1
#define FETCH_B FETCH1
#endif

/* row i and column j of a work-item, counted within the work-group */
#define ROW(i) (((i) / VM * LY + ty) * VM + (i) % VM)
#define COL(j) (((j) / VN * LX + tx) * VN + (j) % VN)

/* passes that the work-group needs to load a tile, and whether the last of
** them is full: a condition on constants, gone after compilation */
#define PASSES(cells) (((cells) + WG - 1) / WG)
#define WITHIN(e, cells) ((cells) % WG == 0 || (e) < (cells))

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  /* The tile of A is kept transposed, so that a run of rows is contiguous;
  ** its rows are VM longer to spread the turned stores over the banks. */
  local REAL As[BK][BM + VM] __attribute__((aligned(4 * sizeof(REAL))));
  local REAL Bs[BK][BN] __attribute__((aligned(4 * sizeof(REAL))));

  const size_t m = M, n = N, kk = K;
  const uint tx = get_local_id(0), ty = get_local_id(1);
  const uint id = ty * LX + tx;
  const size_t row0 = get_group_id(1) * BM;
  const size_t col0 = get_group_id(0) * BN;

  REAL sum[RM][RN];
  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < RN; j++)
      sum[i][j] = 0;
  }

  for (size_t k0 = 0; k0 < kk; k0 += BK) {
    #pragma unroll
    for (uint pass = 0; pass < PASSES(BM * BK); pass++) {
      const uint e = pass * WG + id;
      const size_t row = row0 + e / BK, k = k0 + e % BK;
      if (WITHIN(e, BM * BK))
        As[e % BK][e / BK] = row < m && k < kk ? A[row * lda + k] : (REAL)0;
    }
    #pragma unroll
    for (uint pass = 0; pass < PASSES(BK * BN); pass++) {
      const uint e = pass * WG + id;
      const size_t k = k0 + e / BN, col = col0 + e % BN;
      if (WITHIN(e, BK * BN))
        Bs[e / BN][e % BN] = k < kk && col < n ? B[k * ldb + col] : (REAL)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    #pragma unroll
    for (int k = 0; k < BK; k++) {
      REAL a[RM], b[RN];
      #pragma unroll
      for (int i = 0; i < RM; i += VM)
        FETCH_A(a + i, &As[k][ROW(i)]);
      #pragma unroll
      for (int j = 0; j < RN; j += VN)
        FETCH_B(b + j, &Bs[k][COL(j)]);
      #pragma unroll
      for (int i = 0; i < RM; i++) {
        #pragma unroll
        for (int j = 0; j < RN; j++)
          sum[i][j] += a[i] * b[j];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  #pragma unroll
  for (int i = 0; i < RM; i++) {
    #pragma unroll
    for (int j = 0; j < RN; j++) {
      const size_t row = row0 + ROW(i), col = col0 + COL(j);
      if (row < m && col < n) {
        global REAL *c = C + row * ldc + col;
        REAL value = alpha * sum[i][j];
        if (beta != (REAL)0)
          value += beta * *c;
        *c = value;
      }
    }
  }
}
