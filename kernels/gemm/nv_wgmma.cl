/* nv_wgmma.cl - matrix product of floats cut to 11 bits, by warp groups
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, for NVIDIA's Hopper. As in nv_tf32.cl three
** decimal digits are right: what A has behind 11 bits is cut off, elements
** of B are rounded to 11. Not to be taken for float.
**
**                         B   64   64  ...      a warp group of 4 warps has
**                            +----+----+        64 columns of C, a warp 16 of
**                       BK   |    |    |        them; lane 4 g + t: columns
**                            +----+----+        2g, 2g + 1 of these
**     A  +- BK -+         C  +----+----+
**        |      |            |warp|warp|         B: rows t, t + 4 of each 8
**    BM  |local |        BM  |grp |grp |            rows, in registers
**        |memory|            |  0 |  1 |         C: rows 2t, 2t + 1 of each
**        +------+            +----+----+            8 rows
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N; with several splits a stack of
**             such matrices, one for the partial sums of each
** depth       length of the sums in one split, K or more for a single one
**
** NDRange: global = (tiles of C * WG, splits), local = (WG, 1), WG = 2 BN,
**          tiles = (M / BM) (N / BN), each rounded up
** Local memory: STAGES * 4 BK BM bytes
** Defines: BM, BN, BK, STAGES, SETS, VA, VB, VC; RASTER, PLACED, see nv.cl
** Assumes: compute capability 9.0; a rung with ptx = true, whose build makes
**          instructions of the comments "//PTX"; where VA = 4,
**          base and rows of A lie at multiples of 16 bytes and so does K;
**          with VB = 2 8 bytes for B and N, with VC = 2 for C and N; C
**          overlaps neither A nor B
**
** Lesson: the tensor cores at their own pace. wgmma multiplies 64 x 128 x 8
** for 128 work-items at once and goes on by itself: a batch computes while
** the operands of the next one arrive. It gives C^T = B^T A^T, because its
** second operand, read from local memory by a descriptor, wants rows of 8 k
** - rows of A - and its first one may come from registers. No two warps use
** the same element of B, so B goes from global memory to registers, and local
** memory is all A's. 8 k of a 192 x 192 tile are 288 cycles of the tensor
** cores, 48 + 144 of local memory to write and read A, and 12 KiB from the
** cache, which answers after some 700 cycles: that is why three stages of B,
** asked for first of all, and two of A are under way (see NOTES.md). Zeros
** behind 11 bits of A come of the tensor cores: its elements are too small by
** half a unit in the mean. */
#ifndef BM
#define BM 192 /* rows of C per work-group: 128 or 192 */
#endif
#ifndef BN
#define BN 192 /* columns of C per work-group, 64 per warp group */
#endif
#ifndef BK
#define BK 16 /* depth of a stage: 16 or 32 */
#endif
#ifndef STAGES
#define STAGES 4 /* stages of A in local memory, >= 3 */
#endif
#ifndef SETS
#define SETS 4 /* stages of B in registers, >= 2 */
#endif
#ifndef VA
#define VA 1 /* elements of A in a copy: 1 or 4 */
#endif
#ifndef VB
#define VB 1 /* elements of B in a load: 1 or 2 */
#endif
#ifndef VC
#define VC 1 /* elements of C in a store: 1 or 2 */
#endif

#include "nv.cl"

#define WG (2 * BN)
#define ROWS (BM > 128 ? BM / 2 : BM) /* of C for one instruction */
#define TM (BM / ROWS) /* instructions of a warp group for one step */
#define STEPS (BK / 8)
#define STAGE (BM * BK) /* elements of a stage */
#define AROWS (WG * VA / BK) /* rows of A that the work-items copy at once */
#define A_COPIES ((BM + AROWS - 1) / AROWS)

#if BN % 64 || (BK != 16 && BK != 32) || STAGES < 3
#error "a warp group has 64 columns, a stage is 16 or 32 deep, 3 at least"
#endif
#if AROWS % 8
#error "the work-items must copy blocks of 8 rows"
#endif

/* Starts a copy of `bytes` bytes into local memory at address `to`. Unless
** `rows` exceeds `row` zeros are written and `from` is not read. cg passes by
** the first-level cache; it takes 16 bytes only. */
#define COPY_ROW(how, bytes, to, from, row, rows)                        \
  __asm__ volatile("{ .reg .pred p; .reg .b32 size; "                    \
                   "setp.gt.s32 p, %2, %3; selp.b32 size, " #bytes       \
                   ", 0, p; cp.async." how ".shared.global [%0], [%1], " \
                   #bytes ", size; }" ::"r"(to), "l"(from), "r"(rows),   \
                   "n"(row) : "memory")
#if VA == 4
#define COPYA(to, from, row, rows) COPY_ROW("cg", 16, to, from, row, rows)
#else
#define COPYA(to, from, row, rows) COPY_ROW("ca", 4, to, from, row, rows)
#endif

/* Waits until at most n groups of copies are on their way, and shows what has
** arrived to the tensor cores. */
#define RECEIVE(n)  \
  WAIT(n);          \
  __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory")

/* Loads two neighbours of a row of B; zeros where `on` is false. Where the
** load stands counts, so the compiler is not to move it. */
#if VB == 2
#define LOADB(b, from, on)                                              \
  __asm__ volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; "             \
                   "mov.b32 %0, 0; mov.b32 %1, 0; "                     \
                   "@p ld.global.v2.b32 {%0, %1}, [%2]; }"           \
                   : "=&r"((b)[0]), "=&r"((b)[1])                       \
                   : "l"(from), "r"((uint)(on)) : "memory")
#else
#define LOADB1(b, from, on)                                             \
  __asm__ volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; "             \
                   "mov.b32 %0, 0; @p ld.global.b32 %0, [%1]; }"     \
                   : "=&r"(b) : "l"(from), "r"((uint)(on)) : "memory")
#define LOADB(b, from, on)        \
  LOADB1((b)[0], from, on);       \
  LOADB1((b)[1], from + b_next, on)
#endif

/* Before a batch of instructions, behind it, and until at most n batches
** are at work */
#define BEGIN() \
  __asm__ volatile("//PTX wgmma.fence.sync.aligned;" ::: "memory")
#define END() \
  __asm__ volatile("//PTX wgmma.commit_group.sync.aligned;" ::: "memory")
#define DONE(n) \
  __asm__ volatile("//PTX wgmma.wait_group.sync.aligned %0;" ::"n"(n) \
                   : "memory")

/* c += a b for 64 columns of C, ROWS rows and 8 k: a are the four fragments
** of B^T, b describes where A lies. */
#define F4(c, i) "+f"((c)[i]), "+f"((c)[i + 1]), "+f"((c)[i + 2]), \
  "+f"((c)[i + 3])
#define F8(c, i) F4(c, i), F4(c, i + 4)
#define F16(c, i) F8(c, i), F8(c, i + 8)
#define F48(c) F16(c, 0), F16(c, 16), F16(c, 32)
#define P48                                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "   \
  "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "   \
  "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "   \
  "%41, %42, %43, %44, %45, %46, %47"
#if BM == 192
#define NAME "m64n96k8"
#define SUMS(c) F48(c)
#define OPERANDS "{" P48 "}, {%48, %49, %50, %51}, %52"
#elif BM == 128
#define NAME "m64n128k8"
#define SUMS(c) F48(c), F16(c, 48)
#define OPERANDS "{" P48 ", %48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68"
#else
#error "BM is 128 or 192"
#endif
#define MULTIPLY(c, a, b)                                                  \
  __asm__ volatile("//PTX wgmma.mma_async.sync.aligned." NAME              \
                   ".f32.tf32.tf32 " OPERANDS ", 1, 1, 1;"                 \
                   : SUMS(c)                                               \
                   : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]),   \
                     "l"(b))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int K, float alpha,
          global const float *restrict A, int lda,
          global const float *restrict B, int ldb, float beta,
          global float *restrict C, int ldc, int depth AT_ABC)
{
  local float As[STAGES * STAGE] __attribute__((aligned(1024)));

  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint g = lane / 4, t = lane % 4;

  const uint2 tile = tile_of((M + BM - 1) / BM, (N + BN - 1) / BN);
  const int row0 = tile.y * BM, col0 = tile.x * BN;

  /* This split's part of the sums: k in first .. first + left - 1. Behind
  ** it zeros are multiplied, up to whole rounds of the loop. */
  const size_t split = get_group_id(1);
  const size_t first = split * depth;
  const int left = min((long)depth, (long)K - (long)first);
  const int stages = (left + BK * SETS - 1) / (BK * SETS) * SETS;

  /* What this work-item copies of A: VA elements at k = a_k of the rows
  ** a_row, a_row + AROWS and so on. Piece p, of 4 elements, of row r lies at
  ** p ^ (r / 2 mod 4) in rows of 64 bytes, at p ^ (r mod 8) in such of 128:
  ** so the tensor cores want it, and so all banks are met. */
#define CELL(r, k) \
  ((r) * BK + ((k) ^ (BK == 16 ? (r) >> 1 & 3 : (r) & 7) << 2))
  const uint a_k = id % (BK / VA) * VA, a_row = id / (BK / VA);
  const int a_rows = M - row0 - (int)a_row;
  int a_left = left - (int)a_k;
  const size_t a_next = (size_t)lda * AROWS;
  global const float *a_from = A + (row0 + a_row) * (size_t)lda + first + a_k;
  const uint a_to = ADDRESS(As + CELL(a_row, a_k));
  uint slot_to = 0;
/* Starts the copies of a stage. Zeros replace what is not there. */
#define COPY_STAGE()                                                      \
  do {                                                                    \
    global const float *from_ = a_from;                                   \
    const int rows_ = a_left > 0 ? a_rows : 0;                            \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < A_COPIES; i_++) {                               \
      if (BM % AROWS == 0 || a_row + i_ * AROWS < BM)                     \
        COPYA(a_to + (slot_to * STAGE + i_ * AROWS * BK) * 4, from_,      \
              i_ * AROWS, rows_);                                         \
      from_ += a_next;                                                    \
    }                                                                     \
    COMMIT();                                                             \
    a_from += BK;                                                         \
    a_left -= BK;                                                         \
    slot_to = slot_to == STAGES - 1 ? 0 : slot_to + 1;                    \
  } while (0)

  /* This work-item's columns of C, col and col + 1, and where their elements
  ** of B lie for row t. Columns beyond the edge, which only feed outputs
  ** beyond the edge, are replaced by the first. */
  const int col = col0 + warp * 16 + 2 * g;
  global const float *b_from = B + (first + t) * ldb + (col < N ? col : 0);
  const size_t b_step = (size_t)ldb * 4;
  const int b_next = col + 1 < N;
  int b_left = left - (int)t;
  uint b[SETS][STEPS][4];
/* Starts the loads of a stage of B into set s. */
#define LOAD_STAGE(s)                                                     \
  do {                                                                    \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < 2 * STEPS; i_++) {                              \
      LOADB(b[s][i_ / 2] + i_ % 2 * 2, b_from, 4 * i_ < b_left);          \
      b_from += b_step;                                                   \
    }                                                                     \
    b_left -= BK;                                                         \
  } while (0)
#define ROUND_STAGE(s)                                                    \
  do {                                                                    \
    _Pragma("unroll")                                                     \
    for (int i_ = 0; i_ < STEPS * 4; i_++)                                \
      ROUND(b[s][i_ / 4][i_ % 4]);                                        \
  } while (0)

  #pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++)
    COPY_STAGE();
  #pragma unroll
  for (int s = 0; s < SETS - 1; s++)
    LOAD_STAGE(s);

  float sum[TM][ROWS / 2];
  #pragma unroll
  for (int i = 0; i < TM; i++) {
    #pragma unroll
    for (int e = 0; e < ROWS / 2; e++)
      sum[i][e] = 0;
  }

  /* The descriptor of A: its address, 8 rows further on, both in units of
  ** 16 bytes, and the order of the pieces */
#define ORDER (BK == 16 ? 2ul : 1ul)
  const ulong described = ORDER << 62 | (ulong)(8 * BK / 4) << 32
    | 1ul << 16 | ADDRESS(As) >> 4;
  uint slot = 0;
  RECEIVE(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  ROUND_STAGE(0);

  /* While a stage is computed the one before it is over: its place and its
  ** registers get the next to come. */
  for (int stage = 0; stage < stages; stage += SETS) {
    #pragma unroll
    for (int s = 0; s < SETS; s++) {
      BEGIN();
      #pragma unroll
      for (int step = 0; step < STEPS; step++) {
        #pragma unroll
        for (int i = 0; i < TM; i++)
          MULTIPLY(sum[i], b[s][step], described
            + (slot * STAGE + i * ROWS * BK + step * 8) / 4);
      }
      END();
      DONE(1);
      LOAD_STAGE((s + SETS - 1) % SETS);
      RECEIVE(STAGES - 3);
      barrier(CLK_LOCAL_MEM_FENCE);
      COPY_STAGE();
      ROUND_STAGE((s + 1) % SETS);
      slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
  }
  DONE(0);

  global float *out = C + split * M * ldc;
  #pragma unroll
  for (int i = 0; i < BM / 4; i++) {
    const int row = row0 + i / 2 * 8 + 2 * t + i % 2;
    global float *c = out + row * (size_t)ldc + col;
    const uint j = i / (ROWS / 4), e = i % (ROWS / 4) / 2 * 4 + i % 2;
    const float2 value = alpha * (float2)(sum[j][e], sum[j][e + 2]);
    store_pair(c, value, beta, row < M ? N - col : 0);
  }
}
