/* ozaki_pack.cl - operands of ozaki.cl as whole numbers modulo small ones, and
** C from its remainders
** SPDX-License-Identifier: MIT
**
** table    the moduli, and what the others need of them: constants
** pack     scales each line, a row of A or a column of B, by a power of two,
**          2^s, so that the norms of a row and a column multiply to less than
**          half of P, the product of the moduli, and no sum of theirs wraps
**          round; rounds it to whole numbers; stores their remainders
**
**   x  -->  x' = rint(2^s x)  -->  x' mod 256, x' mod 255, x' mod 253, ...
**                                  from -128 to 127, a plane for each
**
** combine  adds up remainder times weight; a weight is 1 modulo its own p and
**          0 modulo the others. Less the multiple of P that brings the sum
**          next to 0, that is A' B', whole and exact; C = alpha 2^(-s - t) A'
**          B' + beta C
**
** length      elements of a line: k
** X  in       a line begins at X + i * ldx; as many lines as work-groups
** planes out, notes out, pitch, moduli, refused, sums in, lds: see ozaki.cl
** list        out of table: the moduli, as ints
** constants   out of table, in: 8 doubles for each modulus p: p, 1 / p, weight / P, 0, and
**             the weight in digits of 40 bits, low ones first; behind them
**             the same of P
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: table: global = moduli + 1; pack: global = lines * LX, local = LX; combine: global = N x M,
**          each rounded up to any local size
** Local memory: LX doubles (pack)
** Defines: LX; PLACED, see submatrix.cl
** Assumes: double; LX a power of two
**
** Lesson: a digit of 40 bits times a byte, added up 18 times, stays below
** 2^53, so doubles add it exactly, and so do all four digits of the weights.
** Only when the multiple of P is gone are they put together: one rounding, the
** last. The norm, not the largest element, tells how far a line can be
** scaled: for normal numbers that is 3.4 bits for a product, half a modulus.
** A line is read three times, the last two from the cache. */
#ifndef LX
#define LX 64 /* work-items for a line */
#endif

#include "submatrix.cl"

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
  global double *own = constants + 8 * i;
  ulong d[4] = {1, 0, 0, 0};
  for (int m = 0; m < moduli; m++)
    enlarge(d, m == i ? 1 : MODULI[m]);
  const uint p = i < moduli ? MODULI[i] : 1;
  uint q = 1, rest = 0;
  for (int l = 3; l >= 0; l--)
    rest = (((ulong)rest << 40) + d[l]) % p;
  while (i < moduli && rest * q % p != 1)
    q++;
  enlarge(d, q);
  if (i < moduli)
    list[i] = p;
  own[0] = p;
  own[1] = 1.0 / p;
  own[2] = (double)q / p;
  own[3] = 0;
  for (int l = 0; l < 4; l++)
    own[4 + l] = d[l];
}

#define INFINITY_BITS 0x7ff0000000000000UL

static inline double power_of_two(int n)
{
  return as_double((ulong)(1023 + n) << 52);
}

/* x 2^n, in two steps: 2^n alone may be beyond the range of double */
static inline double times_power(double x, int n)
{
  return x * power_of_two(n / 2) * power_of_two(n - n / 2);
}

/* The sum or the maximum over the work-items */
#define SHARE(all, value, op)                                             \
  do {                                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                         \
    all[get_local_id(0)] = value;                                         \
    for (uint n_ = LX / 2; n_ > 0; n_ /= 2) {                             \
      barrier(CLK_LOCAL_MEM_FENCE);                                       \
      if (get_local_id(0) < n_)                                           \
        all[get_local_id(0)]                                              \
          = op(all[get_local_id(0)], all[get_local_id(0) + n_]);          \
    }                                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                         \
    value = all[0];                                                       \
  } while (0)
#define PLUS(x, y) ((x) + (y))

kernel __attribute__((reqd_work_group_size(LX, 1, 1)))
void pack(int length, global const double *restrict X, int ldx, int pitch,
          int moduli, global const double *constants,
          global char *restrict planes, global double *notes,
          global int *refused AT_X)
{
  MOVE(X, at_x);
  local double all[LX];
  const size_t line = get_group_id(0), lines = get_num_groups(0);
  const size_t lane = get_local_id(0), width = length;
  global const double *x = X + line * ldx;

  int nonsense = 0;
  double most = 0, norm = 0, size = 0, lost = 0;
  for (size_t k = lane; k < width; k += LX) {
    nonsense |= as_ulong(fabs(x[k])) >= INFINITY_BITS;
    most = fmax(most, fabs(x[k]));
  }
  if (nonsense)
    *refused = 1;
  most = nonsense ? as_double(INFINITY_BITS) : most;
  SHARE(all, most, fmax);
  if (as_ulong(most) >= INFINITY_BITS)
    return;

  const int e = most > 0 ? ilogb(most) + 1 : 0; /* all below 2^e */
  for (size_t k = lane; k < width; k += LX) {
    const double y = times_power(x[k], -e);
    norm = fma(y, y, norm);
  }
  SHARE(all, norm, PLUS);
  /* the square of the norm that a scaled line may have */
  global const double *P = constants + 8 * moduli + 4;
  const double room = (1 - 0x1p-8) / 2
    * fma(P[3], 0x1p120, fma(P[2], 0x1p80, fma(P[1], 0x1p40, P[0])));
  const int q = norm > 0 ? ilogb(room / norm) >> 1 : 0, scale = q - e;

  global char *own = planes + line * pitch;
  for (size_t k = lane; k < (size_t)pitch; k += LX) {
    const double v = k < width ? x[k] : 0, y = times_power(v, scale);
    const double whole = rint(y);
    if (whole != y || (whole == 0 && v != 0))
      lost = 1;
    const int rough = (int)ceil(127 * fabs(times_power(v, -e)));
    const int top = v != 0 ? max(rough, 1) : 0;
    size += top;
    for (int m = 0; m < moduli; m++) {
      const double p = constants[8 * m], inverse = constants[8 * m + 1];
      double r = fma(-rint(whole * inverse), p, whole); /* |r| < 2^17 */
      r = fma(-rint(r * inverse), p, r);
      own[m * lines * pitch + k] = (char)(int)r;
    }
    own[moduli * lines * pitch + k] = top;
  }
  SHARE(all, size, PLUS);
  SHARE(all, lost, fmax);
  if (lane == 0) {
    notes[4 * line] = scale;
    notes[4 * line + 1] = lost * power_of_two(-q);
    notes[4 * line + 2] = size;
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

kernel void combine(int M, int N, int moduli, global const uchar *sums,
                    int lds, global const double *constants,
                    global const double *notes_a,
                    global const double *notes_b, double alpha, double beta,
                    global double *restrict C, int ldc,
                    global const int *refused AT_C)
{
  MOVE(C, at_c);
  const size_t col = get_global_id(0), row = get_global_id(1);
  if (*refused || row >= (size_t)M || col >= (size_t)N)
    return;
  double share = 0, digits[4] = {0, 0, 0, 0};
  for (int m = 0; m < moduli; m++) {
    const double r = sums[((size_t)m * M + row) * lds + col];
    global const double *weight = constants + 8 * m;
    share = fma(r, weight[2], share);
    for (int i = 0; i < 4; i++)
      digits[i] = fma(r, weight[4 + i], digits[i]);
  }
  share = rint(share);
  for (int i = 0; i < 4; i++)
    digits[i] = fma(-share, constants[8 * moduli + 4 + i], digits[i]);

  const int scale = (int)(notes_a[4 * row] + notes_b[4 * col]);
  global double *c = C + row * ldc + col;
  double value = alpha * ldexp(number_of(digits), 80 - scale);
  if (beta != 0)
    value += beta * *c;
  *c = value;
}
