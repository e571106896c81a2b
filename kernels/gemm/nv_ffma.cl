/* nv_ffma.cl - matrix product by plain multiply-adds, for NVIDIA GPUs
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, every operation an fma in REAL. As register.cl,
** with three levels of blocking and copies that run beside the arithmetic:
**
**                         B  +--------- BN ---------+
**                        BK  |           |          |   STAGES tiles of A
**                            +----------------------+   and B in local
**     A  +- BK -+         C  +-----------+----------+   memory: one is
**        |      |            |   warp    |   warp   |   multiplied, the
**    BM  |      |        BM  |  WM x WN  |          |   others are on
**        +------+            +-----------+----------+   their way
**        |      |            |   warp    |   warp   |
**        +------+            +-----------+----------+
**
** Within a warp tile the 32 work-items form a grid of LM x LN, and each owns
** TM x TN outputs, TM = WM / LM, TN = WN / LN, in runs of V elements (V
** elements are 16 bytes); the runs of all work-items are interleaved:
**
**    LM = 4, LN = 8      lane  0  1  8  9 16 17 24 25   a warp reads a run
**    (one V x V block          2  3 10 11 18 19 26 27   of each with one
**    of the tile per           4  5 12 13 20 21 28 29   16-byte load, and
**    lane, repeated)           6  7 14 15 22 23 30 31   without conflicts
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K;
**             with TRANS_A its transpose, K x M, lda >= M
** B  in       K x N, row-major, ldb >= N; with TRANS_B N x K, ldb >= K
** C  in, out  M x N, row-major, ldc >= N
** parts, counters  only with STREAM: groups + tiles of them, see nv.cl
** wanted      only with STANDBY, two elements: 0 means that nothing is to be
**             done; else the last work-group sets both to 0
**
** NDRange: global = (tiles of C * WG, 1), local = (WG, 1), with STREAM
**          (groups * WG, 1), groups < 65536 and at most the steps of all
**          tiles; WG = 32 (BM / WM) (BN / WN) SLICES, tiles = (M / BM)
**          (N / BN), steps of a tile = K / BK, each rounded up
** Local memory: STAGES BK (BM + BN) elements, BM and BN with V more if turned
** Defines: REAL, V, BM, BN, BK, WM, WN, LM, STAGES, SPREAD, VA, VB,
**          VC, TRANS_A, TRANS_B, SLICES, STREAM, STANDBY; RASTER, PLACED,
**          see nv.cl
** Assumes: NVIDIA, compute capability 8.0 or more; where VB > 1, base and
**          rows of B lie at multiples of VB elements and VB divides N, the
**          same for VC and C, and for VA, A transposed and M; VB = 1 with
**          TRANS_B; C overlaps neither A nor B
**
** Lesson: the cost that remains once registers hold the block. One warp
** instruction is issued per cycle and quarter of a multiprocessor, so every
** instruction that is no fma costs one. Float, WM = WN = 64, LM = 4, per step
** of k:
**
**   128 fma of 16 x 8 outputs     6 loads of 16 bytes, 12 cycles of local
**     2 or 3 others                 memory; 37 % of what it can deliver
**
** - cp.async moves a tile from global to local memory without registers and
**   without anyone waiting; it also fills with zeros beyond the edge.
** - Rows of A are turned into columns by copying elements one at a time.
**   Local columns are V longer, which spreads the cells that one warp copies,
**   8 steps of k x 4 rows, over all banks. A transposed B is turned the same
**   way; a transposed A is copied as B otherwise is.
** - The operands of step k + 1 are read while step k is multiplied.
** - reqd_work_group_size tells the compiler that it may use 255 registers:
**   128 sums, 48 operands, the rest for addresses.
** - Rows are walked back and forth, so that consecutive fma share an operand
**   that the register file then need not deliver twice.
** - RASTER rows of tiles are worked off together, so that the tiles in
**   flight form a block, whose rows and columns the cache holds.
** - SLICES of the warps take different steps of a stage, so that a quarter of a
**   multiprocessor with one tile has several warps to hide latency; they add
**   their sums through local memory.
** - With STREAM the steps of all tiles form one line, of which each group takes
**   an equal share: the end of one tile and the beginning of the next, so that
**   few tiles keep all units busy:
**
**     tile    |    0    |    1    |    2    |
**     steps   | . . . . | . . . . | . . . . |
**     group   | 0 0 0 1 | 1 1 2 2 | 2 3 3 3 |   3 tiles, 4 groups
**
** It pays on large matrices; small ones have too few tiles for all units and
** want a smaller tile, slices, or shares. */
#ifndef REAL
#define REAL float /* element type: float or double */
#endif
#ifndef V
#define V 4 /* elements in 16 bytes: 4 of float, 2 of double */
#endif
#ifndef BM
#define BM 128 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 256 /* columns of C per work-group */
#endif
#ifndef BK
#define BK 8 /* depth of a tile: 8 or 16 */
#endif
#ifndef WM
#define WM 64 /* rows of C per warp */
#endif
#ifndef WN
#define WN 64 /* columns of C per warp */
#endif
#ifndef LM
#define LM 4 /* rows in the grid of a warp's lanes: 4 or 8 */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles in local memory, >= 2 */
#endif
#ifndef SPREAD
#define SPREAD 1 /* steps of k over which the copies are spread, < BK */
#endif
#ifndef VA
#define VA 1 /* elements of a transposed A in a copy: 1 or V */
#endif
#ifndef VB
#define VB 1 /* elements of B in a copy: 1 or V, which is 16 bytes */
#endif
#ifndef VC
#define VC 1 /* elements of C in a store: 1 or V */
#endif

#ifndef TRANS_A
#define TRANS_A 0 /* 1: A is handed over transposed */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: B is handed over transposed */
#endif

#ifndef SLICES
#define SLICES 1 /* warps that share the sums of a warp tile: 1, 2 or 4 */
#endif

#ifndef STREAM
#define STREAM 0 /* 1: work-groups share all tiles evenly */
#endif
#if STREAM
#define SPLITS 2 /* two or more: a number that the launch decides */
#endif
#include "nv.cl"

/* STANDBY, if defined: the kernel runs only where another has left word. */

#define LN (32 / LM)
#define TM (WM / LM) /* outputs of a work-item */
#define TN (WN / LN)
#define WARPS ((BM / WM) * (BN / WN)) /* of a slice */
#define WG (32 * WARPS * SLICES)
#define BKS (BK / SLICES) /* steps of k of a slice in a stage */
#define KEEP (TM / SLICES) /* rows of outputs of a work-item at the end */
#define LDA_S (BM + (TRANS_A ? 0 : V)) /* length of a local column of A */
#define LDB_S (BN + (TRANS_B ? V : 0)) /* length of a local row of B */
#define A_STAGE (BK * LDA_S)           /* elements of a stage */
#define B_STAGE (BK * LDB_S)
#define A_COPIES (BM / VA * BK / WG) /* copies of a work-item per stage */
#define B_COPIES (BN / VB * BK / WG)
#define AT_ONCE ((A_COPIES + B_COPIES + SPREAD - 1) / SPREAD)

#if BM % WM || BN % WN || WM % (LM * V) || WN % (LN * V)
#error "a warp tile is made of LM V x LN V blocks, a work-group of warps"
#endif
#if BM / VA * BK % WG || BN / VB * BK % WG || BK % 8
#error "the work-items must share the copies of a stage evenly"
#endif
#if BKS % 2 || SPREAD >= BKS || TM % SLICES || \
  SLICES > 1 && BM * BN > STAGES * (A_STAGE + B_STAGE)
#error "slices have their steps of k, their rows, and room for their sums"
#endif
#if !TRANS_A && BM % (WG / 8) || TRANS_B && BN % (WG / 8)
#error "the work-items take lines of 8 steps of k"
#endif
#if TRANS_A && WG % (BM / VA) || !TRANS_B && WG % (BN / VB) || \
  !TRANS_A && VA > 1 || TRANS_B && VB > 1
#error "whole rows of what is not turned, single elements of what is"
#endif

/* Row and column of output (i, j) of a lane, counted within the warp tile */
#define ROW(i) ((i) / V * LM * V + (i) % V)
#define COL(j) ((j) / V * LN * V + (j) % V)

#if V == 4
#define COPY1(to, from, on) COPY("ca", 4, to, from, on)
#else
#define COPY1(to, from, on) COPY("ca", 8, to, from, on)
#endif
#define COPYV(v, to, from, on)      \
  if ((v) > 1)                      \
    COPY("cg", 16, to, from, on);   \
  else                              \
    COPY1(to, from, on)

/* dst[0 .. V-1] = src[0 .. V-1], one local read */
#define FETCH(dst, src) \
  PASTE(vstore, V)(*(local const PASTE(REAL, V) *)(src), 0, dst)

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc PARTS
#ifdef STANDBY
          , volatile global int *wanted
#endif
          AT_ABC)
{
  local REAL stages[STAGES * (A_STAGE + B_STAGE)]
    __attribute__((aligned(16)));
  local REAL *const As = stages, *const Bs = stages + STAGES * A_STAGE;

#ifdef STANDBY
  if (!*wanted)
    return;
#endif
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32;
  const uint warp = id / 32 % WARPS, slice = id / 32 / WARPS;
  const uint tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
  const uint per = (K + BK - 1) / BK; /* steps of a tile */

#if STREAM
  /* This group's steps of the line: at .. until - 1, tile by tile */
  const uint group = get_group_id(0), groups = get_num_groups(0);
  const uint all = per * tiles_m * tiles_n;
#define BEGIN_OF(g) (all / groups * (g) + all % groups * (g) / groups)
#define GROUP_OF(step) ((((ulong)(step) + 1) * groups - 1) / all)
  uint at = BEGIN_OF(group);
  const uint until = BEGIN_OF(group + 1);
  while (at < until) {
  const uint number = at / per;
  const size_t first = at % per * BK;
  const int steps = min(until - at, per - at % per);
  int left = min((long)steps * BK, (long)K - (long)first);
#else
  const uint number = get_group_id(0);
  const size_t first = 0;
  int left = K;
  const int steps = per;
#endif
  const uint2 tile = tile_at(number, tiles_m, tiles_n);
  const int row0 = tile.y * BM, col0 = tile.x * BN;

  /* The copies of this work-item. Of an operand x whose memory runs along k:
  ** one element of `lines` (rows of A, columns of B) x_line, x_line + WG/8
  ** and so on at k = x_k; of an operand that runs across: `v` elements from
  ** x_line on of x_k, x_k + WG * v / size and so on. Lines beyond the edge,
  ** which only feed outputs beyond the edge, are replaced by the first. */
#define BEGIN_ALONG(x, X, ld, size, line0, lines)                          \
  const uint x##_k = id % 8, x##_line = id / 8;                            \
  global const REAL *x##_from[size / (WG / 8)];                            \
  _Pragma("unroll")                                                        \
  for (int i_ = 0; i_ < size / (WG / 8); i_++) {                           \
    const int line_ = line0 + x##_line + i_ * (WG / 8);                    \
    x##_from[i_]                                                           \
      = X + (line_ < lines ? line_ : 0) * (size_t)ld + first + x##_k;      \
  }
#define BEGIN_ACROSS(x, X, ld, size, line0, lines, v)                      \
  const uint x##_k = id / (size / v), x##_line = id % (size / v) * v;      \
  global const REAL *x##_from = X + (first + x##_k) * ld                   \
    + (line0 + (int)x##_line < lines ? line0 + x##_line : 0);              \
  const size_t x##_next = (size_t)ld * (WG * v / size);
#if TRANS_A
  BEGIN_ACROSS(a, A, lda, BM, row0, M, VA)
#else
  BEGIN_ALONG(a, A, lda, BM, row0, M)
#endif
#if TRANS_B
  BEGIN_ALONG(b, B, ldb, BN, col0, N)
#else
  BEGIN_ACROSS(b, B, ldb, BN, col0, N, VB)
#endif
  const uint a_to = ADDRESS(As) + (a_k * LDA_S + a_line) * (uint)sizeof(REAL);
  const uint b_to = ADDRESS(Bs) + (b_k * LDB_S + b_line) * (uint)sizeof(REAL);

/* Copy i of an operand's stage, i constant; where k is K or more zeros are
** written. */
#define COPY_ALONG(x, i, stage, ld_s)                                      \
  COPY1(x##_to + (slot_to * stage + (i) % (BK / 8) * 8 * ld_s              \
                  + (i) / (BK / 8) * (WG / 8)) * (uint)sizeof(REAL),       \
        x##_from[(i) / (BK / 8)] + (i) % (BK / 8) * 8,                     \
        (int)x##_k + (i) % (BK / 8) * 8 < left)
#define COPY_ACROSS(x, i, stage, ld_s, size, v)                            \
  do {                                                                     \
    COPYV(v, x##_to + (slot_to * stage + (i) * (WG * v / size) * ld_s)     \
                        * (uint)sizeof(REAL),                              \
          x##_from, (int)x##_k + (i) * (WG * v / size) < left);            \
    x##_from += x##_next;                                                  \
  } while (0)
#define NEXT_ALONG(x, size)                                                \
  _Pragma("unroll")                                                        \
  for (int i_ = 0; i_ < size / (WG / 8); i_++)                             \
    x##_from[i_] += BK;
#if TRANS_A
#define COPY_A(i) COPY_ACROSS(a, i, A_STAGE, LDA_S, BM, VA)
#define NEXT_A()
#else
#define COPY_A(i) COPY_ALONG(a, i, A_STAGE, LDA_S)
#define NEXT_A() NEXT_ALONG(a, BM)
#endif
#if TRANS_B
#define COPY_B(i) COPY_ALONG(b, i, B_STAGE, LDB_S)
#define NEXT_B() NEXT_ALONG(b, BN)
#else
#define COPY_B(i) COPY_ACROSS(b, i, B_STAGE, LDB_S, BN, VB)
#define NEXT_B()
#endif

/* Copy i of a stage; after the last one: on to the next stage. */
#define COPY_STAGE(i)                                                      \
  do {                                                                     \
    if ((i) < A_COPIES)                                                    \
      COPY_A((i) % A_COPIES);                                              \
    else if ((i) < A_COPIES + B_COPIES)                                    \
      COPY_B(((i) - A_COPIES) % B_COPIES);                                 \
  } while (0)
#define NEXT_STAGE()                                                       \
  do {                                                                     \
    COMMIT();                                                              \
    NEXT_A()                                                               \
    NEXT_B()                                                               \
    left -= BK;                                                            \
    slot_to = slot_to == STAGES - 1 ? 0 : slot_to + 1;                     \
  } while (0)

  uint slot_to = 0;
  #pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++) {
    #pragma unroll
    for (int i = 0; i < A_COPIES + B_COPIES; i++)
      COPY_STAGE(i);
    NEXT_STAGE();
  }

  const uint lane_m = lane / 2 % LM, lane_n = lane / (2 * LM) * 2 + lane % 2;
  const uint warp_m = warp / (BN / WN) * WM, warp_n = warp % (BN / WN) * WN;
  local const REAL *const a_first = As + slice * (BKS * LDA_S) + warp_m
    + lane_m * V;
  local const REAL *const b_first = Bs + slice * (BKS * LDB_S) + warp_n
    + lane_n * V;
  local const REAL *a_at = a_first, *b_at = b_first;

  REAL sum[TM][TN], a[2][TM], b[2][TN];
  #pragma unroll
  for (int i = 0; i < TM; i++) {
    #pragma unroll
    for (int j = 0; j < TN; j++)
      sum[i][j] = 0;
  }

/* Operands of step k into registers a[f], b[f]; k and f constant */
#define OPERANDS(f, k)                                          \
  do {                                                          \
    _Pragma("unroll")                                           \
    for (int i_ = 0; i_ < TM; i_ += V)                          \
      FETCH(a[f] + i_, a_at + (k) * LDA_S + ROW(i_));           \
    _Pragma("unroll")                                           \
    for (int j_ = 0; j_ < TN; j_ += V)                          \
      FETCH(b[f] + j_, b_at + (k) * LDB_S + COL(j_));           \
  } while (0)

  WAIT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  OPERANDS(0, 0);

  uint slot = 0;
  for (int step = 0; step < steps; step++) {
    #pragma unroll
    for (int k = 0; k < BKS; k++) {
      if (k == BKS - 1) {
        /* Registers have all that is still wanted of this stage: go on to the
        ** next stage, which everybody must have received by now. */
        slot = slot == STAGES - 1 ? 0 : slot + 1;
        a_at = a_first + slot * A_STAGE;
        b_at = b_first + slot * B_STAGE;
        WAIT(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      OPERANDS((k + 1) % 2, (k + 1) % BKS);

      /* The stage read last is free now: refill it, spread over the steps. */
      #pragma unroll
      for (int i = 0; i < A_COPIES + B_COPIES; i++) {
        if (i / AT_ONCE == k)
          COPY_STAGE(i);
      }
      if (k == SPREAD - 1)
        NEXT_STAGE();

      #pragma unroll
      for (int i = 0; i < TM; i++) {
        #pragma unroll
        for (int j = 0; j < TN; j++) {
          const int turn = i % 2 ? TN - 1 - j : j;
          sum[i][turn] = fma(a[k % 2][i], b[k % 2][turn], sum[i][turn]);
        }
      }
    }
  }

#if SLICES > 1
  /* Each slice keeps KEEP rows of a work-item's outputs and adds the sums of
  ** the other slices to them, in the order of the slices. */
  REAL own[KEEP][TN];
  local REAL *const cells = stages + id % (32 * WARPS);
#define CELL(i, j) cells[((i) * TN + (j)) * (32 * WARPS)]
#define EACH_OUTPUT                                                           \
  _Pragma("unroll")                                                           \
  for (uint i = 0; i < KEEP; i++)                                             \
    _Pragma("unroll")                                                         \
    for (uint j = 0; j < TN; j++)
  WAIT(0);
  #pragma unroll
  for (uint to = 0; to < SLICES; to++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_OUTPUT
      CELL(slice * KEEP + i, j) = sum[to * KEEP + i][j];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice == to) {
      EACH_OUTPUT
        own[i][j] = CELL(i, j);
      #pragma unroll
      for (uint from = 1; from < SLICES; from++) {
        EACH_OUTPUT
          own[i][j] += CELL(from * KEEP + i, j);
      }
    }
  }
#define SUM own
#else
#define SUM sum
#endif
#if STREAM
  const uint first_group = GROUP_OF(number * per);
  const uint members = GROUP_OF(number * per + per - 1) - first_group + 1;
  int mine = 1;
  at += steps;
  if (members > 1) {
    const size_t before = first_group + number
      + get_group_id(2) * (groups + tiles_m * tiles_n);
    SUM_PARTS(&SUM[0][0], KEEP * TN, WG, (local int *)stages, before,
      group - first_group, members, mine);
  }
  if (at < until) { /* local memory is free for the next tile */
    WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (!mine)
    continue;
#endif
  #pragma unroll
  for (int i = 0; i < KEEP; i++) {
    const int row = row0 + warp_m + ROW(slice * KEEP + i) + lane_m * V;
    #pragma unroll
    for (int j = 0; j < TN; j += VC) {
      const int col = col0 + warp_n + COL(j) + lane_n * V;
      if (row < M && col < N) {
        global REAL *c = C + row * (size_t)ldc + col;
#if VC > 1
        PASTE(REAL, V) value = PASTE(vload, V)(0, SUM[i] + j) * alpha;
        if (beta != (REAL)0)
          value += beta * *(global PASTE(REAL, V) *)c;
        *(global PASTE(REAL, V) *)c = value;
#else
        REAL value = alpha * SUM[i][j];
        if (beta != (REAL)0)
          value += beta * *c;
        *c = value;
#endif
      }
    }
  }
#if STREAM
  }
#endif
#ifdef STANDBY
  if (id == 0 && atomic_inc(wanted + 1) + 1 == (int)(get_num_groups(0)
      * get_num_groups(1) * get_num_groups(2))) /* all have asked */
    wanted[0] = wanted[1] = 0;
#endif
}
