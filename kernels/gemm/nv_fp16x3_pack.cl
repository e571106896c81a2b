/* nv_fp16x3_pack.cl - the operands of nv_fp16x3.cl and nv_fp16x3_mma.cl:
** floats as pairs of halves
** SPDX-License-Identifier: MIT
**
** Each row of A, each column of B is scaled by a power of two that brings its
** largest element to 2^14 .. 2^15, where a half and the next 11 bits as
** another half both have room: x = 2^e (hi + lo). To be run in this order:
**
** pack_first    A: finds the largest of each row, splits and stores it
**               B: finds the largest of each column, in parts
** pack_columns  B: splits and stores it
**
** A transposed is taken like B, and B transposed like A. With WHOLE pack_first
** does all: several work-groups search the same 32 columns, each all of them,
** and share their pieces.
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
** other, then come the blocks of the next 128 rows. With DEPTH_OF = 32, for
** nv_fp16x3.cl, the blocks of a row follow each other, each of 128 bytes with
** hi a0 .. a31 and lo a0 .. a31.
**
** rows, cols  shape of the matrix X, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** top  out    the bits of the largest |x| of each row (column) of X
** parts       the same bits of parts of the columns, each of `depth` rows:
**             `count` rows of `pitch` elements; out of pack_first, in of
**             pack_columns
** P  out      panels x blocks x 128 packed rows of 64 bytes, or panels x 128
**             x blocks of 128 bytes; places without an element of X are zero
** refused     0 before; set to 1 where X has infinities or NaN, or a piece of
**             8 neighbours, not all 0, that lie below 2^-19 of the largest in
**             the row (column), so that they lose more than 3 bits
**
** With WHOLE, where columns are packed: `depth` is the number of work-groups
** that share 32 of them, `pitch` their number in P.
**
** pack_first takes one operand, X, or two, the work-groups behind the first
** `groups` for Y; `top` is `parts` where columns are searched, P is not used.
**
** NDRange: pack_first:   local = 256, global = (groups of X + groups of Y) *
**                        256; panels * 128 / (256 / LX) groups for rows,
**                        columns / (32 VX) * rows / depth for columns, or,
**                        with WHOLE, panels * 4 * depth
**          pack_columns: global = (panels * 128, pieces), local = (32, 8)
**          rounded up; blocks = k / DEPTH_OF, pieces = DEPTH_OF / 8 * blocks,
**          for hi and lo at once; panels = rows (columns) / 128
** Local memory: 4 KiB (pack_first; 12 with WHOLE), 8 KiB (pack_columns)
** Defines: ROWS_X, ROWS_Y, WHOLE, LX, VX, VY, HELD, DEPTH_OF; PLACED, see
**          submatrix.cl
** Assumes: NVIDIA, compute capability 8.0 or more; where VX = 4, base and
**          rows of X lie at multiples of 16 bytes and 4 divides cols
**
** Lesson: a power of two per row and one per column go through a product
** unchanged, so that scaling costs no accuracy. A group holds a row in its
** registers from the search for the largest to the split; columns would have
** to be held whole, so B is read twice, and nine times with WHOLE, which
** caches serve as long as it is small. That moves 20 bytes per element of a
** square product, without WHOLE. Launches are few, as each takes 5 us at
** least: of a product of 1000 that is half the time. */
#ifndef ROWS_X
#define ROWS_X 1 /* 1: X goes by its rows, 0: by its columns */
#endif
#ifndef ROWS_Y
#define ROWS_Y 0 /* the same for Y */
#endif
#ifndef LX
#define LX 32 /* work-items for a row: a power of two, 32 to 256 */
#endif
#ifndef VX
#define VX 1 /* elements of X in a load of pack_first: 1 or 4 */
#endif
#ifndef VY
#define VY 1 /* the same for Y */
#endif
#ifndef HELD
#define HELD 4 /* pieces of a row that a work-item keeps */
#endif

#ifndef WHOLE
#define WHOLE 0 /* 1: pack_first packs columns, too */
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

#define INLINE static inline __attribute__((always_inline))

/* The 8 elements of a row from `col` on, zeros beyond its `width` */
INLINE void load_piece(float *v, global const float *x, size_t col,
                       size_t width, int at_once)
{
  #pragma unroll
  for (int i = 0; i < 8; i += at_once) {
    if (at_once == 4)
      vstore4(col + i < width ? *(global const float4 *)(x + col + i)
                              : (float4)0,
              0, v + i);
    else
      v[i] = col + i < width ? x[col + i] : 0;
  }
}

INLINE uint largest(const float *v, uint most)
{
  #pragma unroll
  for (int i = 0; i < 8; i++)
    most = max(most, as_uint(fabs(v[i])));
  return most;
}

/* Rows number group * (256 / LX) on. A work-item keeps its first HELD pieces
** in registers from the search for the largest to the split, and reads further
** pieces again. */
INLINE void pack_rows(uint group, int rows, int cols, global const float *X,
                      int ldx, int at_once, global uint *restrict top,
                      global uint *restrict P, global int *restrict refused,
                      local uint *tops)
{
  const uint lane = get_local_id(0) % LX, y = get_local_id(0) / LX;
  const size_t row = (size_t)group * (256 / LX) + y;
  const size_t blocks = ((size_t)cols + DEPTH_OF - 1) / DEPTH_OF;
  const size_t pieces = PIECES * blocks;
  const int inside = row < (size_t)rows;
  const size_t width = inside ? cols : 0;
  global const float *x = X + (inside ? row : 0) * ldx;

  float held[HELD][8];
  uint most = 0;
  #pragma unroll
  for (int h = 0; h < HELD; h++) {
    load_piece(held[h], x, (lane + h * LX) * 8, width, at_once);
    most = largest(held[h], most);
  }
  for (size_t piece = lane + HELD * LX; piece < pieces; piece += LX) {
    float v[8];
    load_piece(v, x, piece * 8, width, at_once);
    most = largest(v, most);
  }
  __asm__ volatile("redux.sync.max.u32 %0, %1, 0xffffffff;"
                   : "=r"(most) : "r"(most));
#if LX > 32
  tops += y * (LX / 32);
  if (lane % 32 == 0)
    tops[lane / 32] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (int i = 0; i < LX / 32; i++)
    most = max(most, tops[i]);
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
    load_piece(v, x, piece * 8, width, at_once);
    STORE_PIECE(v, piece);
  }
}

/* A part of 32 VX columns, 8 rows of work-items abreast */
INLINE void top_columns(uint group, int rows, int cols, global const float *X,
                        int ldx, int at_once, int depth,
                        global uint *restrict parts, int pitch,
                        local uint *tops)
{
  const uint lane = get_local_id(0) % 32, y = get_local_id(0) / 32;
  const uint across = (cols + 32 * at_once - 1) / (32 * at_once);
  const size_t col = (group % across * 32 + lane) * at_once;
  const size_t first = (size_t)(group / across) * depth;

  uint most[4] = {0, 0, 0, 0};
  if (col < (size_t)cols) {
    #pragma unroll 8
    for (size_t i = first + y; i < first + depth; i += 8) {
      if (i < (size_t)rows) {
        float v[4] = {0, 0, 0, 0};
        if (at_once == 4)
          vstore4(*(global const float4 *)(X + i * ldx + col), 0, v);
        else
          v[0] = X[i * ldx + col];
        #pragma unroll
        for (int c = 0; c < at_once; c++)
          most[c] = max(most[c], as_uint(fabs(v[c])));
      }
    }
  }
  #pragma unroll
  for (int c = 0; c < at_once; c++)
    tops[(y * at_once + c) * 32 + lane] = most[c];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (y < (uint)at_once && col < (size_t)cols) {
    uint all = 0;
    #pragma unroll
    for (uint i = 0; i < 8; i++)
      all = max(all, tops[(i * at_once + y) * 32 + lane]);
    parts[group / across * pitch + col + y] = all;
  }
}

#define TILE (8 * 32 * 2) /* 8 / PIECES blocks of 32 packed rows */

/* Splits 8 pieces, from `piece` on, of 32 columns, from `col` on; `most` is
** the largest element of this work-item's column. Neighbours have neighbouring
** columns, as they lie in X; their results are far apart in P and go through
** local memory to be stored whole. */
INLINE void split_columns(size_t col, size_t piece, uint lane, uint y,
                          int rows, int cols, global const float *X, int ldx,
                          uint most, global uint *restrict P,
                          global int *restrict refused, local uint4 *tile)
{
  const size_t blocks = ((size_t)rows + DEPTH_OF - 1) / DEPTH_OF;
  float v[8];
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const size_t row = (piece + y) * 8 + i;
    v[i] = col + lane < (size_t)cols && row < (size_t)rows
             ? X[row * ldx + col + lane] : 0;
  }
  uint4 hi, lo;
  split(v, most, refused, &hi, &lo);
  local uint4 *t = tile + (y / PIECES * 32 + lane) * (2 * PIECES);
  t[SPREAD(PLACE(y % PIECES, lane), lane)] = hi;
  t[SPREAD(PLACE(y % PIECES + PIECES, lane), lane)] = lo;
  barrier(CLK_LOCAL_MEM_FENCE);

  #pragma unroll
  for (uint e = y * 32 + lane; e < TILE; e += 256) {
    const size_t block = piece / PIECES + e / (32 * 2 * PIECES);
    const uint line = e / (2 * PIECES) % 32, p = e % (2 * PIECES);
    if (block < blocks)
      ((global uint4 *)P)[LINE(col + line, block, blocks) + p]
        = tile[e - p + SPREAD(p, line)];
  }
}

#if WHOLE
/* A share of the pieces of 32 columns. Each work-group has searched all of
** these columns itself: `shares` of them read X again and no launch lies in
** between */
INLINE void pack_whole(uint group, int rows, int cols, global const float *X,
                       int ldx, int at_once, int shares,
                       global uint *restrict top, int height,
                       global uint *restrict P, global int *restrict refused,
                       local uint *tops, local uint4 *tile)
{
  const uint id = get_local_id(0), lane = id % 32, y = id / 32;
  const uint abreast = 8 * at_once; /* rows of a step of the search */
  const size_t col = group % (height / 32) * 32;
  const size_t share = group / (height / 32);
  const uint own = id % (32 / at_once) * at_once;
  const uint from = id / (32 / at_once);
  uint most[4] = {0, 0, 0, 0}, all = 0;
  if (col + own < (size_t)cols) {
    #pragma unroll 16
    for (size_t i = from; i < (size_t)rows; i += abreast) {
      float v[4] = {0, 0, 0, 0};
      if (at_once == 4)
        vstore4(*(global const float4 *)(X + i * ldx + col + own), 0, v);
      else
        v[0] = X[i * ldx + col + own];
      #pragma unroll
      for (int c = 0; c < at_once; c++)
        most[c] = max(most[c], as_uint(fabs(v[c])));
    }
  }
  #pragma unroll
  for (int c = 0; c < at_once; c++)
    tops[from * 32 + own + c] = most[c];
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (uint i = 0; i < abreast; i++)
    all = max(all, tops[i * 32 + lane]);
  if (share == 0 && y == 0)
    top[col + lane] = all;
  const size_t pieces = ((size_t)rows + DEPTH_OF - 1) / DEPTH_OF * PIECES;
  for (size_t piece = share * 8; piece < pieces; piece += shares * 8) {
    split_columns(col, piece, lane, y, rows, cols, X, ldx, all, P, refused,
                  tile);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void pack_first(int rows_x, int cols_x, global const float *restrict X,
                int ldx, int depth_x, global uint *restrict top_x, int pitch_x,
                global uint *restrict P_x, int groups, int rows_y, int cols_y,
                global const float *restrict Y, int ldy, int depth_y,
                global uint *restrict top_y, int pitch_y,
                global uint *restrict P_y, global int *restrict refused AT_XY)
{
  local uint tops[8 * 4 * 32];
#if WHOLE
  local uint4 tile[TILE];
#endif
  const uint group = get_group_id(0);
  MOVE(X, at_x);
  MOVE(Y, at_y);
  if (group < (uint)groups) {
#if ROWS_X
    pack_rows(group, rows_x, cols_x, X, ldx, VX, top_x, P_x, refused, tops);
#elif WHOLE
    pack_whole(group, rows_x, cols_x, X, ldx, VX, depth_x, top_x, pitch_x, P_x,
               refused, tops, tile);
#else
    top_columns(group, rows_x, cols_x, X, ldx, VX, depth_x, top_x, pitch_x,
                tops);
#endif
  } else {
#if ROWS_Y
    pack_rows(group - groups, rows_y, cols_y, Y, ldy, VY, top_y, P_y, refused,
              tops);
#elif WHOLE
    pack_whole(group - groups, rows_y, cols_y, Y, ldy, VY, depth_y, top_y,
               pitch_y, P_y, refused, tops, tile);
#else
    top_columns(group - groups, rows_y, cols_y, Y, ldy, VY, depth_y, top_y,
                pitch_y, tops);
#endif
  }
}

#if !WHOLE
kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void pack_columns(int rows, int cols, global const float *restrict X, int ldx,
                  global const uint *restrict parts, int count,
                  global uint *restrict top, global uint *restrict P,
                  global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  local uint4 tile[TILE];
  const size_t col = get_global_id(0);
  uint most = 0;
  for (int i = 0; col < (size_t)cols && i < count; i++)
    most = max(most, parts[i * get_global_size(0) + col]);
  if (get_global_id(1) == 0)
    top[col] = most;
  split_columns(get_group_id(0) * 32, get_group_id(1) * 8, get_local_id(0),
                get_local_id(1), rows, cols, X, ldx, most, P, refused, tile);
}
#endif
