/* nv_tf32.cl - matrix product of floats cut to 11 bits, on tensor cores
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, for NVIDIA GPUs. The elements of A and B are
** rounded to TF32 on their way to the tensor cores: 8 bits of exponent as in
** float, 11 instead of 24 bits of precision. The sums are float, but cut off
** towards zero. Three decimal digits are right; not to be taken for float.
**
**                         B  +---- BN ----+     fragments of lane 4 g + t:
**                        16  |  |         |
**                            +------------+          a: rows g, g + 8
**     A  +- 16 -+         C  +------------+             columns t, t + 4
**        |------|            |  warp      |          b: rows t, t + 4
**    BM  |      |        BM  | WM x WN    |             column g
**        |      |            |            |          c: rows g, g + 8
**        +------+            +------------+             columns 2t, 2t + 1
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
** depth       length of the sums in one split, K or more for a single one
** parts, counters  only with several splits, see nv.cl
**
** NDRange: global = (tiles of C * WG, splits), local = (WG, 1),
**          WG = 32 (BM / WM) (BN / WN), tiles = (M / BM) (N / BN), each
**          rounded up
** Local memory: STAGES * 64 (BM + BN) bytes
** Defines: BM, BN, WM, WN, STAGES, VA, VB, VC; RASTER, SPLITS,
**          PLACED, see nv.cl
** Assumes: NVIDIA, compute capability 8.0 or more; where VA = 4, base and
**          rows of A lie at multiples of 16 bytes and 4 divides K; the same
**          with N for VB and B, VC and C; C overlaps neither A nor B
**
** Lesson: the frame of nv_ffma.cl with an instruction that multiplies
** 16 x 8 x 8 in 6 cycles: now feeding it is all the work. Warp tile 64 x 64,
** 8 steps of k: 32 instructions, 192 cycles of a quarter of the tensor
** cores; 4 loads of A and 16 of B, 32 cycles of the local memory that four
** quarters share; 32 roundings. Blocks of a row change places so that the
** lanes of a load meet all banks: A by 4 elements, piece p of row r at
** p ^ (r / 2 mod 4); B by 8, piece p of row k at p ^ (k mod 4). */
#ifndef BM
#define BM 128 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 128 /* columns of C per work-group */
#endif
#ifndef WM
#define WM 64 /* rows of C per warp */
#endif
#ifndef WN
#define WN 64 /* columns of C per warp */
#endif
#ifndef STAGES
#define STAGES 2 /* tiles in local memory, >= 2 */
#endif
#ifndef VA
#define VA 1 /* elements of A in a copy: 1 or 4 */
#endif
#ifndef VB
#define VB 1 /* elements of B in a copy: 1 or 4 */
#endif
#ifndef VC
#define VC 1 /* elements of C in a store: 1 or 2 */
#endif

#include "nv.cl"

#define BK 16 /* depth of a tile */
#define WG (32 * (BM / WM) * (BN / WN))
#define A_STAGE (BM * BK) /* elements of a stage */
#define B_STAGE (BK * BN)
#define A_COPIES (A_STAGE / VA / WG) /* copies of a work-item per stage */
#define B_COPIES (B_STAGE / VB / WG)
#define TM (WM / 16) /* instructions of a warp for one step */
#define TN (WN / 8)

#if BM % WM || BN % WN || WM % 16 || WN % 32
#error "a warp tile is made of 16 x 32 blocks, a work-group of warp tiles"
#endif
#if BM % (WG / 4) || WG % (BN / VB) || B_STAGE / VB % WG
#error "the work-items must share the copies of a stage evenly"
#endif

#define COPY1(to, from, on) COPY("ca", 4, to, from, on)
#define COPY4(to, from, on) COPY("cg", 16, to, from, on)
#if VA == 4
#define COPYA COPY4
#else
#define COPYA COPY1
#endif
#if VB == 4
#define COPYB COPY4
#else
#define COPYB COPY1
#endif

/* c += a b for the fragments of a warp */
#define MULTIPLY(c, a, b)                                                  \
  __asm__("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "            \
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
          : "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3])         \
          : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]),            \
            "r"((b)[0]), "r"((b)[1]))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int K, float alpha,
          global const float *restrict A, int lda,
          global const float *restrict B, int ldb, float beta,
          global float *restrict C, int ldc, int depth
          PARTS AT_ABC)
{
  local float As[STAGES * A_STAGE] __attribute__((aligned(128)));
  local uint Bs[STAGES * B_STAGE] __attribute__((aligned(128)));

  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;

  const uint2 tile = tile_of((M + BM - 1) / BM, (N + BN - 1) / BN);
  const int row0 = tile.y * BM, col0 = tile.x * BN;

  /* This split's part of the sums: k in first .. first + left - 1 */
  const size_t split = get_group_id(1);
  const size_t first = split * depth;
  int left = min((long)depth, (long)K - (long)first);
  const int stages = (left + BK - 1) / BK;

  /* The copies of this work-item: of A VA elements at k = a_k of the rows
  ** a_row, a_row + AROWS and so on, of B VB elements at column b_col of rows
  ** b_k, b_k + BROWS and so on. Rows of A and columns of B beyond the edge,
  ** which only feed outputs beyond the edge, are replaced by the first. */
#define AROWS (WG * VA / BK)
#define BROWS (WG * VB / BN)
  const uint a_k = id % (BK / VA) * VA, a_row = id / (BK / VA);
  const uint b_col = id % (BN / VB) * VB, b_k = id / (BN / VB);
  global const float *a_from[A_COPIES];
  #pragma unroll
  for (int i = 0; i < A_COPIES; i++) {
    const int row = row0 + a_row + i * AROWS;
    a_from[i] = A + (row < M ? row : 0) * (size_t)lda + first + a_k;
  }
  global const float *b_from = B + (first + b_k) * ldb
    + (col0 + (int)b_col < N ? col0 + b_col : 0);
  const size_t b_next = (size_t)ldb * BROWS;

/* The places in a stage of element k of row r of A, element n of row k of B */
#define A_CELL(r, k) ((r) * BK + ((k) ^ ((r) >> 1 & 3) << 2))
#define B_CELL(k, n) ((k) * BN + ((n) ^ ((k) & 3) << 3))

  uint slot_to = 0;
/* Starts the copies of a stage; where k is K or more zeros are written. */
#define COPY_STAGE()                                                      \
  do {                                                                    \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < A_COPIES; i_++) {                               \
      const uint r_ = a_row + i_ * AROWS;                                 \
      COPYA(ADDRESS(As + slot_to * A_STAGE + A_CELL(r_, a_k)),            \
            a_from[i_], (int)a_k < left);                                 \
      a_from[i_] += BK;                                                   \
    }                                                                     \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < B_COPIES; i_++) {                               \
      const uint k_ = b_k + i_ * BROWS;                                   \
      COPYB(ADDRESS(Bs + slot_to * B_STAGE + B_CELL(k_, b_col)), b_from,  \
            (int)k_ < left);                                              \
      b_from += b_next;                                                   \
    }                                                                     \
    COMMIT();                                                             \
    left -= BK;                                                           \
    slot_to = slot_to == STAGES - 1 ? 0 : slot_to + 1;                    \
  } while (0)

  #pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++)
    COPY_STAGE();

  const uint g = lane / 4, t = lane % 4;
  const uint warp_m = warp / (BN / WN) * WM, warp_n = warp % (BN / WN) * WN;

  float sum[TM][TN][4];
  uint a[2][TM][4], b[2][TN][2];
  #pragma unroll
  for (int i = 0; i < TM; i++) {
    #pragma unroll
    for (int j = 0; j < TN; j++) {
      #pragma unroll
      for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
    }
  }

  uint slot = 0;
/* Fragments of step s (0, 1) of the stage at slot into a[s], b[s] */
#define FRAGMENTS(s)                                                      \
  do {                                                                    \
    const uint a_ = ADDRESS(As + slot * A_STAGE                           \
      + A_CELL(warp_m + lane % 16, (s) * 8 + lane / 16 * 4));             \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < TM; i_++) {                                     \
      LOAD(a[s][i_], a_ + i_ * 16 * BK * 4);                              \
      _Pragma("unroll")                                                   \
      for (int e_ = 0; e_ < 4; e_++)                                      \
        ROUND(a[s][i_][e_]);                                              \
    }                                                                     \
    local const uint *b_ = Bs + slot * B_STAGE + ((s) * 8 + t) * BN       \
      + warp_n + g;                                                       \
    _Pragma("unroll")                                                     \
    for (int j_ = 0; j_ < TN; j_++) {                                     \
      b[s][j_][0] = b_[j_ / 4 * 32 + ((uint)j_ % 4 ^ t) * 8];             \
      b[s][j_][1] = b_[j_ / 4 * 32 + ((uint)j_ % 4 ^ t) * 8 + 4 * BN];    \
      ROUND(b[s][j_][0]);                                                 \
      ROUND(b[s][j_][1]);                                                 \
    }                                                                     \
  } while (0)

  WAIT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  FRAGMENTS(0);

  for (int stage = 0; stage < stages; stage++) {
    #pragma unroll
    for (int s = 0; s < 2; s++) {
      if (s == 1) {
        slot = slot == STAGES - 1 ? 0 : slot + 1;
        WAIT(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        FRAGMENTS(0);
      } else {
        FRAGMENTS(1);
        COPY_STAGE();
      }
      #pragma unroll
      for (int i = 0; i < TM; i++) {
        #pragma unroll
        for (int j = 0; j < TN; j++) {
          const int turn = i % 2 ? TN - 1 - j : j;
          MULTIPLY(sum[i][turn], a[s][i], b[s][turn]);
        }
      }
    }
  }

#if SPLITS > 1
  ADD_PARTS(&sum[0][0][0], TM * TN * 4, WG, (local int *)As);
#endif
  #pragma unroll
  for (int i = 0; i < 2 * TM; i++) {
    const int row = row0 + warp_m + i * 8 + g;
    #pragma unroll
    for (int j = 0; j < TN; j++) {
      const int col = col0 + warp_n + j * 8 + 2 * t;
      global float *c = C + row * (size_t)ldc + col;
      const float2 value = alpha
        * (float2)(sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
      store_pair(c, value, beta, row < M ? N - col : 0);
    }
  }
}
