/* nv_engine.cl - tiles of A and B in local memory, brought by the copy engine
** SPDX-License-Identifier: MIT
**
** nv_hopper.cl includes it, for NVIDIA's Hopper. A stage holds what a tile of C
** needs for one line of 128 bytes along k, A first; the copy engine fills
** STAGES of them ahead, by the tensor maps of A and B:
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
** asks for the stages, over the end of a tile as well, so that the next one's
** operands come while this one's results go out.
**
** Defines: BM, BN, STAGES, ALONG_A, ALONG_B; ELEMENT_BYTES of A and B;
**          ONE_PRODUCT: 1 if there are no batches; and those of nv.cl
** Assumes: compute capability 9.0; a rung with ptx = true, whose build makes
**          instructions of the comments "//PTX" */
#ifndef BM
#define BM 128 /* rows of a tile of C */
#endif
#ifndef BN
#define BN 128 /* columns of it */
#endif
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 4 /* of A and B */
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
#ifndef ONE_PRODUCT
#define ONE_PRODUCT 0
#endif

#include "nv.cl"

#define LINE 128 /* bytes of a line of a stage */
#define FETCHED (LINE / ELEMENT_BYTES) /* elements of it; depth of a stage */
#define BOX (FETCHED * LINE) /* bytes of a box of lines across k */
#define A_STAGE (BM * LINE)
#define STAGE ((BM + BN) * LINE)

/* The matrix of a batch that this work-group computes with */
#if ONE_PRODUCT || !defined(PLACED)
#define BATCHED(at) 0
#else
#define BATCHED(at) ((at).y != 0 ? (int)get_group_id(2) : 0)
#endif

#define PTX(...) __asm__ volatile("//PTX " __VA_ARGS__)

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

/* The stage to ask for next: of which tile of C, where its rows and columns
** begin, and from which stage of the sum on */
typedef struct {
  uint tile, slot, parity;
  int row, col, k;
} Fetch;

/* What it takes to ask for the stages of all tiles of this work-group: maps,
** addresses, the tiles of C, stages of a sum, and the matrices of batches */
typedef struct {
  global const uchar *maps;
  uint base, full, empty, tiles_m, tiles_n;
  int blocks, za, zb;
} Source;

/* Lets this work-item see the maps, and begins with the first tile. */
Fetch first_fetch(const Source *from)
{
  const Fetch next = {get_group_id(0), 0, 0, 0, 0, 0};
  PTX("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
      :: "l"(from->maps) : "memory");
  PTX("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
      :: "l"(from->maps + 128) : "memory");
  return next;
}

/* Asks for a stage, once all warps have used what its place held; nothing
** where no tile is left. */
__attribute__((always_inline))
void fetch_stage(const Source *from, Fetch *next)
{
  const uint bar = from->full + 8 * next->slot;
  const uint to = from->base + next->slot * STAGE;

  if (next->tile >= from->tiles_m * from->tiles_n)
    return;
  if (next->k == 0) {
    const uint2 tile = tile_at(next->tile, from->tiles_m, from->tiles_n);
    next->row = tile.y * BM;
    next->col = tile.x * BN;
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
  if (++next->k == from->blocks) {
    next->k = 0;
    next->tile += get_num_groups(0);
  }
}
