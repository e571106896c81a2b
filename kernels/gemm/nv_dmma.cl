/* nv_dmma.cl - matrix product in double by the tensor cores of NVIDIA GPUs
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. The frame is that of nv_ffma.cl, tiles of A and B
** copied ahead into local memory; the innermost product is one instruction
** of a whole warp, which multiplies 16 x 4 by 4 x 8 elements and adds them
** up in double, rounded as a sum of fma is:
**
**                         B  +---- BN ----+     fragments of lane 4 g + t:
**                         8  |  |         |
**                            +------------+          a: rows g, g + 8
**     A  +- 8 --+         C  +------------+             column t
**        |------|            |  warp      |          b: row t
**    BM  |      |        BM  | WM x WN    |             column g
**        |      |            |            |          c: rows g, g + 8
**        +------+            +------------+             columns 2t, 2t + 1
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N; with several splits a stack of
**             such matrices, one for the partial sums of each
** depth       length of the sums in one split, K or more for a single one
**
** NDRange: global = (tiles of C * WG, splits), local = (WG, 1),
**          WG = 32 (BM / WM) (BN / WN), tiles = (M / BM) (N / BN), each
**          rounded up
** Local memory: STAGES * 8 (BM + BN) doubles
** Defines: BM, BN, WM, WN, STAGES, RASTER, VA, VB, VC; PLACED, see place.cl
** Assumes: NVIDIA, compute capability 9.0 or more; where VA = 2, base and
**          rows of A lie at multiples of 16 bytes and K and depth are even,
**          the same with N for VB and B, VC and C; C overlaps neither A nor B
**
** Lesson: the tensor cores do twice what the double units do, and an
** instruction that multiplies 16 x 4 x 8 needs few loads: a warp tile of
** 64 x 32 takes 12 loads of 8 bytes for 16 of them. What is left to do is to
** feed them. Two groups with tiles of 128 x 64, per step of k:
**
**   128 cycles of the tensor cores      3072 bytes from the cache, 24 a cycle
**   48 cycles of local memory           128 registers of sums, 48 of operands
**
** Two groups on a multiprocessor, for one of them works while the other
** waits at its barrier; one group with a tile of 128 x 128 would take a third
** less from the cache, and is slower.
** Without padding: the blocks of four elements change places within their
** row (of B: of 16 elements), so that the 16 lanes whose loads go together
** meet all banks:
**
**   A   row 0 1    k 0-3 4-7        B   k = 0    n 0-3 4-7 8-11 12-15
**       row 2 3    k 4-7 0-3            k = 1      4-7 0-3 12-15 8-11
**       row 4 5    k 0-3 4-7            k = 2     8-11 12-15 0-3 4-7 */
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
#ifndef RASTER
#define RASTER 8 /* rows of tiles worked off together */
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

#include "place.cl"

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define BK 8 /* depth of a tile: two steps */
#define MK 4 /* depth of a step, one instruction */
#define WG (32 * (BM / WM) * (BN / WN))
#define A_STAGE (BM * BK) /* elements of a stage */
#define B_STAGE (BK * BN)
#define A_COPIES (A_STAGE / VA / WG) /* copies of a work-item per stage */
#define B_COPIES (B_STAGE / VB / WG)
#define TM (WM / 16) /* instructions of a warp for one step */
#define TN (WN / 8)

#if BM % WM || BN % WN || WM % 16 || WN % 16
#error "a warp tile is made of 16 x 16 blocks, a work-group of warp tiles"
#endif
#if BM % (WG / BK) || BN % 16 || WG % BN || B_STAGE % (2 * WG)
#error "the work-items must share the copies of a stage evenly"
#endif

/* Starts a copy of `bytes` bytes into local memory at address `to`. Where
** `on` is false zeros are written and `from` is not read. cg passes by the
** first-level cache; it takes 16 bytes only. */
#define COPY(how, bytes, to, from, on)                                  \
  __asm__ volatile("cp.async." how ".shared.global [%0], [%1], " #bytes \
                   ", %2;" ::"r"(to), "l"(from), "r"((on) ? bytes : 0)  \
                   : "memory")
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

/* Closes a group of copies; waits until at most n groups are on their way. */
#define COMMIT() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) __asm__ volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

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
          global double *restrict C, int ldc, int depth AT_ABC)
{
  local double As[STAGES * A_STAGE] __attribute__((aligned(128)));
  local double Bs[STAGES * B_STAGE] __attribute__((aligned(128)));

  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;

  /* The tile of C: RASTER rows of tiles column by column, then the next. */
  const uint tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
  const uint group = get_group_id(0), band = group / (RASTER * tiles_n);
  const uint height = min(tiles_m - band * RASTER, (uint)RASTER);
  const uint place = group % (RASTER * tiles_n);
  const int row0 = (band * RASTER + place % height) * BM;
  const int col0 = place / height * BN;

  /* This split's part of the sums: k in first .. first + left - 1 */
  const size_t split = get_group_id(1);
  const size_t first = split * depth;
  int left = min((long)depth, (long)K - (long)first);
  const int stages = (left + BK - 1) / BK;

  /* What this work-item copies: of A VA elements at k = a_k of the rows
  ** a_row, a_row + AROWS and so on, of B VB elements at column b_col of rows
  ** b_k, b_k + BROWS and so on. Rows of A and columns of B beyond the edge,
  ** which only feed outputs beyond the edge, are replaced by the first. */
#define AROWS (WG * VA / BK)
#define BROWS (WG * VB / BN)
  const uint a_k = id % (BK / VA) * VA, a_row = id / (BK / VA);
  const uint b_col = id % (BN / VB) * VB, b_k = id / (BN / VB);
  global const double *a_from[A_COPIES];
  #pragma unroll
  for (int i = 0; i < A_COPIES; i++) {
    const int row = row0 + a_row + i * AROWS;
    a_from[i] = A + (row < M ? row : 0) * (size_t)lda + first + a_k;
  }
  global const double *b_from = B + (first + b_k) * ldb
    + (col0 + (int)b_col < N ? col0 + b_col : 0);
  const size_t b_next = (size_t)ldb * BROWS;

/* Where element k of row r of A, element n of row k of B lie in a stage */
#define A_CELL(r, k) ((r) * BK + ((k) ^ ((r) >> 1 & 1) << 2))
#define B_CELL(k, n) ((k) * BN + ((n) ^ ((k) & 3) << 2))
#define ADDRESS(p) ((uint)(size_t)(p))

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

  uint slot = 0;
/* Fragments of step s (0, 1) of the stage at slot into a[s], b[s]. The cells
** of a lane differ by constants but for what the exchange of blocks makes of
** two bits, which is all that is computed here. */
#define FRAGMENTS(s)                                                      \
  do {                                                                    \
    local const double *a_ = As + slot * A_STAGE                          \
      + A_CELL(warp_m + g, (s) * MK + t);                                 \
    local const double *b0_ = Bs + slot * B_STAGE                         \
      + B_CELL((s) * MK + t, warp_n + g);                                 \
    local const double *b1_ = Bs + slot * B_STAGE                         \
      + B_CELL((s) * MK + t, warp_n + g + 8);                             \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < TM; i_++) {                                     \
      a[s][i_][0] = a_[i_ * 16 * BK];                                     \
      a[s][i_][1] = a_[(i_ * 16 + 8) * BK];                               \
    }                                                                     \
    _Pragma("unroll")                                                     \
    for (int j_ = 0; j_ < TN; j_++)                                       \
      b[s][j_] = (j_ % 2 ? b1_ : b0_)[j_ / 2 * 16];                       \
  } while (0)

  WAIT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  FRAGMENTS(0);

  for (int stage = 0; stage < stages; stage++) {
    #pragma unroll
    for (int s = 0; s < 2; s++) {
      if (s == 0) {
        FRAGMENTS(1);
        COPY_STAGE(); /* where everybody has read the stage before this */
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

  global double *out = C + split * M * ldc;
  #pragma unroll
  for (int i = 0; i < 2 * TM; i++) {
    const int row = row0 + warp_m + i * 8 + g;
    #pragma unroll
    for (int j = 0; j < TN; j++) {
      const int col = col0 + warp_n + j * 8 + 2 * t;
      global double *c = out + row * (size_t)ldc + col;
      const double2 value = alpha
        * (double2)(sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
#if VC == 2
      if (row < M && col < N) {
        global double2 *c2 = (global double2 *)c;
        *c2 = beta != 0 ? value + beta * *c2 : value;
      }
#else
      if (row < M && col < N)
        c[0] = beta != 0 ? value.x + beta * c[0] : value.x;
      if (row < M && col + 1 < N)
        c[1] = beta != 0 ? value.y + beta * c[1] : value.y;
#endif
    }
  }
}
