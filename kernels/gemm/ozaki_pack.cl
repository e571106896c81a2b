/* ozaki_pack.cl - operands of ozaki.cl as whole numbers modulo small ones, and
** C from its remainders
** SPDX-License-Identifier: MIT
**
** table    the moduli, and what the others need of them: constants
** measure  finds for each line, a row of A or a column of B, its scale s, by
**          which the norms of a row and a column multiply to less than half of
**          P, the product of the moduli, and no sum of theirs wraps round; and
**          the sum of its sizes
** sample   computes what some elements of C lose: most operands that lose too
**          much are refused before they are packed, and the last modulus is
**          left out where these elements lose little without it
** pack     scales it by 2^s, rounds it to whole numbers and stores their
**          remainders, and behind them the sizes, and a quarter of these: of
**          four elements along k one, drawn by its place
**
**   x  -->  x' = rint(2^s x)  -->  x' mod 256, x' mod 255, x' mod 253, ...
**                                  from -128 to 127, a plane for each
**
** combine  adds up remainder times weight; a weight is 1 modulo its own p and
**          0 modulo the others. Less the multiple of P that brings the sum
**          next to 0, that is A' B', whole and exact; C = alpha 2^(-s - t) A'
**          B' + beta C
**
** lines, length  of the operand: m or n, and k
** A, B  in    element k of a line is at A + line * a_line + k * a_step
** X  in       a line begins at X + i * ldx; with ACROSS at X + i, and its
**             elements are ldx apart
** planes out, notes, pitch, state, sums in, lds: see ozaki.cl
** pitch4      bytes of a line of the quarter of the sizes
** list        out of table: the moduli, as ints
** constants   out of table, in: 8 doubles for each modulus p: p, 1 / p, weight
**             / P, 0, and the weight in digits of 40 bits, low ones first;
**             behind them the same of P; and all that with one modulus fewer
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: table: global = moduli + 1 x 2
**          measure: global = lines rounded up to WIDE x DEEP, local = WIDE x
**          DEEP
**          sample: global = SAMPLE x (columns of C) x rows to be tried, local
**          = SAMPLE
**          pack: global = pitch / 4 x lines rounded up to LY, local = 32 x LY;
**          with ACROSS, 32 lines take LY work-items
**          combine: global = N / COLS, rounded up to LX, x M, local = LX
** Local memory: WIDE * DEEP doubles (measure), 33 KiB (pack, ACROSS), 3 SAMPLE
**               doubles (sample)
** Defines: COUNT, ACROSS, WIDE, DEEP, LY, VX, SAMPLE, LX; FEWER, see
**          ozaki_check.cl; PLACED, see submatrix.cl
** Assumes: double; WIDE, DEEP and SAMPLE powers of two; with VX = 2 lines begin
**          at multiples of 16 bytes and their length is even
**
** Lesson: a remainder needs no division and no conversion, which are slow for
** double. A whole number of 64 bits is four pieces of 16, exact in float; each
** times the remainder of its weight, they add up below 2^24, also exactly. The
** quotient by p is rounded by a large number that is added and taken away. It
** may be off near a half, but then the remainder is just beyond p / 2, and
** fits a char as well.
** A digit of 40 bits times a byte, added up 18 times, stays below 2^53, so
** doubles add it exactly, and so do all digits of the weights. Only when the
** multiple of P is gone are they put together: one rounding, the last. The
** norm, not the largest element, tells how far a line can be scaled: for
** normal numbers that is 3.4 bits for a product, half a modulus. */
#ifndef COUNT
#define COUNT 15 /* moduli */
#endif
#ifndef ACROSS
#define ACROSS 0 /* 1: X is handed over transposed */
#endif
#ifndef WIDE
#define WIDE 1 /* lines of a work-group that measures */
#endif
#ifndef DEEP
#define DEEP 64 /* work-items for each of them */
#endif
#ifndef LY
#define LY 8 /* lines that a work-group packs at one time */
#endif
#ifndef VX
#define VX 1 /* elements of X in a load: 1 or 2 */
#endif
#ifndef SAMPLE
#define SAMPLE 64 /* work-items for an element of C that is sampled */
#endif
#ifndef LX
#define LX 32 /* work-items that make a part of a row of C */
#endif
#define PIECES (COUNT > 15 ? 5 : 4)
#define DIGITS (COUNT > 15 ? 4 : 3)

#include "submatrix.cl"
#include "ozaki_check.cl"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* Pairwise coprime, at most 256: a remainder is a char */
constant ushort MODULI[18] = {256, 255, 253, 251, 247, 241, 239, 233, 229,
                              227, 223, 217, 211, 199, 197, 193, 191, 181};

/* Digits of 40 bits, low ones first, times a number below 2^9 */
static inline void enlarge(ulong *d, uint factor)
{
  ulong carry = 0;
  for (int l = 0; l < 4; l++) {
    carry += d[l] * factor;
    d[l] = carry & 0xffffffffffUL;
    carry >>= 40;
  }
}

/* A weight is the product of the other moduli, times the q for which it is 1
** modulo its own p. */
kernel void table(int moduli, global double *constants, global int *list)
{
  const int i = get_global_id(0); /* moduli: their product P */
  const int used = moduli - (int)get_global_id(1);
  global double *own = constants + 8 * (get_global_id(1) * (moduli + 1) + i);
  ulong d[4] = {i < used || i == moduli, 0, 0, 0};
  for (int m = 0; m < used; m++)
    enlarge(d, m == i ? 1 : MODULI[m]);
  const uint p = i < moduli ? MODULI[i] : 1;
  uint q = 1, rest = 0;
  for (int l = 3; l >= 0; l--)
    rest = (((ulong)rest << 40) + d[l]) % p;
  while (i < used && rest * q % p != 1)
    q++;
  enlarge(d, q);
  if (i < moduli)
    list[i] = p;
  own[0] = p;
  own[1] = 1.0 / p;
  own[2] = i < used ? (double)q / p : 0;
  own[3] = 0;
  for (int l = 0; l < 4; l++)
    own[4 + l] = d[l];
}

#define INFINITY_BITS 0x7ff0000000000000UL
#define LEAST -1074 /* exponent of the least double */

static inline double power_of_two(int n)
{
  return as_double((ulong)(1023 + n) << 52);
}

/* x 2^n, in two steps: 2^n alone may be beyond the range of double */
static inline double times_power(double x, int n)
{
  n = clamp(n, -2040, 2040);
  return x * power_of_two(n / 2) * power_of_two(n - n / 2);
}

/* The exponent of the lowest bit of v */
static inline int lowest_bit(double v)
{
  const ulong bits = as_ulong(v), exponent = bits >> 52 & 0x7ff;
  const ulong digits = (bits & 0xfffffffffffffUL)
    | (ulong)(exponent != 0) << 52;
  return (int)max(exponent, 1UL) - 1012 - (int)clz(digits & (0 - digits));
}

/* The result of op over a line's work-items */
#define SHARE(value, op)                                                  \
  do {                                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                         \
    all[place] = value;                                                   \
    for (uint n_ = DEEP / 2; n_ > 0; n_ /= 2) {                           \
      barrier(CLK_LOCAL_MEM_FENCE);                                       \
      if (lane < n_)                                                      \
        all[place] = op(all[place], all[place + n_ * WIDE]);              \
    }                                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                         \
    value = all[get_local_id(0)];                                         \
  } while (0)
#define PLUS(x, y) ((x) + (y))

kernel __attribute__((reqd_work_group_size(WIDE, DEEP, 1)))
void measure(int lines, int length, global const double *restrict X, int ldx,
             global const double *constants, global int8 *notes,
             global int *state AT_X)
{
  MOVE(X, at_x);
  local double all[WIDE * DEEP];
  const uint lane = get_local_id(1), place = lane * WIDE + get_local_id(0);
  const size_t line = get_global_id(0);
  const size_t step = ACROSS ? ldx : 1;
  global const double *x
    = X + min(line, (size_t)lines - 1) * (ACROSS ? 1 : ldx);

  /* All are below 2^e; `bound` has the bits of 2^e. Norm and size are in units
  ** of 2^2e and 2^e. */
  ulong bound = 1;
  int e = LEAST;
  double norm = 0, size = 0, some = 0, low = 2000, half1 = 0, half2 = 0;
  for (size_t k = lane; k < (size_t)length; k += 4 * DEEP) {
    double v[4];
    ulong most = 0;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      const size_t at = k + i * DEEP;
      v[i] = at < (size_t)length ? fabs(x[at * step]) : 0;
      most = max(most, as_ulong(v[i]));
    }
    if (most >= bound) {
      if (most >= INFINITY_BITS) {
        *state = 1;
        break;
      }
      const int up = ilogb(as_double(most)) + 1;
      norm = times_power(norm, 2 * (e - up));
      size = times_power(size, e - up);
      e = up;
      bound = e > -1022 ? (ulong)(1023 + e) << 52 : 1UL << (e - LEAST);
      half1 = power_of_two(-e / 2);
      half2 = power_of_two(-e - -e / 2);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      const double y = v[i] * half1 * half2;
      norm = fma(y, y, norm);
      size += y;
      if (v[i] != 0) {
        some += 1;
        low = fmin(low, (double)lowest_bit(v[i]));
      }
    }
  }
  double top = e;
  SHARE(top, fmax);
  norm = times_power(norm, 2 * (e - (int)top));
  size = times_power(size, e - (int)top);
  SHARE(norm, PLUS);
  SHARE(size, PLUS);
  SHARE(some, PLUS);
  SHARE(low, fmin);
  if (lane != 0 || line >= (size_t)lines)
    return;

  e = norm > 0 ? (int)top : 0;
  int q[2];
  float unit[2];
  for (int f = 0; f < 2; f++) {
    /* the square of the norm that a scaled line may have */
    global const double *P = constants + 8 * (f * (COUNT + 1) + COUNT) + 4;
    const double room = (1 - 0x1p-8) / 2
      * fma(P[3], 0x1p120, fma(P[2], 0x1p80, fma(P[1], 0x1p40, P[0])));
    q[f] = norm > 0 ? ilogb(room / norm) >> 1 : 0;
    unit[f] = low < e - q[f] ? (float)power_of_two(-q[f]) : 0;
  }
  if (unit[FEWER] != 0)
    state[1] = 1;
  const float4 facts = {unit[0], unit[1], sqrt((float)norm),
                        fma(127 * (1 + 0x1p-20), size, some)};
  notes[line] = (int8)(as_int4(facts), q[0], q[1], e, 0);
}

/* The size of an element v / 2^e of a line: times 127, rounded up */
static inline double size_of(double v)
{
  return v != 0 ? fmax(ceil(127 * v), 1.0) : 0;
}

/* For elements of C: what they lose with one modulus fewer, a and b being
** scaled by 2^n and 2^m and rounded; |A||B|; and what check will know of it */
kernel __attribute__((reqd_work_group_size(SAMPLE, 1, 1)))
void sample(int M, int N, int length, global const double *restrict A,
            int a_line, int a_step, global const double *restrict B,
            int b_line, int b_step, global const int8 *notes_a,
            global const int8 *notes_b, double tolerance,
            global int *state AT_XY)
{
  MOVE(A, at_x);
  MOVE(B, at_y);
  local double all[3][SAMPLE];
  if (!state[1]) /* not state[0], which other groups set meanwhile */
    return;
  const size_t row = get_group_id(1) * M / get_num_groups(1);
  const size_t col = get_group_id(0) * N / get_num_groups(0);
  const uint lane = get_local_id(0);
  const int e = notes_a[row].s6, n = notes_a[row].s5 - e;
  const int f = notes_b[col].s6, m = notes_b[col].s5 - f;
  global const double *a = A + row * a_line, *b = B + col * b_line;
  double total = 0, size = 0, loss = 0;
  for (size_t k = lane; k < (size_t)length; k += SAMPLE) {
    const double v = a[k * a_step], w = b[k * b_step];
    const double x = times_power(v, n), y = times_power(w, m);
    const double r = fabs(times_power(v, -e)), s = fabs(times_power(w, -f));
    total = fma(size_of(r), size_of(s), total);
    size = fma(r, s, size);
    loss = fma(x - rint(x), y, fma(rint(x), y - rint(y), loss));
  }
  all[0][lane] = total;
  all[1][lane] = size;
  all[2][lane] = loss;
  for (uint l = SAMPLE / 2; l > 0; l /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 3 && lane < l; i++)
      all[i][lane] += all[i][lane + l];
  }
  if (lane != 0 || all[0][0] == 0)
    return;
  if (loses(all[0][0], 1, facts(notes_a, row, 0), facts(notes_b, col, 0),
            tolerance))
    state[0] = 1;
  const int much = loses(all[0][0], 1, facts(notes_a, row, 1),
                         facts(notes_b, col, 1), 1.7f * tolerance);
  size = all[1][0] * 0x1p-53;
  loss = fabs(times_power(all[2][0], -n - e - m - f));
  const float off = much || loss > 8 * size ? 8 : loss > 0 ? loss / size : 0;
  atomic_add(state + 3, (int)(off * off * (0x1p24f
    / (get_num_groups(0) * get_num_groups(1)))));
}

/* Added to a double below 2^51, and to a float below 2^22: the sum's lowest
** bits are the number, rounded to a whole one. */
#define ROUNDS 0x1.8p52
#define ROUNDS_F 0x1.8p23f

/* The remainder of 2^16i modulo p, from -p / 2 to p / 2 */
#define NEXT(w, p) ((w) * 65536L % (p))
#define SIGNED(w, p) ((w) > (p) / 2 ? (w) - (p) : (w))

/* Four numbers of a line to be scaled by half1 half2; w: 127 times 2^-q */
static inline void store(const double *v, double half1, double half2,
                         double w, int few, global char *to, size_t plane,
                         global char *quarter, uint place)
{
  float part[PIECES][4];
  uint sizes[4];
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    const double y = v[i] * half1 * half2;
    /* y = high 2^32 + low */
    const double high = fma(y, 0x1p-32, ROUNDS);
    const double low = fma(high - ROUNDS, -0x1p32, y) + ROUNDS;
    const ulong bits = as_ulong(low) - as_ulong(ROUNDS) + 0x80008000UL;
    const long rest = (long)(as_ulong(high) - as_ulong(ROUNDS))
      + (long)(bits >> 32) + 0x8000;
    const uint lower = (uint)bits;
    /* pieces of 16 bits, from -2^15 on */
#define PIECE(x) (as_float(((uint)(x) & 0xffff) | 0x4b000000) - 0x1.01p23f)
    part[0][i] = PIECE(lower);
    part[1][i] = PIECE(lower >> 16);
    part[2][i] = PIECE(rest);
#if COUNT > 15
    part[3][i] = PIECE((rest >> 16) + 0x8000);
    part[4][i] = (int)((rest + 0x80000000L) >> 32);
#else
    part[3][i] = as_float(0x4b400000 + ((int)rest >> 16)) - ROUNDS_F;
#endif
    const double near = fma(fabs(y), w, ROUNDS);
    const int up = fma(fabs(y), w, ROUNDS - near) > 0 || (y == 0 && v[i] != 0);
    sizes[i] = (uint)as_ulong(near) + up;
  }
  #pragma unroll
  for (int m = 0; m < COUNT; m++) {
    const long p = MODULI[m];
    const long w1 = NEXT(1, p), w2 = NEXT(w1, p), w3 = NEXT(w2, p);
    const float f1 = SIGNED(w1, p), f2 = SIGNED(w2, p), f3 = SIGNED(w3, p);
    const float inverse = 1.0f / p;
    uint r[4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      float x = part[0][i] + f1 * part[1][i];
      x = x + f2 * part[2][i];
      x = x + f3 * part[3][i];
#if COUNT > 15
      const float f4 = SIGNED(NEXT(w3, p), p);
      x = x + f4 * part[4][i];
#endif
      const float n = (x * inverse + ROUNDS_F) - ROUNDS_F;
      r[i] = as_uint((x - n * (float)p) + ROUNDS_F);
    }
    if (m < COUNT - 1 || !few)
      *(global uint *)(to + m * plane)
        = (r[0] & 0xff) | (r[1] & 0xff) << 8 | (r[2] & 0xff) << 16 | r[3] << 24;
  }
  const uint word
    = sizes[0] | sizes[1] << 8 | sizes[2] << 16 | sizes[3] << 24;
  *(global uint *)(to + COUNT * plane) = word;
  *quarter = word >> 8 * (place * 0x9e3779b9U >> 30);
}

#define GROUPS 32               /* work-items along k, 4 elements each */
#define ROW (32 * 4 + 2)        /* doubles of a tile for a work-item of them */

kernel __attribute__((reqd_work_group_size(GROUPS, LY, 1)))
void pack(int lines, int length, global const double *restrict X, int ldx,
          int pitch, global const int8 *notes, global char *restrict planes,
          int pitch4, global const int *state AT_X)
{
  MOVE(X, at_x);
  if (*state)
    return;
  const int few = fewer(state);
  const size_t plane = (size_t)lines * pitch;
  const uint lane = get_local_id(0);
  const size_t block = get_group_id(1), first = get_group_id(0) * (4 * GROUPS);
  const size_t k = first + 4 * lane;
#if ACROSS
  /* Lanes along the lines read, lanes along k go on. */
  local double tile[GROUPS * ROW];
  const size_t own = block * 32 + lane;
  for (uint g = get_local_id(1); g < GROUPS; g += LY) {
    double v[4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      const size_t at = first + 4 * g + i;
      v[i] = own < (size_t)lines && at < (size_t)length ? X[at * ldx + own]
                                                        : 0;
    }
    for (int i = 0; i < 4; i++)
      tile[g * ROW + 4 * lane + i] = v[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint j = get_local_id(1); j < 32; j += LY) {
    const size_t line = block * 32 + j;
    double v[4];
    #pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = tile[lane * ROW + 4 * j + i];
#else
  {
    const size_t line = block * LY + get_local_id(1);
    global const double *x = X + min(line, (size_t)lines - 1) * ldx + k;
    double v[4];
#if VX == 2
    const double2 v0 = k < (size_t)length ? *(global const double2 *)x : 0;
    const double2 v1
      = k + 2 < (size_t)length ? *(global const double2 *)(x + 2) : 0;
    v[0] = v0.x, v[1] = v0.y, v[2] = v1.x, v[3] = v1.y;
#else
    #pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = k + i < (size_t)length ? x[i] : 0;
#endif
#endif
    if (line < (size_t)lines) {
      const int8 note = notes[line];
      const int q = few ? note.s5 : note.s4, n = q - note.s6;
      store(v, power_of_two(n / 2), power_of_two(n - n / 2),
            127 * power_of_two(-q), few, planes + line * pitch + k, plane,
            planes + (COUNT + 1) * plane + line * pitch4 + k / 4, k / 4);
    }
  }
}

/* The number of digits d, each below 2^53, in units of 2^80 */
static inline double number_of(double *d)
{
  #pragma unroll
  for (int i = 0; i < 3; i++) {
    const double carry = rint(d[i] * 0x1p-40);
    d[i] = fma(-carry, 0x1p40, d[i]);
    d[i + 1] += carry;
  }
  const double top = d[3] * 0x1p40, high = top + d[2];
  const double rest = d[2] - (high - top);
  return high + (rest + fma(d[0], 0x1p-80, d[1] * 0x1p-40));
}

#define COLS 4 /* columns of C for a work-item: a word of remainders */
#define LONG (LX + 4) /* values of one of its columns, to meet all banks */

/* A work-item adds up neighbours, but stores what lies LX apart: a line of
** memory is written at once. */
kernel __attribute__((reqd_work_group_size(LX, 1, 1)))
void combine(int N, global const uchar *restrict sums, int lds,
             global const double *restrict constants,
             global const int8 *restrict notes_a,
             global const int8 *restrict notes_b, double alpha, double beta,
             global double *restrict C, int ldc, global const int *state AT_C)
{
  MOVE(C, at_c);
  local double values[COLS * LONG];
  const uint lane = get_local_id(0);
  const size_t first = get_group_id(0) * (COLS * LX), row = get_global_id(1);
  const size_t col = first + lane * COLS;
  if (*state)
    return;
  const int few = fewer(state);
  const size_t plane = get_global_size(1) * lds;
  global const uchar *sum = sums + row * lds + col;
  if (few)
    constants += 8 * (COUNT + 1);
  double share[COLS] = {0}, digits[COLS][4] = {{0}};
  #pragma unroll
  for (int m = 0; m < COUNT; m++) {
    const uint word = col < (size_t)N && (m < COUNT - 1 || !few)
      ? *(global const uint *)(sum + m * plane) : 0;
    global const double *weight = constants + 8 * m;
    #pragma unroll
    for (int c = 0; c < COLS; c++) {
      const double r
        = as_double(0x4330000000000000UL | (word >> 8 * c & 0xff)) - 0x1p52;
      share[c] = fma(r, weight[2], share[c]);
      #pragma unroll
      for (int i = 0; i < DIGITS; i++)
        digits[c][i] = fma(r, weight[4 + i], digits[c][i]);
    }
  }
  #pragma unroll
  for (int c = 0; c < COLS; c++) {
    const double most = rint(share[c]);
    #pragma unroll
    for (int i = 0; i < DIGITS; i++)
      digits[c][i] = fma(-most, constants[8 * COUNT + 4 + i], digits[c][i]);
    values[c * LONG + lane] = number_of(digits[c]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

#define SCALE(note) ((few ? (note).s5 : (note).s4) - (note).s6)
  const int scale = SCALE(notes_a[row]);
  global double *own = C + row * ldc + first;
  for (uint j = lane; j < COLS * LX && first + j < (size_t)N; j += LX) {
    const int n = 80 - scale - SCALE(notes_b[first + j]);
    double value
      = alpha * times_power(values[j % COLS * LONG + j / COLS], n);
    if (beta != 0)
      value += beta * own[j];
    own[j] = value;
  }
}
