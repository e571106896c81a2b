/* nv_fp16x3_mma.cl - float product in three half products on tensor cores
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C to the accuracy of float, for NVIDIA GPUs. Each
** element, scaled by a power of two, is the sum of two halves (11 + 11 bits,
** and the sign of the second), x = hi + lo; nv_fp16x3_pack.cl does that. Of
** the four products the smallest is below the last bit of a float:
**
**     A B  =  A.hi B.hi + A.hi B.lo + A.lo B.hi  (+ A.lo B.lo, left out)
**
**                         B  +---- BN ----+
**                        16  |      |     |    a tile is 16 deep, as one
**                            +------------+    instruction is, and comes
**     A  +- 16 -+         C  +------------+    with hi and lo in one row
**        |------|            | warp |     |    of 64 bytes:
**    BM  |      |        BM  |------+     |
**        |      |            |  64 x 64   |    | hi k 0-7 | hi k 8-15 |
**        +------+            +------------+    | lo k 0-7 | lo k 8-15 |
**
** M, N        rows and columns of C, each >= 1
** blocks      blocks of 16 along k
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       packed, M / 128 panels of `blocks` tiles of 128 rows of 64
**             bytes
** B  in       the same with a row for each column of B
** top_a, top_b  in: the bits of the largest |x| of each row of A, column of
**             B, which tell the exponent e in x = 2^e (hi + lo)
** C  in, out  M x N, row-major, ldc >= N
** refused in  not 0: the operands are none for this method; nothing is done
**
** NDRange: global = tiles of C * 128, local = 128, tiles = (M / 128)
**          (N / 128), each rounded up
** Local memory: STAGES * 16 KiB
** Defines: STAGES; RASTER, PLACED, see nv.cl
** Assumes: NVIDIA, compute capability 8.0 or more
**
** Lesson: tensor cores multiply halves an order of magnitude faster than the
** other units multiply floats, so that three products for one still pay. They
** do not round: a sum inside them is cut off after some 25 bits, each time
** towards zero, and on numbers of one sign the errors add up. So each
** instruction chain starts from zero, spans one block of 16, and is added to
** the sums by an ordinary, rounded addition.
**
** Per block and warp: 96 instructions on the tensor cores (6 cycles each on
** an H100), 128 additions, 16 loads of 512 bytes; 128 registers of sums, 32
** of A, the rest passes through. Each element is 4 bytes, as it was, which
** makes a tile of 128 x 128 worth 32 operations a byte. The rows of 64 bytes
** are stored with their four pieces exchanged, piece p of row r at p ^ (r / 2
** mod 4), so that 8 rows of one piece meet all banks. */
#ifndef STAGES
#define STAGES 2 /* tiles in local memory, >= 2 */
#endif

#include "nv.cl"
#include "nv_pairs.cl"

#define SIDE 128          /* of a tile of C, rows of a panel */
#define WG 128            /* four warps of 64 x 64 */
#define ROW 64            /* bytes of a packed row */
#define TILE (SIDE * ROW) /* of A or B */
#define STAGE (2 * TILE)

/* d = a b + c for the fragments of a warp: 16 x 16 by 16 x 8 */
#define MULTIPLY(d, a, b, c)                                        \
  __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "      \
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "          \
          "{%10, %11, %12, %13};"                                   \
          : "=f"((d)[0]), "=f"((d)[1]), "=f"((d)[2]), "=f"((d)[3])  \
          : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]),     \
            "r"((b)[0]), "r"((b)[1]), "f"((c)[0]), "f"((c)[1]),     \
            "f"((c)[2]), "f"((c)[3]))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void gemm(int M, int N, int blocks, float alpha,
          global const uint *restrict A, global const uint *restrict B,
          global const uint *restrict top_a,
          global const uint *restrict top_b, float beta,
          global float *restrict C, int ldc, global const int *refused AT_C)
{
  local char tiles[STAGES * STAGE] __attribute__((aligned(128)));

  if (*refused)
    return;
  MOVE(C, at_c);

  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;

  const uint2 tile
    = tile_of((M + SIDE - 1) / SIDE, (N + SIDE - 1) / SIDE);

  /* The tiles of a panel lie one after another, as they will be used. */
  const size_t panel = (size_t)blocks * (TILE / 4);
  global const uint *a_from = A + tile.y * panel + id * 4;
  global const uint *b_from = B + tile.x * panel + id * 4;
  const uint base = (uint)(size_t)tiles;
  uint to = base + id * 16;
#define COPY16(to, from) COPY("cg", 16, to, from, 1)
#define COPY_STAGE(block)                                         \
  do {                                                            \
    if ((block) < blocks) {                                       \
      _Pragma("unroll")                                           \
      for (int i_ = 0; i_ < TILE / 16 / WG; i_++) {               \
        COPY16(to + i_ * WG * 16, a_from + i_ * WG * 4);          \
        COPY16(to + TILE + i_ * WG * 16, b_from + i_ * WG * 4);   \
      }                                                           \
    }                                                             \
    COMMIT();                                                     \
    a_from += TILE / 4;                                           \
    b_from += TILE / 4;                                           \
    to = to == base + id * 16 + (STAGES - 1) * STAGE              \
      ? base + id * 16 : to + STAGE;                              \
  } while (0)

  #pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++)
    COPY_STAGE(stage);

  const uint warp_m = warp / 2 * 64, warp_n = warp % 2 * 64;
  float sum[4][8][4];
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    #pragma unroll
    for (int j = 0; j < 8; j++) {
      #pragma unroll
      for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
    }
  }

  /* The places of the lane's rows of the four blocks: of A the halves of 16
  ** rows come before the halves of k, of B the halves of k before the halves
  ** of 16 columns. lo is two pieces further than hi. */
  const uint turn = lane / 2 % 4;
  uint a_hi = base + (warp_m + lane % 16) * ROW + (lane / 16 ^ turn) * 16;
  uint b_hi = base + TILE
    + (warp_n + lane / 16 * 8 + lane % 8) * ROW + (lane / 8 % 2 ^ turn) * 16;
  const uint a_step = 32 - 2 * (a_hi & 32), b_step = 32 - 2 * (b_hi & 32);

  uint slot = 0;
  for (int block = 0; block < blocks; block++) {
    WAIT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    COPY_STAGE(block + STAGES - 1);

    uint ah[4][4], al[4][4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      LOAD(ah[i], a_hi + slot + i * 16 * ROW);
      LOAD(al[i], a_hi + slot + a_step + i * 16 * ROW);
    }
    #pragma unroll
    for (int j = 0; j < 8; j += 2) {
      uint bh[4], bl[4];
      LOAD(bh, b_hi + slot + j * 8 * ROW);
      LOAD(bl, b_hi + slot + b_step + j * 8 * ROW);
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        const float zero[4] = {0, 0, 0, 0};
        float part[2][4];
        #pragma unroll
        for (int h = 0; h < 2; h++)
          MULTIPLY(part[h], al[i], bh + 2 * h, zero);
        #pragma unroll
        for (int h = 0; h < 2; h++)
          MULTIPLY(part[h], ah[i], bl + 2 * h, part[h]);
        #pragma unroll
        for (int h = 0; h < 2; h++)
          MULTIPLY(part[h], ah[i], bh + 2 * h, part[h]);
        #pragma unroll
        for (int h = 0; h < 2; h++) {
          #pragma unroll
          for (int e = 0; e < 4; e++)
            sum[i][j + h][e] += part[h][e];
        }
      }
    }
    slot = slot == (STAGES - 1) * STAGE ? 0 : slot + STAGE;
  }

  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const int row = tile.y * SIDE + warp_m + i * 8 + lane / 4;
    const int scale = SCALE(top_a[row]);
    #pragma unroll
    for (int j = 0; j < 16; j++) {
      const int col = tile.x * SIDE + warp_n + j / 2 * 8 + lane % 4 * 2
        + j % 2;
      if (row < M && col < N) {
        global float *c = C + row * (size_t)ldc + col;
        const float s = sum[i / 2][j / 2][i % 2 * 2 + j % 2];
        float value = alpha * ldexp(s, scale + SCALE(top_b[col]));
        if (beta != 0)
          value += beta * *c;
        *c = value;
      }
    }
  }
}
