/* nv_dgemm.cl - matrix product in double, tensor cores fed by the copy engine
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, for NVIDIA's Hopper, whose tensor cores multiply and
** add up in double. The copy engine brings tiles of A and B, 16 of k at a
** time, see nv_engine.cl; each of eight warps has WM x 32 elements of C:
**
**                  B  +------ BN ------+     fragments of lane 4 g + t:
**                 16  |     stage      |
**                     +----------------+       a: rows g, g + 8
**      A  +- 16 -+  C +-------+--------+          k = t
**         |      |    | warp  |        |       b: k = t
**     BM  |stage |    | WM x 32        |          column g
**         |      |    +-------+        |       c: rows g, g + 8
**         +------+    +----------------+          columns 2t, 2t + 1
**
** M, N        rows and columns of C; each >= 1
** blocks      stages of a sum, zeros beyond its end
** alpha, beta scalars; beta == 0 means that C is not read
** maps  in    the tensor maps of A and B, see nv_map.cl
** A, B        the matrices of the maps; only the maps are used
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = (min(tiles of C, compute units) * 256), local = (256)
** Local memory: STAGES (BM + BN) 128 bytes, more than OpenCL of this driver
**          gives: see family/ptx.lua
** Defines: BM, BN, WM, VC; STAGES, ALONG_A, ALONG_B: see nv_engine.cl; RASTER,
**          PLACED: see nv.cl
** Assumes: compute capability 9.0; a rung with ptx = true; where VC = 2, base
**          and rows of C lie at multiples of 16 bytes and N is even
**
** Lesson: nv_dmma.cl, whose work-items copy the operands themselves, stops all
** its warps at a barrier for each 16 of k. Here a warp waits only for the
** bytes that it needs, and none of its instructions is spent on copies. A
** work-item of the first warp asks for a stage when all warps have used the
** one before the last: a ninth warp for that would leave each work-item 168
** registers in place of 255, as warps come in fours.
** The copy engine puts piece p of line l at p ^ (l % 8). So that the lanes of
** a load meet all banks nonetheless, they take the k of a step, the rows of A
** and the columns of B in an order of their own; a sum may be added up in any
** order, and C follows the rows and columns:
**
**   k of step (j, h)   lane t has k = 2t + j + 8h, j and h are 0 or 1
**   along k            lane g has line g / 2 + 4 (g % 2) of each 8: both
**                      elements of a piece, two steps, come by one load
**   across k           lane g has column g of each 8, of line k */
#ifndef BM
#define BM 128 /* rows of C per work-group */
#endif
#ifndef BN
#define BN 128 /* columns of C per work-group: 64 or 128 */
#endif
#ifndef WM
#define WM 64 /* rows of C per warp: 32 or 64 */
#endif

#undef REAL
#define REAL double
#define ELEMENT_BYTES 8
#include "nv_engine.cl"

#define WN 32 /* columns of C per warp */
#define WARPS 8
#define WG 256
#define TM (WM / 16) /* blocks of a warp tile: 16 rows, 8 columns */
#define TN (WN / 8)

#if BM / WM * (BN / WN) != WARPS
#error "eight warp tiles make a tile"
#endif

/* c += a b for the fragments of a warp */
#define MULTIPLY(c, a0, a1, b)                                     \
  __asm__("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "      \
          "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"    \
          : "+d"((c)[0]), "+d"((c)[1]), "+d"((c)[2]), "+d"((c)[3]) \
          : "d"(a0), "d"(a1), "d"(b))

/* One or two elements of local memory, which is larger than its array says */
#define LOAD1(x, address) \
  __asm__ volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(address) \
                   : "memory")
#define LOAD2(x, y, address) \
  __asm__ volatile("ld.shared.v2.f64 {%0, %1}, [%2];" \
                   : "=d"(x), "=d"(y) : "r"(address) : "memory")

/* The address of a lane's first element of an operand whose tile begins at
** `from`, for the rows or columns from `line` on; and its two elements, of
** steps (0, h) and (1, h), `on` lines further, on % 8 == 0. */
#define SWAPPED (g / 2 + g % 2 * 4)
#define FIRST_ALONG(from, line) \
  ((from) + ((line) + SWAPPED) * LINE + (t ^ SWAPPED) * 16)
#define PAIR_ALONG(x, first, h, on) \
  LOAD2((x)[0], (x)[1], ((first) ^ (h) * 64) + (on) * LINE)
#define FIRST_ACROSS(from, line)                                  \
  ((from) + (line) / 16 * BOX + 2 * t * LINE + (g / 2 ^ 2 * t) * 16 \
   + g % 2 * 8)
#define PAIR_ACROSS(x, first, h, on)                                        \
  do {                                                                      \
    const uint at_ = (on) / 16 * BOX + (h) * 8 * LINE;                      \
    LOAD1((x)[0], ((first) ^ (on) % 16 * 8) + at_);                         \
    LOAD1((x)[1], ((first) ^ ((on) % 16 * 8 + 16)) + at_ + LINE);           \
  } while (0)
#if ALONG_A
#define FIRST_A FIRST_ALONG
#define PAIR_A PAIR_ALONG
#define ROW SWAPPED /* of C, within 8 */
#else
#define FIRST_A FIRST_ACROSS
#define PAIR_A PAIR_ACROSS
#define ROW g
#endif
#if ALONG_B
#define FIRST_B FIRST_ALONG
#define PAIR_B PAIR_ALONG
#else
#define FIRST_B FIRST_ACROSS
#define PAIR_B PAIR_ACROSS
#endif

/* The fragments of half h of the stage at `at`, and what is done with them */
#define LOAD_B(h, at)                   \
  do {                                  \
    _Pragma("unroll")                   \
    for (int i_ = 0; i_ < TN; i_++)     \
      PAIR_B(b[h][i_], at, h, 8 * i_);  \
  } while (0)
#define LOAD_A(m, h, at)                    \
  do {                                      \
    PAIR_A(a[m][0], at, h, 16 * (m));       \
    PAIR_A(a[m][1], at, h, 16 * (m) + 8);   \
  } while (0)
#define MULTIPLY_BLOCK(m, h)                                           \
  do {                                                                 \
    _Pragma("unroll")                                                  \
    for (int i_ = 0; i_ < 2 * TN; i_++)                                \
      MULTIPLY(sum[m][i_ % TN], a[m][0][i_ / TN], a[m][1][i_ / TN],    \
               b[h][i_ % TN][i_ / TN]);                                \
  } while (0)

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int blocks, double alpha,
          global const void *maps, global const void *A,
          global const void *B, double beta,
          global double *restrict C, int ldc AT_ABC)
{
  local uchar stages[16] __attribute__((aligned(1024)));
  local ulong bars[2 * STAGES];

  PTX("local stages, %0;" :: "n"(STAGES * STAGE));
  MOVE(C, at_c);
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint g = lane / 4, t = lane % 4;
  const uint base = ADDRESS(stages), full = ADDRESS(bars);
  const uint empty = full + 8 * STAGES;

  open_stages(full, empty, WARPS);

  const uint tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
  const Source from = {maps, base, full, empty, tiles_m, tiles_n, blocks,
                       BATCHED(at_a), BATCHED(at_b)};
  Fetch next = first_fetch(&from);
  if (id == 0) {
    for (int s = 0; s < STAGES - 2; s++)
      fetch_stage(&from, &next);
  }

  const uint warp_m = warp / (BN / WN) * WM, warp_n = warp % (BN / WN) * WN;
  const uint a0 = FIRST_A(base, warp_m);
  const uint b0 = FIRST_B(base + A_STAGE, warp_n);
  uint slot = 0, parity = 0;
  for (uint tile_no = get_group_id(0); tile_no < tiles_m * tiles_n;
       tile_no += get_num_groups(0)) {
    const uint2 tile = tile_at(tile_no, tiles_m, tiles_n);
    double sum[TM][TN][4];
    #pragma unroll
    for (int i = 0; i < TM * TN * 4; i++)
      sum[i / 4 / TN][i / 4 % TN][i % 4] = 0;

    /* Fragments of half a stage: b[h] and a, of which each block is loaded
    ** again, for the next half, as soon as it has been used. */
    double a[TM][2][2], b[2][TN][2];
    AWAIT(full + 8 * slot, parity);
    LOAD_B(0, b0 + slot * STAGE);
    #pragma unroll
    for (int m = 0; m < TM; m++)
      LOAD_A(m, 0, a0 + slot * STAGE);
    for (int k = 0; k < blocks; k++) {
      const uint at = slot * STAGE, bar = empty + 8 * slot;
      if (id == 0)
        fetch_stage(&from, &next);
      LOAD_B(1, b0 + at);
      #pragma unroll
      for (int m = 0; m < TM; m++) {
        MULTIPLY_BLOCK(m, 0);
        LOAD_A(m, 1, a0 + at);
      }
      ADVANCE();
      if (k + 1 < blocks) /* else nobody uses what is loaded here */
        AWAIT(full + 8 * slot, parity);
      LOAD_B(0, b0 + slot * STAGE);
      #pragma unroll
      for (int m = 0; m < TM; m++) {
        MULTIPLY_BLOCK(m, 1);
        LOAD_A(m, 0, a0 + slot * STAGE);
      }
      __asm__ volatile("bar.warp.sync -1;" ::: "memory");
      if (lane == 0)
        ARRIVE(bar);
    }

    #pragma unroll
    for (int i = 0; i < 2 * TM * TN; i++) {
      const int m = i / TN, n = i % TN; /* m: of blocks of 8 rows */
      const int row = tile.y * BM + warp_m + 8 * m + ROW;
      const double x = alpha * sum[m / 2][n][m % 2 * 2];
      const double y = alpha * sum[m / 2][n][m % 2 * 2 + 1];
      const int col = tile.x * BN + warp_n + 8 * n + (ALONG_B ? t : 2 * t);
      const int within = row < M ? N - col : 0;
      global double *c = C + row * (size_t)ldc + col;
#if ALONG_B
      if (within > 0)
        c[0] = beta != 0 ? x + beta * c[0] : x;
      if (within > 4)
        c[4] = beta != 0 ? y + beta * c[4] : y;
#else
      store_pair(c, (double2)(x, y), beta, within);
#endif
    }
  }
}
