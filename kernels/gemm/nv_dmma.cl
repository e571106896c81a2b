/* nv_dmma.cl - matrix product in double by the tensor cores of NVIDIA GPUs
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. As in nv_ffma.cl, tiles of A and B are copied ahead
** into local memory; the innermost product is one instruction of a whole warp,
** which multiplies 16 x 4 by 4 x 8 elements and adds them up in double,
** rounded as a sum of fma is:
**
**                         B  +---- BN ----+     fragments of lane 4 g + t:
**                        16  |  |         |
**                            +------------+          a: rows g, g + 8
**     A  +- 16 -+         C  +------------+             column t
**        |------|            |  warp      |          b: row t
**    BM  |      |        BM  | WM x WN    |             column g
**        |      |            |            |          c: rows g, g + 8
**        +------+            +------------+             columns 2t, 2t + 1
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K;
**             with TRANS_A its transpose, K x M, lda >= M
** B  in       K x N, row-major, ldb >= N; with TRANS_B N x K, ldb >= K
** C  in, out  M x N, row-major, ldc >= N
** depth       length of the sums in one split, K or more for a single one
** parts, counters  only with several splits, see nv.cl
** wanted      only with STANDBY: 0 means that nothing is to be done
**
** NDRange: global = (tiles of C * WG, splits), local = (WG, 1),
**          WG = 32 (BM / WM) (BN / WN), tiles = (M / BM) (N / BN), each
**          rounded up
** Local memory: STAGES * BK (BM + BN) doubles, more than OpenCL of this
**          driver gives
** Defines: BM, BN, WM, WN, STAGES, VA, VB, VC, TRANS_A, TRANS_B; STANDBY,
**          for rung nv_ozaki; RASTER, SPLITS, PLACED, see nv.cl
** Assumes: NVIDIA, compute capability 9.0; a rung with ptx = true; where
**          VA = 2, base and rows of A lie at multiples of 16 bytes and their
**          length and depth are even; the same for VB and B, VC and C; C
**          overlaps neither A nor B
**
** Lesson: the tensor cores are twice as fast as the double units, and an
** instruction that multiplies 16 x 4 x 8 needs few loads: a warp tile of 64 x
** 32 takes 12 loads of 8 bytes for 16 of them. The task is then to feed them.
** Two groups with tiles of 128 x 64, per step of k:
**
**   128 cycles of the tensor cores      3072 bytes from the cache, 24 a cycle
**   48 cycles of local memory           128 registers of sums, 48 of operands
**
** Two groups on a multiprocessor, for one of them works while the other
** waits at its barrier; one group with a tile of 128 x 128 would take a third
** less from the cache, and is slower.
** A tile of 16 instead of 8 in depth halves the barriers: 2 % more at 4096,
** 25 % at 1024 with tiles of 64 x 64. Instructions that take 8 or 16 of k at
** once are slower, as their operands need twice the registers (NOTES.md).
** Without padding: the blocks of four elements change places within their
** row, or 16 columns of B, so that the 16 lanes whose loads go together meet
** all banks:
**
**   row (k) 0   0-3 4-7 8-11 12-15        2   8-11 12-15 0-3 4-7
**           1   4-7 0-3 12-15 8-11        3   12-15 8-11 4-7 0-3 */
#ifndef BM
#define BM 128 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 64 /* columns of C per work-group */
#endif
#ifndef WM
#define WM 64 /* rows of C per warp */
#endif
#ifndef WN
#define WN 32 /* columns of C per warp */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles in local memory, >= 2 */
#endif
#ifndef VA
#define VA 1 /* elements of A in a copy: 1 or 2 */
#endif
#ifndef VB
#define VB 1 /* elements of B in a copy: 1 or 2 */
#endif
#ifndef VC
#define VC 1 /* elements of C in a store: 1 or 2 */
#endif

#ifndef TRANS_A
#define TRANS_A 0 /* 1: A is handed over transposed */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: B is handed over transposed */
#endif

#define REAL double
#include "nv.cl"

#define BK 16 /* depth of a tile: four steps */
#define MK 4  /* depth of a step, one instruction */
#define WG (32 * (BM / WM) * (BN / WN))
#define A_STAGE (BM * BK) /* elements of a stage */
#define B_STAGE (BK * BN)
#define TM (WM / 16) /* instructions of a warp for one step */
#define TN (WN / 8)

#if BM % WM || BN % WN || WM % 16 || WN % 16
#error "a warp tile is made of 16 x 16 blocks, a work-group of warp tiles"
#endif
#if A_STAGE % (2 * WG) || B_STAGE % (2 * WG) || \
  (TRANS_A ? WG * VA % BM : BM * BK % (WG * VA)) || \
  (TRANS_B ? BN * BK % (WG * VB) : WG * VB % BN)
#error "the work-items must share the copies of a stage evenly"
#endif

#define COPY1(to, from, on) COPY("ca", 8, to, from, on)
#define COPY2(to, from, on) COPY("cg", 16, to, from, on)
#if VA == 2
#define COPYA COPY2
#else
#define COPYA COPY1
#endif
#if VB == 2
#define COPYB COPY2
#else
#define COPYB COPY1
#endif

/* c += a b for the fragments of a warp */
#define MULTIPLY(c, a, b)                                          \
  __asm__("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "      \
          "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"    \
          : "+d"((c)[0]), "+d"((c)[1]), "+d"((c)[2]), "+d"((c)[3]) \
          : "d"((a)[0]), "d"((a)[1]), "d"(b))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int K, double alpha,
          global const double *restrict A, int lda,
          global const double *restrict B, int ldb, double beta,
          global double *restrict C, int ldc, int depth
          PARTS
#ifdef STANDBY
          , global const int *wanted
#endif
          AT_ABC)
{
  /* The marks give them STAGES tiles: see ladder/ptx.lua. */
  local double As[2] __attribute__((aligned(128)));
  local double Bs[2] __attribute__((aligned(128)));
  __asm__ volatile("//PTX local As, %0;" :: "n"(STAGES * A_STAGE * 8));
  __asm__ volatile("//PTX local Bs, %0;" :: "n"(STAGES * B_STAGE * 8));

#ifdef STANDBY
  if (!*wanted)
    return;
#endif
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

  /* The copies of this work-item. Of an operand x whose memory runs along k:
  ** v elements at k = x_k of `lines` (rows of A, columns of B) x_line,
  ** x_line + WG v / BK and so on; of an operand that runs across: v elements
  ** from line x_line on at k = x_k, x_k + WG v / size and so on. Lines beyond
  ** the edge only feed outputs beyond it and are replaced by the first. */
#define BEGIN_ALONG(x, X, ld, size, line0, lines, v)                       \
  const uint x##_k = id % (BK / v) * v, x##_line = id / (BK / v);          \
  global const double *x##_from[size * BK / v / WG];                       \
  _Pragma("unroll")                                                        \
  for (int i_ = 0; i_ < size * BK / v / WG; i_++) {                        \
    const int line_ = line0 + x##_line + i_ * (WG * v / BK);               \
    x##_from[i_]                                                           \
      = X + (line_ < lines ? line_ : 0) * (size_t)ld + first + x##_k;      \
  }
#define BEGIN_ACROSS(x, X, ld, size, line0, lines, v)                      \
  const uint x##_line = id % (size / v) * v, x##_k = id / (size / v);      \
  global const double *x##_from = X + (first + x##_k) * ld                 \
    + (line0 + (int)x##_line < lines ? line0 + x##_line : 0);              \
  const size_t x##_next = (size_t)ld * (WG * v / size);
#if TRANS_A
  BEGIN_ACROSS(a, A, lda, BM, row0, M, VA)
#else
  BEGIN_ALONG(a, A, lda, BM, row0, M, VA)
#endif
#if TRANS_B
  BEGIN_ALONG(b, B, ldb, BN, col0, N, VB)
#else
  BEGIN_ACROSS(b, B, ldb, BN, col0, N, VB)
#endif

/* The place of element k of a line in a stage that runs along k, or across */
#define ALONG(line, k) ((line) * BK + ((k) ^ ((line) & 3) << 2))
#define ACROSS(line, k, size) ((k) * size + ((line) ^ ((k) & 3) << 2))

/* Starts the copies of an operand's stage at `to`; zeros where k is K or
** more. */
#define COPY_ALONG(x, to, size, v, copy)                                   \
  _Pragma("unroll")                                                        \
  for (int i_ = 0; i_ < size * BK / v / WG; i_++) {                        \
    copy(ADDRESS(to + ALONG(x##_line + i_ * (WG * v / BK), x##_k)),        \
         x##_from[i_], (int)x##_k < left);                                 \
    x##_from[i_] += BK;                                                    \
  }
#define COPY_ACROSS(x, to, size, v, copy)                                  \
  _Pragma("unroll")                                                        \
  for (int i_ = 0; i_ < size * BK / v / WG; i_++) {                        \
    const uint k_ = x##_k + i_ * (WG * v / size);                          \
    copy(ADDRESS(to + ACROSS(x##_line, k_, size)), x##_from,               \
         (int)k_ < left);                                                  \
    x##_from += x##_next;                                                  \
  }
#if TRANS_A
#define COPY_A(to) COPY_ACROSS(a, to, BM, VA, COPYA)
#else
#define COPY_A(to) COPY_ALONG(a, to, BM, VA, COPYA)
#endif
#if TRANS_B
#define COPY_B(to) COPY_ALONG(b, to, BN, VB, COPYB)
#else
#define COPY_B(to) COPY_ACROSS(b, to, BN, VB, COPYB)
#endif

  uint slot_to = 0;
#define COPY_STAGE()                                      \
  do {                                                    \
    COPY_A(As + slot_to * A_STAGE)                        \
    COPY_B(Bs + slot_to * B_STAGE)                        \
    COMMIT();                                             \
    left -= BK;                                           \
    slot_to = slot_to == STAGES - 1 ? 0 : slot_to + 1;    \
  } while (0)

  #pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++)
    COPY_STAGE();

  const uint g = lane / 4, t = lane % 4;
  const uint warp_m = warp / (BN / WN) * WM, warp_n = warp % (BN / WN) * WN;

  double sum[TM][TN][4], a[2][TM][2], b[2][TN];
  #pragma unroll
  for (int i = 0; i < TM; i++) {
    #pragma unroll
    for (int j = 0; j < TN; j++) {
      #pragma unroll
      for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
    }
  }

/* Element k of line `base + offset` of a stage, offset constant and a multiple
** of 8: the cells of a lane differ by constants, but for one bit that the
** exchange of blocks changes. */
#define GET_ALONG(from, base, offset, k) \
  ((from) + ALONG(base, k))[(offset) * BK]
#define GET_ACROSS(from, base, offset, k, size) \
  ((from) + ACROSS((base) + (offset) % 16, k, size))[(offset) / 16 * 16]
#if TRANS_A
#define GET_A(offset, k) \
  GET_ACROSS(As + slot * A_STAGE, warp_m + g, offset, k, BM)
#else
#define GET_A(offset, k) GET_ALONG(As + slot * A_STAGE, warp_m + g, offset, k)
#endif
#if TRANS_B
#define GET_B(offset, k) GET_ALONG(Bs + slot * B_STAGE, warp_n + g, offset, k)
#else
#define GET_B(offset, k) \
  GET_ACROSS(Bs + slot * B_STAGE, warp_n + g, offset, k, BN)
#endif

  uint slot = 0;
/* Fragments of a step of the stage at slot into a[step % 2], b[step % 2] */
#define FRAGMENTS(step)                                              \
  do {                                                               \
    _Pragma("unroll")                                                \
    for (int i_ = 0; i_ < TM; i_++) {                                \
      a[(step) % 2][i_][0] = GET_A(i_ * 16, (step) * MK + t);        \
      a[(step) % 2][i_][1] = GET_A(i_ * 16 + 8, (step) * MK + t);    \
    }                                                                \
    _Pragma("unroll")                                                \
    for (int j_ = 0; j_ < TN; j_++)                                  \
      b[(step) % 2][j_] = GET_B(j_ * 8, (step) * MK + t);            \
  } while (0)

  WAIT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  FRAGMENTS(0);

  for (int stage = 0; stage < stages; stage++) {
    #pragma unroll
    for (int step = 0; step < BK / MK; step++) {
      const int s = step % 2;
      if (step < BK / MK - 1) {
        FRAGMENTS(step + 1);
        if (step == 0) /* everybody has read the stage before this */
          COPY_STAGE();
      } else {
        slot = slot == STAGES - 1 ? 0 : slot + 1;
        WAIT(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        FRAGMENTS(0);
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
      global double *c = C + row * (size_t)ldc + col;
      const double2 value = alpha
        * (double2)(sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
      store_pair(c, value, beta, row < M ? N - col : 0);
    }
  }
}
