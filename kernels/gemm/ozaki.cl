/* ozaki.cl - double product by the Chinese remainders of int8 products
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, after K. Ozaki, Y. Uchino, T. Imamura, "Ozaki
** Scheme II: A GEMM-oriented emulation of floating-point matrix
** multiplication using an integer modular technique", 2025. To be run in this
** order, see ozaki_pack.cl for the first three and the last:
**
**   measure  the scales s of the rows of A, t of the columns of B
**   sample   is that as exact as a product in double, here and there?
**   pack     A = 2^-s A', B = B' 2^-t, A' and B' whole, modulo 256, 255, 253
**   check    the same everywhere; else it is refused
**   gemm     A' B' modulo each of them:  sum of a char times a char
**   combine  A' B' itself, from its remainders; C
**
**                     +---- B' mod p, N lines of chars along k
**                     v
**   A' mod p --> |  A' B' mod p  |    a plane for each p: bytes below p
**
** M, N        rows and columns of C, each >= 1
** pitch       bytes of a line, a multiple of 128; those beyond k are 0
** moduli      their number; behind their planes lies one with the elements'
**             sizes: |x| / 2^e times 127, rounded up, 2^e above the line
** A, B  in    moduli + 1 planes of M, of N lines
** constants   in: 8 doubles for each modulus, the first is p
** sums  out   moduli planes of M rows of lds bytes, lds >= N
** notes  in   of each line of A, of B, see ozaki_check.cl
** tolerance   the mean loss allowed, as a fraction of |A||B|, with all moduli;
**             twice that with one fewer
** state  in   four words, see ozaki_check.cl; where the first one is not 0,
**             nothing is done
**
** NDRange: gemm: global = N / 2 x M / 2 rounded up to 8 x moduli, local = 8 x
**          8 x 1; check: the same in two dimensions
** Defines: FEWER, see ozaki_check.cl
** Assumes: no int beyond 2^31: sums are cut into parts of 2^16 terms
**
** Lesson: a whole number below P is known by its remainders modulo coprime
** numbers whose product is P, and remainders are added and multiplied each
** for itself. 15 of them, a byte each, hold 117 bits: a row of 58 bits by a
** column of 58. So a product in double is 15 products of bytes, which matrix
** units for neural networks do 20 times as fast, or more, than double; and
** its sums have no rounding at all. What is lost is lost before: elements
** far below the largest in their line keep fewer bits. Whether that counts
** depends on what they meet, so check computes |A||B| roughly, from below, in
** one more product of bytes, and compares the loss with it. With 15 of them
** that moves 15 (m + n) k bytes in, 15 m n out and in again. 14 lose 15 times
** as much, for most operands still less than double does; sample tries it. */
#define CHUNK 65536 /* terms of a sum before its remainder is taken */
#define BLOCK 2     /* rows and columns of C for a work-item */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#include "ozaki_check.cl"

static inline int all_of(int16 v)
{
  return v.s0 + v.s1 + v.s2 + v.s3 + v.s4 + v.s5 + v.s6 + v.s7 + v.s8 + v.s9
    + v.sa + v.sb + v.sc + v.sd + v.se + v.sf;
}

/* The sums of `count` products of lines a[i] by lines b[j], from `from` on */
static inline void multiply(int sum[BLOCK][BLOCK],
                            global const char *const *a,
                            global const char *const *b, size_t from,
                            size_t count)
{
  int16 sums[BLOCK][BLOCK];
  #pragma unroll
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++)
      sums[i][j] = 0;
  for (size_t k = from; k < from + count; k += 16) {
    int16 x[BLOCK], y[BLOCK];
    #pragma unroll
    for (int i = 0; i < BLOCK; i++) {
      x[i] = convert_int16(vload16(0, a[i] + k));
      y[i] = convert_int16(vload16(0, b[i] + k));
    }
    #pragma unroll
    for (int i = 0; i < BLOCK; i++)
      for (int j = 0; j < BLOCK; j++)
        sums[i][j] += x[i] * y[j];
  }
  #pragma unroll
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++)
      sum[i][j] = all_of(sums[i][j]);
}

/* The lines of this work-item's rows or columns in a plane, the last one
** again for lines beyond */
#define LINES(a, A, plane, lines, first)                                  \
  global const char *a[BLOCK];                                            \
  for (int i_ = 0; i_ < BLOCK; i_++)                                      \
    a[i_] = A + ((size_t)(plane) * (lines)                                \
                 + min((size_t)(first) + i_, (size_t)(lines) - 1)) * pitch

kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void gemm(int M, int N, int pitch, int moduli, global const char *restrict A,
          global const char *restrict B, global const double *constants,
          global uchar *restrict sums, int lds, global const int *state)
{
  const size_t plane = get_global_id(2), length = pitch;
  const size_t row = get_global_id(1) * BLOCK, col = get_global_id(0) * BLOCK;
  if (*state || (fewer(state) && plane == get_global_size(2) - 1)
      || row >= (size_t)M || col >= (size_t)N)
    return;
  const int p = (int)constants[8 * plane];
  LINES(a, A, plane, M, row);
  LINES(b, B, plane, N, col);

  int total[BLOCK][BLOCK] = {{0}};
  for (size_t k = 0; k < length; k += CHUNK) {
    int sum[BLOCK][BLOCK];
    multiply(sum, a, b, k, min(length - k, (size_t)CHUNK));
    for (int i = 0; i < BLOCK; i++)
      for (int j = 0; j < BLOCK; j++)
        total[i][j] = (total[i][j] + sum[i][j] % p) % p;
  }
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++)
      if (row + i < (size_t)M && col + j < (size_t)N)
        sums[(plane * M + row + i) * lds + col + j]
          = total[i][j] < 0 ? total[i][j] + p : total[i][j];
}

kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void check(int M, int N, int pitch, int moduli, global const char *restrict A,
           global const char *restrict B, global const int8 *notes_a,
           global const int8 *notes_b, double tolerance, global int *state)
{
  const size_t length = pitch;
  const size_t row = get_global_id(1) * BLOCK, col = get_global_id(0) * BLOCK;
  const int few = fewer(state);
  if (state[0] || !state[1] || row >= (size_t)M || col >= (size_t)N)
    return;
  LINES(a, A, moduli, M, row);
  LINES(b, B, moduli, N, col);

  double total[BLOCK][BLOCK] = {{0}};
  for (size_t k = 0; k < length; k += CHUNK) {
    int sum[BLOCK][BLOCK];
    multiply(sum, a, b, k, min(length - k, (size_t)CHUNK));
    for (int i = 0; i < BLOCK; i++)
      for (int j = 0; j < BLOCK; j++)
        total[i][j] += sum[i][j];
  }
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++) {
      const float4 x = facts(notes_a, min(row + i, (size_t)M - 1), few);
      const float4 y = facts(notes_b, min(col + j, (size_t)N - 1), few);
      if (total[i][j] > 0
          && loses(total[i][j], 1, x, y, (few + 1) * tolerance))
        *state = 1;
    }
}
