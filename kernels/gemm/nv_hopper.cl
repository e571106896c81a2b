/* nv_hopper.cl - the products by warp groups, on tiles of the copy engine
** SPDX-License-Identifier: MIT
**
** nv_hgemm.cl, nv_wgmma.cl, nv_fp16x3.cl, nv_fp8.cl and nv_igemm.cl include
** it, for NVIDIA's Hopper.
** The copy engine brings tiles of A and B into local memory; groups of four
** warps multiply 64 rows of A by all columns of B.
**
**                            B  +----- BN -----+
**                      128 bytes|    stage     |
**                       of each +--------------+
**                A +---------+  C  +-----------+
**                  |         |     | 4 warps   |
**               BM |  stage  |  BM +-----------+
**                  |         |     | 4 warps   |
**                  +---------+     +-----------+
**
** A stage holds the operands of a tile of C for one line of 128 bytes along k,
** A first; the copy engine fills STAGES of them ahead, by the tensor maps of A
** and B:
**
**   k along the rows of the matrix      k across them (ALONG_A, ALONG_B 0)
**
**     row 0     | k = 0 ..       |        k = 0 | columns 0 ..      |  a box
**     row 1     | k = 0 ..       |        k = 1 | columns 0 ..      |
**      ...        128 bytes                ...    128 bytes
**     row BM-1  | k = 0 ..       |        k = 0 | the next columns  |  a box
**
** The eight pieces of 16 bytes of a line change places by its number, modulo
** 8: piece p of line l lies at p ^ (l % 8).
**
** Two barriers in local memory go with each stage: `full` when all its bytes
** have come, `empty` when all warps that compute have used them. One work-item
** asks for the stages, over the end of a tile as well, so that the operands of
** the next tile come while the results of this tile go out.
**
** M, N        rows and columns of C; each >= 1
** blocks      stages of a sum, with zeros beyond its end
** alpha, beta scalars; beta == 0 means that C is not read
** maps  in    the tensor maps of A and B, see nv_map.cl: the copy engine
**             writes zeros for places outside the matrices, and turns the
**             16-byte pieces of a line by its number, modulo 8
** A, B        the matrices of the maps; only the maps are used
** result  in, out  C, M x N, row-major, ldc >= N
**
** NDRange: global = (groups * WG), local = (WG); WG = 2 BM + 32 ASKING, for
**          C^T 2 BN + 32 ASKING. Any number of groups will do; where SPLITS > 1
**          one for each part of a tile
** Local memory: STAGES (BM + BN) 128 bytes, more than OpenCL of this driver
**          gives: see ladder/ptx.lua
** Defines: BM, BN, STAGES, VC, ALONG_A, ALONG_B (1: k runs along the rows of
**          the matrix as it is stored); RASTER, PLACED, SPLITS, see nv.cl;
**          ASKING, the warps whose first work-item asks for the stages, behind
**          the warps that compute. 0: the first of all work-items does, where
**          registers are short. 4: these four give registers to the others, of
**          which there are eight
** Assumes: compute capability 9.0; a rung with ptx = true, whose build makes
**          instructions of the comments "//PTX"; where VC > 1, base and rows
**          of C lie at multiples of 16 bytes and VC divides N
**
** The including file defines HALVES (bfloat16 too), TF32, FLOAT8, PAIRS or
** WHOLE (char), the elements that the maps show; with PAIRS a line has 32 upper
** halves and 32 lower ones.
**
** Of TF32 the tensor cores read operands from local memory only along k.
** Where B lies across (ALONG_B 0) they compute C^T = B^T A^T instead: their
** first operand, B^T, may come from registers, and a group of four warps has
** 64 columns of C and all rows. */
#ifndef BM
#define BM 128 /* rows of C per work-group, 64 for each warp group; C^T: BN */
#endif
#ifndef BN
#define BN 128 /* columns of C per work-group, 64 to 256; C^T: BM */
#endif
#ifndef HALVES
#define HALVES 0
#endif
#ifndef TF32
#define TF32 0
#endif
#ifndef PAIRS
#define PAIRS 0
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef FLOAT8
#define FLOAT8 0
#endif
#if TF32
#define ELEMENT_BYTES 4
#elif WHOLE || FLOAT8
#define ELEMENT_BYTES 1
#else
#define ELEMENT_BYTES 2
#endif
#ifndef STAGES
#define STAGES 4 /* stages in local memory, >= 2 */
#endif
#ifndef ALONG_A
#define ALONG_A 1 /* 1: k runs along the rows of A as it is stored */
#endif
#ifndef ALONG_B
#define ALONG_B 1 /* the same for B */
#endif

/* Parts of a sum have groups of their own, each for a part of one tile. The
** warps that compute meet without the warp that asks for stages. */
#define MEET() __asm__ volatile("bar.sync 1, %0;" :: "n"(2 * LONG) : "memory")
#define TILE_NUMBER \
  ((get_group_id(0) + get_num_groups(0) * get_group_id(2)) / SPLITS)
#define PART_NUMBER (get_group_id(0) % SPLITS)

/* Sums of char wrap around, as int; alpha and beta are of SCALAR. */
#if WHOLE
#define SUM uint
#define SCALAR int
#else
#define SUM float
#define SCALAR float
#endif
#define PART SUM /* of a sum in parts */

#include "nv.cl"

#ifndef MARKS /* phases for a timeline: the warp groups, and who asks */
#define MARKS
#define MARK_EACH(items, name)
#endif

#define LINE 128 /* bytes of a line of a stage */
#define FETCHED (LINE / ELEMENT_BYTES) /* elements of it; depth of a stage */
#define BOX (FETCHED * LINE) /* bytes of a box of lines across k */
#define A_STAGE (BM * LINE)
#define STAGE ((BM + BN) * LINE)

/* The matrix of a batch that this work-group computes with; packed operands
** are no batch */
#if PAIRS || !defined(PLACED)
#define BATCHED(at) 0
#else
#define BATCHED(at) ((at).y != 0 ? (int)get_group_id(2) : 0)
#endif

#define TURNED (TF32 && !ALONG_B) /* C^T is computed */
#if TURNED
#define WIDE BM /* of the operand in local memory, for an instruction */
#define LONG BN /* of the other operand, 64 for each warp group */
#else
#define WIDE BN
#define LONG BM
#endif
#define SUMS (WIDE / 2) /* of a work-item */

#ifndef ASKING
#define ASKING (TURNED ? 0 : 1) /* warps: 0, 1, 4 */
#endif

/* Sums that leave the tensor cores after each stage, or CHUNK of them, are
** computed for SPAN columns at a time: registers hold no more beside them. */
#define CHUNKED (PAIRS || FLOAT8)
#if CHUNKED && WIDE == 256
#define SPAN 128
#else
#define SPAN WIDE
#endif
#if FLOAT8 || PAIRS && SPAN < WIDE
#undef CHUNK
#define CHUNK 1
#endif

#include "nv_warp_group.cl"

/* Float8: two warp groups multiply in turns, if an instruction takes all
** columns: the sums of one leave the tensor cores while the other multiplies. */
#define IN_TURNS (FLOAT8 && SPAN == WIDE && WIDE > 64 && LONG == 128)
#define AWAIT_TURN(group) \
  __asm__ volatile("bar.sync %0, 256;" :: "r"(2 + (group)) : "memory")
#define GIVE_TURN(group) \
  __asm__ volatile("bar.arrive %0, 256;" :: "r"(2 + (group)) : "memory")

/* Waits until the phase of a barrier with this parity is over. */
#define AWAIT(bar, parity)                                                \
  do {                                                                    \
    uint over_;                                                           \
    do                                                                    \
      PTX("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, "   \
          "[%1], %2; selp.u32 %0, 1, 0, p;}"                              \
          : "=r"(over_) : "r"(bar), "r"(parity) : "memory");              \
    while (!over_);                                                       \
  } while (0)
#define ARRIVE(bar)                                             \
  PTX("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar)    \
      : "memory")

/* The next stage, and the parity of its barriers */
#define ADVANCE()           \
  do {                      \
    if (++slot == STAGES) { \
      slot = 0;             \
      parity ^= 1;          \
    }                       \
  } while (0)

/* Starts the copy of a box of the matrix behind `map`, from (x, y, z) on. */
#define FETCH(to, map, x, y, z, bar)                                      \
  PTX("cp.async.bulk.tensor.3d.shared::cluster.global"                    \
      ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"     \
      :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(bar) : "memory")

/* Starts the copies of `lines` rows or columns from `line` on, from k on. */
#define FETCH_ALONG(to, map, line, k, z, lines, bar)  \
  FETCH(to, map, k, line, z, bar)
#define FETCH_ACROSS(to, map, line, k, z, lines, bar)                     \
  _Pragma("unroll")                                                       \
  for (int i_ = 0; i_ < lines / FETCHED; i_++)                            \
    FETCH(to + i_ * BOX, map, line + FETCHED * i_, k, z, bar)
#if ALONG_A
#define FETCH_A FETCH_ALONG
#else
#define FETCH_A FETCH_ACROSS
#endif
#if ALONG_B
#define FETCH_B FETCH_ALONG
#else
#define FETCH_B FETCH_ACROSS
#endif

/* Makes the barriers, which lie at the addresses full and empty, for so many
** warps that compute. All work-items call it. */
void open_stages(uint full, uint empty, uint warps)
{
  if (get_local_id(0) == 0) {
    for (int s = 0; s < STAGES; s++) {
      PTX("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full + 8 * s)
          : "memory");
      PTX("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(empty + 8 * s),
          "r"(warps) : "memory");
    }
    PTX("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* The stage to ask for next: its tile of C, or part of a tile, the beginnings
** of its rows and columns, its number in the sum, and the end of the sum */
typedef struct {
  uint tile, slot, parity;
  int row, col, k, end;
} Fetch;

/* The first stage of a part of a sum */
#define BEGIN_OF(part, blocks) ((int)(part) * (blocks) / SPLITS)

/* The data for requests of the stages of all tiles of this work-group: maps,
** addresses, the tiles of C, stages of a sum, and the matrices of batches */
typedef struct {
  global const uchar *maps;
  uint base, full, empty, tiles_m, tiles_n;
  int blocks, za, zb;
} Source;

/* Lets this work-item see the maps, and begins with the first tile. */
Fetch first_fetch(const Source *from)
{
  const Fetch next = {get_group_id(0), 0, 0, 0, 0, 0, 0};
  PTX("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
      :: "l"(from->maps) : "memory");
  PTX("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
      :: "l"(from->maps + 128) : "memory");
  return next;
}

/* Asks for a stage, once all warps have used the stage in its place before;
** nothing where no tile is left. */
__attribute__((always_inline))
void fetch_stage(const Source *from, Fetch *next)
{
  const uint bar = from->full + 8 * next->slot;
  const uint to = from->base + next->slot * STAGE;

  if (next->tile >= from->tiles_m * from->tiles_n * SPLITS)
    return;
  if (next->k == next->end) {
    const uint2 tile
      = tile_at(next->tile / SPLITS, from->tiles_m, from->tiles_n);
    const uint part = next->tile % SPLITS;
    next->row = tile.y * BM;
    next->col = tile.x * BN;
    next->k = BEGIN_OF(part, from->blocks);
    next->end = BEGIN_OF(part + 1, from->blocks);
  }
  AWAIT(from->empty + 8 * next->slot, next->parity ^ 1);
  PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
      :: "r"(bar), "r"(STAGE) : "memory");
  FETCH_A(to, from->maps, next->row, next->k * FETCHED, from->za, BM, bar);
  FETCH_B(to + A_STAGE, from->maps + 128, next->col, next->k * FETCHED,
          from->zb, BN, bar);
  if (++next->slot == STAGES) {
    next->slot = 0;
    next->parity ^= 1;
  }
  if (++next->k == next->end)
    next->tile += get_num_groups(0);
}

/* The float at C[i], and a float stored there. The device may lack halves
** but for instructions that convert them. */
#if BFLOAT16 && !defined(WIDE_C)
float get(global const ushort *from)
{
  return as_float((uint)*from << 16);
}

void put(float x, global ushort *to)
{
  ushort bits;
  __asm__("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  *to = bits;
}
#define RESULT ushort
#define GET(i) get(C + (i))
#define PUT(x, i) put(x, C + (i))
#elif HALVES && !defined(WIDE_C)
float get(global const ushort *from)
{
  float x;
  __asm__("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(*from));
  return x;
}

void put(float x, global ushort *to)
{
  ushort bits;
  __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  *to = bits;
}
#define RESULT half
#define GET(i) get(C + (i))
#define PUT(x, i) put(x, C + (i))
#else
#define RESULT REAL
#define GET(i) C[i]
#define PUT(x, i) (C[i] = (x))
#endif

/* Operands that were packed, with their scales, lie in buffers of their own;
** others may begin anywhere, and be a batch. */
#if defined(RESIDUE)
#define MORE_ARGUMENTS , global const int *restrict moduli, \
  global const int *state AT_ABC
#elif defined(CHECK)
#define MORE_ARGUMENTS , global const int8 *restrict notes_a, \
  global const int8 *restrict notes_b, double tolerance AT_ABC
#elif PAIRS
#define MORE_ARGUMENTS , global const uint *restrict top_a, \
  global const uint *restrict top_b, global const int *refused PARTS AT_C
#else
#define MORE_ARGUMENTS PARTS AT_ABC
#endif

#define WG (2 * LONG + 32 * ASKING)

/* Four bytes of local memory, which is larger than its array says */
#define LOAD4(to, address) \
  __asm__ volatile("ld.shared.b32 %0, [%1];" : "=r"(to) : "r"(address) \
                   : "memory")

/* Lanes that are `mask` apart exchange x and y: a lane without the bit of mask
** keeps x and gets the other lane's x in the place of y; a lane with the bit
** keeps y and gets the other lane's y in the place of x. */
#define EXCHANGE(x, y, mask)                                              \
  do {                                                                    \
    uint got_;                                                            \
    const int high_ = (lane & (mask)) != 0;                               \
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;"             \
                     : "=r"(got_) : "r"(high_ ? x : y), "n"(mask));       \
    if (high_)                                                            \
      x = got_;                                                           \
    else                                                                  \
      y = got_;                                                           \
  } while (0)

/* Two floats as halves, the first one below */
#if BFLOAT16
#define PAIR_TYPE "bf16x2"
#else
#define PAIR_TYPE "f16x2"
#endif
#define PACK(to, x, y) \
  __asm__("cvt.rn." PAIR_TYPE ".f32 %0, %2, %1;" \
          : "=r"(to) : "f"(x), "f"(y))

#ifdef RESIDUE
/* A number modulo p: 0 .. p - 1, also where it is negative. The quotient by
** the reciprocal floor(2^32 / p) is at most one too small. */
typedef struct {
  uint p, reciprocal, offset; /* 2^31 modulo p */
} Modulus;

uint residue(uint x, const Modulus *m)
{
  const uint u = x ^ 0x80000000u; /* x + 2^31, >= 0 */
  const uint r = u - mul_hi(u, m->reciprocal) * m->p;
  const uint d = min(r, r - m->p) - m->offset;
  return min(d, d + m->p);
}

#define BYTES(i) (residue(sum[i], &modulus) \
  | residue(sum[(i) + 1], &modulus) << 8 \
  | residue(sum[(i) + 4], &modulus) << 16 \
  | residue(sum[(i) + 5], &modulus) << 24)

/* x and y with the upper half of x and the lower half of y exchanged */
#define MERGE(x, y)                              \
  do {                                           \
    const uint low_ = (x & 0xffff) | y << 16;    \
    y = x >> 16 | (y & 0xffff0000u);             \
    x = low_;                                    \
  } while (0)
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int blocks, SCALAR alpha,
          global const void *maps, global const void *A,
          global const void *B, SCALAR beta,
          global RESULT *restrict result, int ldc MORE_ARGUMENTS MARKS)
{
  global REAL *restrict C = (global REAL *)result;
  local uchar stages[16] __attribute__((aligned(1024)));
  local ulong bars[2 * STAGES];
#if SPLITS > 1
  local int last[1];
#endif

  PTX("local stages, %0;" :: "n"(STAGES * STAGE));
#ifdef RESIDUE
  const uint p = moduli[get_group_id(2)];
  const Modulus modulus
    = {p, (uint)(0x100000000ul / p), 0x80000000u % p};
#endif
#if PAIRS
  if (*refused)
    return;
#elif defined(RESIDUE)
  if (*state || (fewer(state) && get_group_id(2) == get_num_groups(2) - 1))
    return;
#elif defined(CHECK)
  if (C[0] || !C[CHECK])
    return;
#endif
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint base = ADDRESS(stages), full = ADDRESS(bars);
  const uint empty = full + 8 * STAGES;

  open_stages(full, empty, LONG / 16);

  const uint tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
  const uint tiles = tiles_m * tiles_n;

  const Source from = {maps, base, full, empty, tiles_m, tiles_n, blocks,
                       BATCHED(at_a), BATCHED(at_b)};
#if ASKING == 0
  Fetch next = first_fetch(&from);
  if (id == 0) {
    for (int s = 0; s < STAGES - 2; s++)
      fetch_stage(&from, &next);
  }
#else
  if (warp >= LONG / 16) {
#if ASKING == 4
    PTX("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
#endif
    Fetch next = first_fetch(&from);
    while (id == 2 * LONG && next.tile < tiles * SPLITS) {
      MARK_EACH(128, wait);
#ifdef MARK_CLOCK /* the wait of fetch_stage, in front of a mark */
      AWAIT(empty + 8 * next.slot, next.parity ^ 1);
#endif
      MARK_EACH(128, ask);
      fetch_stage(&from, &next);
    }
    MARK_EACH(128, end);
    return;
  }
#if ASKING == 4
  PTX("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
#endif
#endif

#if IN_TURNS
  if (warp / 4 == 1)
    GIVE_TURN(0);
#endif
  uint slot = 0, parity = 0;
  for (uint t = get_group_id(0); t < tiles * SPLITS; t += get_num_groups(0)) {
    const uint2 tile = tile_at(t / SPLITS, tiles_m, tiles_n);
#if TURNED
    /* A lane's columns of C, and those 4 further on: with these, the lanes'
    ** loads of a fragment meet all banks. */
    const uint col8 = warp / 2 * 32 + warp % 2 * 8;
    const int row0 = tile.y * BM + lane % 4 * 2;
    const int col0 = tile.x * BN + col8 + lane / 4 % 4 + lane / 16 * 16;
    const ulong a0 = FORM_A | base >> 4;
    const uint b0 = base + A_STAGE + warp / 2 * BOX + lane % 4 * LINE
      + ((warp % 2 * 2 + lane / 16 * 4) ^ lane % 4) * 16 + lane / 4 % 4 * 4;
#else
    const int row0 = tile.y * BM + warp * 16 + lane / 4;
    const int col0 = tile.x * BN + lane % 4 * 2;
    const ulong a0 = FORM_A | (base + warp / 4 * BLOCK) >> 4;
    const ulong b0 = FORM_B | (base + A_STAGE) >> 4;
#endif
    const int depth
      = BEGIN_OF(t % SPLITS + 1, blocks) - BEGIN_OF(t % SPLITS, blocks);
    SUM sum[SUMS];
#if CHUNKED
    /* The tensor cores cut the numbers that they add to a sum; so sums of
    ** CHUNK stages leave them. Of pairs the small products go first. */
    float part[SPAN / 2];
    #pragma unroll
    for (int i = 0; i < SPAN / 2; i++)
      part[i] = 0;
    #pragma unroll
    for (int i = 0; i < SUMS; i++)
      sum[i] = 0;
    for (int k = 0; k < depth; k++) {
      MARK_EACH(128, wait);
      AWAIT(full + 8 * slot, parity);
      MARK_EACH(128, multiply);
      #pragma unroll
      for (int h = 0; h < WIDE / SPAN; h++) {
        const ulong a = a0 + slot * (STAGE / 16);
        const ulong b = b0 + slot * (STAGE / 16) + h * (SPAN * LINE / 16);
#if IN_TURNS
        AWAIT_TURN(warp / 4);
#endif
        BEGIN();
#if PAIRS
        MULTIPLY(part, a + 4, b, k % CHUNK != 0); /* lower a, upper b */
        MULTIPLY(part, a + 6, b + 2, 1);
        MULTIPLY(part, a, b + 4, 1); /* upper a, lower b */
        MULTIPLY(part, a + 2, b + 6, 1);
        MULTIPLY(part, a, b, 1);
        MULTIPLY(part, a + 2, b + 2, 1);
#else
        #pragma unroll
        for (int s = 0; s < 4; s++)
          MULTIPLY(part, a + s * STEP_A, b + s * STEP_B, s > 0);
#endif
        END();
#if IN_TURNS
        GIVE_TURN(1 - warp / 4);
#endif
        DONE(0);
        if (h == WIDE / SPAN - 1) {
          if (lane == 0)
            ARRIVE(empty + 8 * slot);
          ADVANCE();
#if ASKING == 0
          if (id == 0)
            fetch_stage(&from, &next);
#endif
        }
        if (k % CHUNK == CHUNK - 1 || k == depth - 1) {
          #pragma unroll
          for (int i = 0; i < SPAN / 2; i++) {
            sum[h * (SPAN / 2) + i] += part[i];
#if SPAN < WIDE /* now: the registers of the part are wanted again */
            __asm__ volatile("" : "+f"(sum[h * (SPAN / 2) + i]));
#endif
          }
        }
      }
    }
#else
    #pragma unroll
    for (int i = 0; i < SUMS; i++)
      sum[i] = 0;
    uint used = 0; /* the barrier of the stage before */
#if TURNED
    /* Fragments of B of two half stages: one is loaded while the tensor
    ** cores use the other. Loads from line t, and t + 4, of each 8. */
    uint b[2][2][4];
    for (int k = 0; k < depth; k++) {
      MARK_EACH(128, wait);
      AWAIT(full + 8 * slot, parity);
      MARK_EACH(128, multiply);
      #pragma unroll
      for (int h = 0; h < 2; h++) {
        const ulong a = a0 + slot * (STAGE / 16) + 2 * h * STEP_A;
        const uint first = b0 + slot * STAGE + h * (16 * LINE);
        #pragma unroll
        for (int s = 0; s < 2; s++) {
          LOAD4(b[h][s][0], first + s * (8 * LINE));
          LOAD4(b[h][s][1], (first ^ 16) + s * (8 * LINE));
          LOAD4(b[h][s][2], (first ^ 64) + s * (8 * LINE) + 4 * LINE);
          LOAD4(b[h][s][3], (first ^ 80) + s * (8 * LINE) + 4 * LINE);
        }
        BEGIN();
        MULTIPLY(sum, b[h][0], a, k + h > 0);
        MULTIPLY(sum, b[h][1], a + STEP_A, 1);
        END();
        DONE(1);
        if (h == 0 && used != 0 && lane == 0)
          ARRIVE(used);
#if ASKING == 0
        if (h == 0 && id == 0)
          fetch_stage(&from, &next);
#endif
      }
      used = empty + 8 * slot;
      ADVANCE();
    }
#else
    for (int k = 0; k < depth; k++) {
      MARK_EACH(128, wait);
      AWAIT(full + 8 * slot, parity);
      MARK_EACH(128, multiply);
      const ulong a = a0 + slot * (STAGE / 16), b = b0 + slot * (STAGE / 16);
      BEGIN();
      #pragma unroll
      for (int s = 0; s < 4; s++)
        MULTIPLY(sum, a + s * STEP_A, b + s * STEP_B, k + s > 0);
      END();
      DONE(1);
      if (used != 0 && lane == 0)
        ARRIVE(used);
#if ASKING == 0
      if (id == 0)
        fetch_stage(&from, &next);
#endif
      used = empty + 8 * slot;
      ADVANCE();
    }
#endif
    DONE(0);
    if (lane == 0)
      ARRIVE(used);
#endif
    MARK_EACH(128, store);
#if SPLITS > 1
    ADD_PARTS(sum, SUMS, 2 * LONG, last);
#endif

    /* Lane 4 g + t has columns 2t, 2t + 1 of each 8, in rows g and g + 8. */
#if TURNED
#define ROW_OF(i) (row0 + (i) / 4 * 8 + (i) % 2)
#define COL_OF(i) (col0 + (i) / 2 % 2 * 4)
#else
#define ROW_OF(i) (row0 + (i) / 2 % 2 * 8)
#define COL_OF(i) (col0 + (i) / 4 * 8 + (i) % 2)
#endif
#if PAIRS
    /* By 2^e in two halves, so that the product in between lies between the
    ** sum and the result, in the range of floats if the result does. All loads
    ** come before the first use: one by one, each behind ldexp, they took 6 us
    ** of a tile. */
    uint tops[SUMS / 2];
    #pragma unroll
    for (int c = 0; c < SUMS / 2; c++) {
      const int col = COL_OF(c / 2 * 4 + c % 2);
      tops[c] = col < N ? top_b[col] : 0;
    }
    const int a[2] = {row0 < M ? SCALE(top_a[row0]) : 0,
                      row0 + 8 < M ? SCALE(top_a[row0 + 8]) : 0};
    #pragma unroll
    for (int i = 0; i < SUMS; i++) {
      const int e = a[i / 2 % 2] + SCALE(tops[i / 4 * 2 + i % 2]);
      sum[i] = sum[i] * POWER(e >> 1) * POWER(e - (e >> 1));
    }
#endif
#ifdef RESIDUE
    /* Lanes exchange bytes of 32 columns so that each has 16 of one row: odd
    ** lanes of row g + 8, the upper two lanes the last 16 columns. */
    const int row = row0 + (int)(lane & 1) * 8;
    const int col = tile.x * BN + (lane & 2) * 8;
    #pragma unroll
    for (int i = 0; i < SUMS; i += 16) {
      uint4 v = (uint4)(BYTES(i), BYTES(i + 2), BYTES(i + 8), BYTES(i + 10));
      EXCHANGE(v.x, v.y, 1);
      EXCHANGE(v.z, v.w, 1);
      MERGE(v.x, v.y);
      MERGE(v.z, v.w);
      EXCHANGE(v.x, v.z, 2);
      EXCHANGE(v.y, v.w, 2);
      if (row < M && col + 2 * i < N)
        *(global uint4 *)(C + row * (size_t)ldc + col + 2 * i) = v.xzyw;
    }
#elif defined(CHECK)
    const int few = fewer(C);
    const float limit = tolerance * (few ? CHECK == 1 ? 8 : 2 : 1);
    float4 x[2];
    #pragma unroll
    for (int h = 0; h < 2; h++)
      x[h] = row0 + 8 * h < M ? facts(notes_a, row0 + 8 * h, few) : (float4)0;
    int bad = 0;
    #pragma unroll
    for (int i = 0; i < SUMS; i++) {
      if (COL_OF(i) < N && i / 2 % 2 == 0) {
        const float4 y = facts(notes_b, COL_OF(i), few);
        #pragma unroll
        for (int h = 0; h < 2; h++) {
          const int total = sum[i + 2 * h];
          bad |= (CHECK == 1 || total > 0)
            && loses(total, CHECK == 1 ? 0.25f : 1, x[h], y, limit);
        }
      }
    }
    if (bad)
      C[CHECK == 1 ? 2 : 0] = 1;
#else
    #pragma unroll
    for (int i = 0; i < SUMS; i++)
      sum[i] *= alpha;
    if (beta != 0) {
      #pragma unroll
      for (int i = 0; i < SUMS; i++) {
        if (ROW_OF(i) < M && COL_OF(i) < N)
          sum[i] += (SUM)beta * GET(ROW_OF(i) * (size_t)ldc + COL_OF(i));
      }
    }
#if VC == 1
    #pragma unroll
    for (int i = 0; i < SUMS; i++) {
      if (ROW_OF(i) < M && COL_OF(i) < N)
        PUT(sum[i], ROW_OF(i) * (size_t)ldc + COL_OF(i));
    }
#elif TURNED
    /* Four lanes exchange their elements so that each has four columns of
    ** one row. */
    const int row = row0 + (int)(lane / 4 % 2);
    const int col = tile.x * BN + col8 + lane / 16 * 16 + lane / 8 % 2 * 4;
    global REAL *out = C + row * (size_t)ldc + col;
    #pragma unroll
    for (int i = 0; i < SUMS; i += 4) {
      uint4 v = as_uint4((PASTE(SUM, 4))(sum[i], sum[i + 1], sum[i + 2],
                                         sum[i + 3]));
      EXCHANGE(v.x, v.y, 4);
      EXCHANGE(v.z, v.w, 4);
      EXCHANGE(v.x, v.z, 8);
      EXCHANGE(v.y, v.w, 8);
      if (row + 2 * i < M && col < N)
        *(global uint4 *)(out + 2 * i * (size_t)ldc) = v;
    }
#else
    /* Lanes exchange their elements so that each has 16 bytes of one row: odd
    ** lanes of row g + 8, and of halves the upper two lanes of the next 8
    ** columns. Half-filled sectors of 32 bytes would cost as much as full
    ** ones. */
    const int row = row0 + (int)(lane & 1) * 8;
    const int col = tile.x * BN + (lane & 2) * (VC == 8 ? 4 : 2);
    global REAL *out = C + row * (size_t)ldc + col;
    #pragma unroll
    for (int i = 0; i < SUMS; i += VC) {
#if VC == 8
      uint4 v;
      PACK(v.x, sum[i], sum[i + 1]);
      PACK(v.y, sum[i + 2], sum[i + 3]);
      PACK(v.z, sum[i + 4], sum[i + 5]);
      PACK(v.w, sum[i + 6], sum[i + 7]);
      EXCHANGE(v.x, v.y, 1);
      EXCHANGE(v.z, v.w, 1);
      EXCHANGE(v.x, v.z, 2);
      EXCHANGE(v.y, v.w, 2);
#else
      uint4 v = as_uint4((PASTE(SUM, 4))(sum[i], sum[i + 1], sum[i + 2],
                                         sum[i + 3]));
      EXCHANGE(v.x, v.z, 1);
      EXCHANGE(v.y, v.w, 1);
#endif
      if (row < M && col + 2 * i < N)
        *(global uint4 *)(out + 2 * i) = v;
    }
#endif
#endif /* RESIDUE */
  }
  MARK_EACH(128, end);
}
