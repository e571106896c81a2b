/* nv_fp16x3_pack.cl - the operands of nv_fp16x3.cl and nv_fp16x3_mma.cl:
** floats as pairs of halves
** SPDX-License-Identifier: MIT
**
** Each row of A, each column of B is scaled by a power of two that brings its
** largest element to 2^14 .. 2^15, where a half and the next 11 bits as
** another half both have room: x = 2^e (hi + lo). To be run in this order:
**
** top_columns   B: finds the largest of each column, in parts
** pack_rows     A: finds the largest of each row, splits and stores it
** pack_columns  B: splits and stores it
** clear         before all, where there is no top_columns
**
** With DEPTH_OF = 16, for nv_fp16x3_mma.cl:
**
**        A              block 0            block 1         of B: a row for
**   a0 .. a15 a16 ..    | hi a0 .. a7  |   | hi a16 ..     each column
**   b0 .. b15 b16 ..    | hi a8 .. a15 |
**                       | lo a0 .. a7  |   the four pieces of row r change
**                       | lo a8 .. a15 |   places: p lies at p ^ (r / 2 % 4)
**                       | hi b0 .. b7  |
**
** A block has the 128 rows of one panel; the blocks of a panel follow each
** other, then come those of the next 128 rows. With DEPTH_OF = 32, for
** nv_fp16x3.cl, the blocks of a row follow each other, each of 128 bytes with
** hi a0 .. a31 and lo a0 .. a31.
**
** rows, cols  shape of the matrix X, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** top  out    the bits of the largest |x| of each row (column) of X
** parts       the same of parts of the columns, `count` rows of `pitch`
**             elements: out of top_columns, in of pack_columns
** P  out      panels x blocks x 128 packed rows of 64 bytes, or panels x 128
**             x blocks of 128 bytes; what has no element of X is set to zero
** refused     set to 0 by clear and top_columns, to 1 by the pack kernels where X has
**             infinities or NaN, or a piece of 8 neighbours, not all 0, that
**             lie below 2^-19 of the largest in the row (column), so that
**             they lose more than 3 bits
**
** NDRange: clear:        global = 1
**          pack_rows:    global = (LX, panels * 128), local = (LX, LY)
**          top_columns:  global = (columns / VX, rows / DEPTH * LY),
**                        local = (LX, LY)
**          pack_columns: global = (panels * 128, pieces), local = (32, 8)
**          rounded up; blocks = k / DEPTH_OF, pieces = DEPTH_OF / 8 * blocks,
**          those of hi and of lo at once; panels = rows (columns) / 128
** Local memory: LX / 32 LY words (pack_rows), LX LY VX words (top_columns),
**          8 KiB (pack_columns)
** Defines: LX, LY, DEPTH, VX, HELD, DEPTH_OF; PLACED, see submatrix.cl
** Assumes: NVIDIA, compute capability 8.0 or more; where VX = 4, base and
**          rows of X lie at multiples of 16 bytes and cols is one of 4
**
** Lesson: a power of two per row and one per column go through a product
** unchanged, so that scaling costs no accuracy. A group holds a row in its
** registers from the search for the largest to the split; columns would have
** to be held whole, so B is read twice. That moves 20 bytes per element of a
** square product. */
#ifndef LX
#define LX 32 /* local size, dimension 0: a power of two */
#endif
#ifndef LY
#define LY 8 /* local size, dimension 1 */
#endif
#ifndef DEPTH
#define DEPTH 256 /* rows of X for a group of top_columns */
#endif
#ifndef VX
#define VX 1 /* elements of X in a load of pack_rows and top_columns: 1, 4 */
#endif
#ifndef HELD
#define HELD 4 /* pieces that a work-item of pack_rows keeps */
#endif

#ifndef DEPTH_OF
#define DEPTH_OF 32 /* elements of a row in a block: 16 or 32 */
#endif

#include "nv_pairs.cl"
#include "submatrix.cl"

#define FLOOR -5   /* exponent that a piece must reach */

/* Splits two floats: hi and lo get a half of each, the first one below. */
#define SPLIT(hi, lo, x, y)                                            \
  __asm__("{\n\t.reg .b16 h, g;\n\t.reg .f32 s, t;\n\t"                \
          "cvt.rn.f16x2.f32 %0, %3, %2;\n\t"                           \
          "mov.b32 {h, g}, %0;\n\t"                                    \
          "cvt.f32.f16 s, h;\n\tcvt.f32.f16 t, g;\n\t"                 \
          "sub.f32 s, %2, s;\n\tsub.f32 t, %3, t;\n\t"                 \
          "cvt.rn.f16x2.f32 %1, t, s;\n\t}"                            \
          : "=&r"(hi), "=r"(lo)                                        \
          : "f"(x), "f"(y))

/* Where packed row r of a block lies, and piece p in it, in 16 bytes */
#define PIECES (DEPTH_OF / 8) /* of hi in a packed row, as many of lo */
#define PANEL 128
#if DEPTH_OF == 16
#define LINE(r, block, blocks) \
  ((((r) / PANEL * (blocks) + (block)) * PANEL + (r) % PANEL) * 4)
#define PLACE(p, r) ((p) ^ ((r) / 2 % 4))
#define SPREAD(p, r) (p) /* in local memory */
#else
#define LINE(r, block, blocks) (((r) * (blocks) + (block)) * 8)
#define PLACE(p, r) (p)
#define SPREAD(p, r) ((p) ^ ((r) % 8))
#endif

/* Scales and splits the 8 elements x of a piece; `top` belongs to the row. */
static inline void split(const float *x, uint top,
                         global int *restrict refused, uint4 *to_hi,
                         uint4 *to_lo)
{
  const int scale = SCALE(top);
  const float factor = as_float((uint)(127 - scale) << 23);
  float y[8];
  uint most = 0, nonsense = 0;
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const uint bits = as_uint(fabs(x[i]));
    nonsense |= bits >= 0x7f800000;
    most = max(most, bits);
    y[i] = x[i] * factor;
  }
  if (nonsense || (most != 0 && WEIGHT(most) - scale < FLOOR))
    *refused = 1;
  uint4 hi, lo;
  SPLIT(hi.x, lo.x, y[0], y[1]);
  SPLIT(hi.y, lo.y, y[2], y[3]);
  SPLIT(hi.z, lo.z, y[4], y[5]);
  SPLIT(hi.w, lo.w, y[6], y[7]);
  *to_hi = hi;
  *to_lo = lo;
}

kernel void clear(global int *restrict refused)
{
  *refused = 0;
}

/* The 8 elements of a row from `col` on, zeros beyond its `width` */
static inline void load_piece(float *v, global const float *x, size_t col,
                              size_t width)
{
  #pragma unroll
  for (int i = 0; i < 8; i += VX) {
#if VX == 4
    vstore4(col + i < width ? *(global const float4 *)(x + col + i)
                            : (float4)0,
            0, v + i);
#else
    v[i] = col + i < width ? x[col + i] : 0;
#endif
  }
}

static inline uint largest(const float *v, uint most)
{
  #pragma unroll
  for (int i = 0; i < 8; i++)
    most = max(most, as_uint(fabs(v[i])));
  return most;
}

/* A work-item keeps its first HELD pieces in registers from the search for
** the largest to the split, and reads further ones again. */
kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void pack_rows(int rows, int cols, global const float *restrict X, int ldx,
               global uint *restrict top, global uint *restrict P,
               global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  const uint lane = get_local_id(0);
  const size_t row = get_global_id(1);
  const size_t blocks = ((size_t)cols + DEPTH_OF - 1) / DEPTH_OF;
  const size_t pieces = PIECES * blocks;
  const int inside = row < (size_t)rows;
  const size_t width = inside ? cols : 0;
  global const float *x = X + (inside ? row : 0) * ldx;

  float held[HELD][8];
  uint most = 0;
  #pragma unroll
  for (int h = 0; h < HELD; h++) {
    load_piece(held[h], x, (lane + h * LX) * 8, width);
    most = largest(held[h], most);
  }
  for (size_t piece = lane + HELD * LX; piece < pieces; piece += LX) {
    float v[8];
    load_piece(v, x, piece * 8, width);
    most = largest(v, most);
  }
  __asm__ volatile("redux.sync.max.u32 %0, %1, 0xffffffff;"
                   : "=r"(most) : "r"(most));
#if LX > 32
  local uint tops[LY][LX / 32];
  if (lane % 32 == 0)
    tops[get_local_id(1)][lane / 32] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (int i = 0; i < LX / 32; i++)
    most = max(most, tops[get_local_id(1)][i]);
#endif
  if (lane == 0)
    top[row] = most;

#define STORE_PIECE(v, piece)                                             \
  do {                                                                    \
    uint4 hi_, lo_;                                                       \
    split(v, most, refused, &hi_, &lo_);                                  \
    global uint4 *p_                                                      \
      = (global uint4 *)P + LINE(row, (piece) / PIECES, blocks);          \
    p_[PLACE((piece) % PIECES, row)] = hi_;                               \
    p_[PLACE((piece) % PIECES + PIECES, row)] = lo_;                      \
  } while (0)
  #pragma unroll
  for (int h = 0; h < HELD; h++) {
    if (lane + h * LX < pieces)
      STORE_PIECE(held[h], lane + h * LX);
  }
  for (size_t piece = lane + HELD * LX; piece < pieces; piece += LX) {
    float v[8];
    load_piece(v, x, piece * 8, width);
    STORE_PIECE(v, piece);
  }
}

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void top_columns(int rows, int cols, global const float *restrict X, int ldx,
                 global uint *restrict parts, int pitch,
                 global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  local uint tops[LY][VX][LX];
  const uint lane = get_local_id(0), y = get_local_id(1);
  const size_t col = get_global_id(0) * VX, first = get_group_id(1) * DEPTH;

  uint most[VX];
  #pragma unroll
  for (int c = 0; c < VX; c++)
    most[c] = 0;
  if (col < (size_t)cols) {
    #pragma unroll 8
    for (size_t i = first + y; i < first + DEPTH; i += LY) {
      if (i < (size_t)rows) {
        float v[VX];
#if VX == 4
        vstore4(*(global const float4 *)(X + i * ldx + col), 0, v);
#else
        v[0] = X[i * ldx + col];
#endif
        #pragma unroll
        for (int c = 0; c < VX; c++)
          most[c] = max(most[c], as_uint(fabs(v[c])));
      }
    }
  }
  #pragma unroll
  for (int c = 0; c < VX; c++)
    tops[y][c][lane] = most[c];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (y < VX && col < (size_t)cols) {
    uint all = 0;
    for (uint i = 0; i < LY; i++)
      all = max(all, tops[i][y][lane]);
    parts[get_group_id(1) * pitch + col + y] = all;
  }
  if (get_group_id(0) == 0 && get_group_id(1) == 0 && y == 0 && lane == 0)
    *refused = 0;
}

/* Neighbours have neighbouring columns, as they lie in X; what they make of
** them is far apart in P and goes through local memory to be stored whole. */
kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void pack_columns(int rows, int cols, global const float *restrict X, int ldx,
                  global const uint *restrict parts, int count,
                  global uint *restrict top, global uint *restrict P,
                  global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  local uint4 tile[8 * 32 * 2]; /* 8 / PIECES blocks of 32 packed rows */
  const uint lane = get_local_id(0), y = get_local_id(1);
  const size_t col = get_global_id(0), piece = get_global_id(1);
  const size_t blocks = ((size_t)rows + DEPTH_OF - 1) / DEPTH_OF;
  const int inside = col < (size_t)cols;
  float v[8];
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const size_t row = piece * 8 + i;
    v[i] = inside && row < (size_t)rows ? X[row * ldx + col] : 0;
  }
  uint most = 0;
  for (int i = 0; inside && i < count; i++)
    most = max(most, parts[i * get_global_size(0) + col]);
  if (piece == 0)
    top[col] = most;
  uint4 hi, lo;
  split(v, most, refused, &hi, &lo);
  local uint4 *t = tile + (y / PIECES * 32 + lane) * (2 * PIECES);
  t[SPREAD(PLACE(y % PIECES, lane), lane)] = hi;
  t[SPREAD(PLACE(y % PIECES + PIECES, lane), lane)] = lo;
  barrier(CLK_LOCAL_MEM_FENCE);

  #pragma unroll
  for (uint e = y * 32 + lane; e < 8 * 32 * 2; e += 256) {
    const size_t block
      = get_group_id(1) * (8 / PIECES) + e / (32 * 2 * PIECES);
    const uint line = e / (2 * PIECES) % 32, p = e % (2 * PIECES);
    if (block < blocks)
      ((global uint4 *)P)[LINE(get_group_id(0) * 32 + line, block, blocks) + p]
        = tile[e - p + SPREAD(p, line)];
  }
}
