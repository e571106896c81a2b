/* nv_fp16x3_pack.cl - the operands of nv_fp16x3.cl: floats as pairs of halves
** SPDX-License-Identifier: MIT
**
** Each row of A, each column of B is scaled by a power of two that brings its
** largest element to 2^14 .. 2^15, where a half and the next 11 bits as
** another half both have room: x = 2^e (hi + lo). To be run in this order:
**
** clear         sets what the others add to
** pack_rows     A: finds the largest of each row, splits and stores it
** top_columns   B: finds the largest of each column
** pack_columns  B: splits and stores it
**
**        A              block 0            block 1         of B: a row for
**   a0 .. a15 a16 ..    | hi a0 .. a7  |   | hi a16 ..     each column
**   b0 .. b15 b16 ..    | hi a8 .. a15 |
**                       | lo a0 .. a7  |   the four pieces of row r change
**                       | lo a8 .. a15 |   places: p lies at p ^ (r / 2 % 4)
**                       | hi b0 .. b7  |
**
** A block has the 128 rows of one panel; the blocks of a panel follow each
** other, then come those of the next 128 rows.
**
** rows, cols  shape of the matrix X, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** top         the bits of the largest |x| of each row (column) of X: out of
**             pack_rows; set to 0 by clear, then in and out of top_columns,
**             then in of pack_columns
** P  out      panels x blocks x 128 packed rows of 64 bytes; what has no
**             element of X is set to zero
** refused     set to 0 by clear, to 1 by the pack kernels where X has
**             infinities or NaN, or a piece of 8 neighbours, not all 0, that
**             lie below 2^-19 of the largest in the row (column), so that
**             they lose more than 3 bits
**
** NDRange: clear:        global = count
**          pack_rows:    global = (LX, panels * 128), local = (LX, LY)
**          top_columns:  global = (columns, rows / DEPTH * LY),
**                        local = (LX, LY)
**          pack_columns: global = (panels * 128, pieces), local = (32, 8)
**          rounded up; blocks = k / 16, pieces = 2 * blocks, those of hi and
**          of lo at once; panels = rows (columns) / 128
** Local memory: LX LY words (pack_rows, top_columns), 8 KiB (pack_columns)
** Defines: LX, LY, DEPTH, VX; PLACED, see submatrix.cl
** Assumes: NVIDIA, compute capability 8.0 or more; where VX = 4, base and
**          rows of X lie at multiples of 16 bytes and cols is one of 4
**
** Lesson: a power of two per row and one per column go through a product
** unchanged, so that scaling costs no accuracy. Rows are read twice by the
** same group, the second time from the cache; columns would have to be held
** there whole, so B is read twice from memory. That moves 20 bytes per
** element of a square product, a tenth of the time at 4096. */
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
#define VX 1 /* elements of X in a load of pack_rows: 1 or 4 */
#endif

#include "submatrix.cl"

#define TOP 14     /* exponent of the largest element after scaling */
#define FLOOR -5   /* exponent that a piece must reach */
#define LEAST -113 /* exponent of the smallest top that can be scaled up */
#define WEIGHT(bits) ((int)((bits) >> 23) - 127) /* exponent of |x| */

/* The exponent that is taken from a row, or column, whose largest |x| has
** these bits: nv_fp16x3.cl knows it as well. Infinities and NaN get any. */
#define SCALE(bits) \
  ((bits) == 0 ? 0 : clamp(WEIGHT(bits), LEAST, 127) - TOP)

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
#define PANEL 128
#define LINE(r, block, blocks) \
  ((((r) / PANEL * (blocks) + (block)) * PANEL + (r) % PANEL) * 4)
#define PLACE(p, r) ((p) ^ ((r) / 2 % 4))

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

kernel void clear(int count, global uint *restrict top,
                  global int *restrict refused)
{
  const size_t i = get_global_id(0);
  if (i < (size_t)count)
    top[i] = 0;
  if (i == 0)
    *refused = 0;
}

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void pack_rows(int rows, int cols, global const float *restrict X, int ldx,
               global uint *restrict top, global uint *restrict P,
               global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  local uint tops[LY][LX];
  const uint lane = get_local_id(0), y = get_local_id(1);
  const size_t row = get_global_id(1), width = cols;
  const size_t blocks = (width + 15) / 16;
  const int inside = row < (size_t)rows;
  global const float *x = X + (inside ? row : 0) * ldx;

  uint most = 0;
  if (inside) {
    #pragma unroll 4
    for (size_t col = lane; col < width; col += LX)
      most = max(most, as_uint(fabs(x[col])));
  }
  tops[y][lane] = most;
  for (uint step = LX / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < step)
      tops[y][lane] = max(tops[y][lane], tops[y][lane + step]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  most = tops[y][0];
  if (lane == 0)
    top[row] = most;

  for (size_t piece = lane; piece < 2 * blocks; piece += LX) {
    float v[8];
    #pragma unroll
    for (int i = 0; i < 8; i += VX) {
      const size_t col = piece * 8 + i;
#if VX == 4
      vstore4(inside && col < width ? *(global const float4 *)(x + col)
                                      : (float4)0,
              0, v + i);
#else
      v[i] = inside && col < width ? x[col] : 0;
#endif
    }
    uint4 hi, lo;
    split(v, most, refused, &hi, &lo);
    global uint4 *p = (global uint4 *)P + LINE(row, piece / 2, blocks);
    p[PLACE(piece % 2, row)] = hi;
    p[PLACE(piece % 2 + 2, row)] = lo;
  }
}

kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void top_columns(int rows, int cols, global const float *restrict X, int ldx,
                 global uint *restrict top AT_X)
{
  MOVE(X, at_x);
  local uint tops[LY][LX];
  const uint lane = get_local_id(0), y = get_local_id(1);
  const size_t col = get_global_id(0), first = get_group_id(1) * DEPTH;

  uint most = 0;
  if (col < (size_t)cols) {
    #pragma unroll 8
    for (size_t i = first + y; i < first + DEPTH; i += LY) {
      if (i < (size_t)rows)
        most = max(most, as_uint(fabs(X[i * ldx + col])));
    }
  }
  tops[y][lane] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (y == 0 && col < (size_t)cols) {
    for (uint i = 1; i < LY; i++)
      most = max(most, tops[i][lane]);
    atomic_max(top + col, most);
  }
}

/* Neighbours have neighbouring columns, as they lie in X; what they make of
** them is far apart in P and goes through local memory to be stored whole. */
kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void pack_columns(int rows, int cols, global const float *restrict X, int ldx,
                  global const uint *restrict top, global uint *restrict P,
                  global int *restrict refused AT_X)
{
  MOVE(X, at_x);
  local uint4 tile[4 * 32 * 4]; /* 4 blocks of 32 packed rows */
  const uint lane = get_local_id(0), y = get_local_id(1);
  const size_t col = get_global_id(0), piece = get_global_id(1);
  const size_t blocks = (size_t)(rows + 15) / 16;
  const int inside = col < (size_t)cols;
  float v[8];
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const size_t row = piece * 8 + i;
    v[i] = inside && row < (size_t)rows ? X[row * ldx + col] : 0;
  }
  uint4 hi, lo;
  split(v, inside ? top[col] : 0, refused, &hi, &lo);
  local uint4 *t = tile + (y / 2 * 32 + lane) * 4;
  t[PLACE(y % 2, lane)] = hi;
  t[PLACE(y % 2 + 2, lane)] = lo;
  barrier(CLK_LOCAL_MEM_FENCE);

  #pragma unroll
  for (uint e = y * 32 + lane; e < 4 * 32 * 4; e += 256) {
    const size_t block = get_group_id(1) * 4 + e / 128;
    if (block < blocks)
      ((global uint4 *)P)[LINE(get_group_id(0) * 32, block, blocks) + e % 128]
        = tile[e];
  }
}
