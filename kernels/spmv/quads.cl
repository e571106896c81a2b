/* quads.cl - included by CSR kernels that take four elements at a time
** SPDX-License-Identifier: MIT
**
** Defines: REAL; NV: 1 for inline PTX, on NVIDIA GPUs from 7.0 on: elements,
** which are read once, leave the first cache to x, and lanes of a warp tell
** one another their sums. For speed only, col_ind and values begin at
** multiples of 16 bytes. */
#include "../type/real.cl"
#ifndef NV
#define NV 0 /* 1: inline PTX */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REAL4 JOIN(REAL, 4)

#if NV
uint4 stream(global const void *p)
{
  uint4 v;
  __asm__ volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, "
                   "[%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

/* The value of a lane of this warp, modulo 32. */
REAL of_lane(REAL x, uint lane)
{
  union {
    REAL value;
    uint word[sizeof(REAL) / 4];
  } b;
  b.value = x;
#pragma unroll
  for (int k = 0; k < sizeof(REAL) / 4; k++)
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;"
                     : "=r"(b.word[k]) : "r"(b.word[k]), "r"(lane));
  return b.value;
}
#endif

/* The products of elements at to at + 3, at a multiple of 4: zero for those
** outside first to end - 1, NaN for a column outside the matrix. */
REAL4 products(uint at, uint first, uint end, uint cols, uint nnz,
               global const int *col_ind, global const REAL *values,
               global const REAL *x)
{
  uint4 j = 0;
  REAL4 a = 0;
  if (at >= end)
    return a;
#if NV
  const bool whole = at + 4 <= nnz
      && (((size_t)col_ind | (size_t)values) & 15) == 0;
#else
  const bool whole = at + 4 <= nnz;
#endif
  if (whole) {
#if NV
    union {
      REAL4 value;
      uint4 part[sizeof(REAL) / 4];
    } v;
    j = stream(col_ind + at);
    v.part[0] = stream(values + at);
    if (sizeof(REAL) > 4)
      v.part[sizeof(REAL) / 4 - 1] = stream(values + at + 2);
    a = v.value;
#else
    j = as_uint4(vload4(0, col_ind + at));
    a = vload4(0, values + at);
#endif
  } else {
#define ONE(i, c)                                                            \
  if (at + i < end) {                                                        \
    j.c = col_ind[at + i];                                                   \
    a.c = values[at + i];                                                    \
  }
    ONE(0, x) ONE(1, y) ONE(2, z) ONE(3, w)
  }
  /* all loads come before the first use, x[0] for elements outside; a
  ** negative column has become huge */
  REAL4 b, p;
#define INSIDE(i) (at + i >= first && at + i < end)
#define LOAD(i, c) b.c = x[INSIDE(i) ? min(j.c, cols - 1) : 0];
#define MULTIPLY(i, c)                                                       \
  p.c = !INSIDE(i) ? (REAL)0 : j.c < cols ? a.c * b.c : (REAL)NAN;
  LOAD(0, x) LOAD(1, y) LOAD(2, z) LOAD(3, w)
  MULTIPLY(0, x) MULTIPLY(1, y) MULTIPLY(2, z) MULTIPLY(3, w)
  return p;
}
