/* summary.cl - least, largest and mean element of a buffer, on the device
** SPDX-License-Identifier: MIT
**
**   lo = min x, hi = max x, sum + rest = sum of x  over the finite elements of
**   x[start + i*ld + j], 0 <= i < rows, 0 <= j < cols, all lanes of a vector
**
** with counts of NaN, of infinities, and of numbers that are not whole.
** `summary` leaves one Part for each work-group, `join` makes one of all: 56
** bytes are read back, however large the buffer. Sums of reals are of doubles,
** or, where the device has none, of floats that keep the rounding error of
** each addition in `rest` (Knuth's two-sum); sums of integers have their lower
** 32 bits there. Without gaps a work-item takes eight neighbours at a time.
**
** Arguments:
**   x           in:  elements of TYPE
**   start       elements of x before the first that counts
**   rows, cols  how many there are
**   ld          elements from one row to the next, >= cols
**   parts       out: a Part for each work-group (`summary`);
**               in: `count` of them (`join`)
**   out         out: one Part
** NDRange: one dimension, local = {WG}; summary: any number of groups,
**   join: one group.
** Local memory: 56 * WG bytes.
** Defines: TYPE, SCALAR, LANES, PITCH, KIND, DENSE, BLOCKED, DOUBLE, WG.
** Extensions: cl_khr_fp64 where DOUBLE is 1.
** Assumes nothing of the shape.
*/
#include "../type/real.cl"
#ifndef TYPE
#define TYPE float /* element type */
#endif
#ifndef SCALAR
#define SCALAR float /* the type of its lanes */
#endif
#ifndef LANES
#define LANES 1 /* lanes of a vector */
#endif
#ifndef PITCH
#define PITCH LANES /* lanes that a vector takes in memory: 4 for 3 */
#endif
#ifndef KIND
#define KIND 2 /* 0 signed integer, 1 unsigned, 2 float, 3 half, 4 double */
#endif
#ifndef DENSE
#define DENSE 1 /* 1: no gaps, neither between rows nor inside vectors */
#endif
#ifndef BLOCKED
#define BLOCKED 0 /* 1: an item takes neighbours (CPUs), 0: every n-th */
#endif
#ifndef DOUBLE
#define DOUBLE 0 /* 1: the device has doubles, which sum reals up */
#endif
#ifndef WG
#define WG 64 /* work-group size, a power of two */
#endif

#if KIND == 0
typedef long Number;
typedef long8 Number8;
#define CONVERT convert_long8
#define LEAST LONG_MIN
#define MOST LONG_MAX
#elif KIND == 1
typedef ulong Number;
typedef ulong8 Number8;
#define CONVERT convert_ulong8
#define LEAST 0
#define MOST ULONG_MAX
#else
#if DOUBLE
typedef double Number;
typedef double8 Number8;
#define CONVERT convert_double8
#else
typedef float Number;
typedef float8 Number8;
#define CONVERT convert_float8
#endif
#if KIND == 4
typedef double8 Real8;
typedef long8 Mask8;
#else
typedef float8 Real8;
typedef int8 Mask8;
#endif
#define LEAST (-INFINITY)
#define MOST INFINITY
#endif

typedef struct Part {
  Number lo, hi, sum, rest;
  ulong nan, inf, broken;
} Part;

static Number load(global const SCALAR *x, ulong i)
{
#if KIND == 3
  return vload_half(i, x);
#else
  return x[i];
#endif
}

static void add(Part *p, Number x)
{
#if KIND < 2
  p->sum += x >> 32;
  p->rest += x & 0xffffffff;
#else
  const Number s = p->sum + x, y = s - p->sum;
  p->rest += (p->sum - (s - y)) + (x - y);
  p->sum = s;
#endif
}

static void take(Part *p, Number x)
{
#if KIND >= 2
  if (isnan(x)) {
    p->nan++;
    return;
  }
  if (isinf(x)) {
    p->inf++;
    return;
  }
  p->broken += x != rint(x);
#endif
  p->lo = min(p->lo, x);
  p->hi = max(p->hi, x);
  add(p, x);
}

static void merge(Part *p, const Part *q)
{
  p->lo = min(p->lo, q->lo);
  p->hi = max(p->hi, q->hi);
#if KIND < 2 /* the carry: neither part of the sum overflows */
  p->sum += q->sum + (Number)((ulong)q->rest >> 32);
  p->rest += q->rest & 0xffffffff;
#else
  add(p, q->sum);
  p->rest += q->rest;
#endif
  p->nan += q->nan;
  p->inf += q->inf;
  p->broken += q->broken;
}

#if !DENSE
/* Elements first, first + step, ... below last, counted through the rows. */
static void walk(Part *p, global const SCALAR *x, ulong cols, ulong ld,
                 ulong first, ulong last, ulong step)
{
  const ulong down = step / cols, right = step % cols;
  ulong row = first / cols, col = first % cols;
  for (ulong i = first; i < last; i += step) {
    for (int k = 0; k < LANES; k++)
      take(p, load(x, (row * ld + col) * PITCH + k));
    row += down;
    col += right;
    if (col >= cols) {
      col -= cols;
      row++;
    }
  }
}

#else
/* The same by eight neighbours: x[8*first ...], and nothing branches. */
static void sweep(Part *p, global const SCALAR *x, ulong first, ulong last,
                  ulong step)
{
  Number8 sum = 0, rest = 0;
#if KIND < 2
  Number8 lo = MOST, hi = LEAST;
#else
  Real8 lo = MOST, hi = LEAST;
  Mask8 nan = 0, inf = 0, broken = 0;
#endif
  for (ulong i = first; i < last; i += step) {
#if KIND < 2
    const Number8 v = CONVERT(vload8(i, x));
    lo = min(lo, v);
    hi = max(hi, v);
    sum += v >> 32;
    rest += v & 0xffffffff;
#else
#if KIND == 3
    const Real8 v = vload_half8(i, x);
#else
    const Real8 v = vload8(i, x);
#endif
    const Mask8 good = isfinite(v);
    const Real8 w = select((Real8)0, v, good);
    lo = fmin(lo, select((Real8)MOST, v, good));
    hi = fmax(hi, select((Real8)LEAST, v, good));
    nan -= isnan(v);
    inf -= isinf(v);
    broken -= w != rint(w);
#if DOUBLE
    sum += CONVERT(w);
#else
    const Real8 s = sum + w, y = s - sum;
    rest += (sum - (s - y)) + (w - y);
    sum = s;
#endif
#endif
  }
  Number part[4][8];
  ulong count[3][8] = {{0}, {0}, {0}};
  vstore8(CONVERT(lo), 0, part[0]);
  vstore8(CONVERT(hi), 0, part[1]);
  vstore8(sum, 0, part[2]);
  vstore8(rest, 0, part[3]);
#if KIND >= 2
  vstore8(convert_ulong8(nan), 0, count[0]);
  vstore8(convert_ulong8(inf), 0, count[1]);
  vstore8(convert_ulong8(broken), 0, count[2]);
#endif
  for (int k = 0; k < 8; k++) {
    const Part q = {part[0][k], part[1][k], part[2][k], part[3][k],
                    count[0][k], count[1][k], count[2][k]};
    merge(p, &q);
  }
}
#endif

/* The Parts of a group in one, in item 0. */
static void gather(Part *p, local Part *shared)
{
  const uint id = get_local_id(0);
  shared[id] = *p;
  for (uint half_of = WG / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_of) {
      const Part q = shared[id + half_of];
      merge(p, &q);
      shared[id] = *p;
    }
  }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void summary(global const TYPE *x, ulong start, ulong rows, ulong cols,
             ulong ld, global Part *parts)
{
  local Part shared[WG];
  global const SCALAR *lanes = (global const SCALAR *)(x + start);
  const ulong id = get_global_id(0), items = get_global_size(0);
#if DENSE
  const ulong all = rows * cols * LANES, n = all / 8;
#else
  const ulong n = rows * cols;
#endif
#if BLOCKED
  const ulong share = (n + items - 1) / items, step = 1;
  const ulong first = share * id, last = min(n, first + share);
#else
  const ulong first = id, last = n, step = items;
#endif
  Part p = {MOST, LEAST, 0, 0, 0, 0, 0};
#if DENSE
  sweep(&p, lanes, first, last, step);
  for (ulong i = 8 * n + id; i < all; i += items)
    take(&p, load(lanes, i));
#else
  walk(&p, lanes, cols, ld, first, last, step);
#endif
  gather(&p, shared);
  if (get_local_id(0) == 0)
    parts[get_group_id(0)] = p;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void join(global const Part *parts, uint count, global Part *out)
{
  local Part shared[WG];
  Part p = {MOST, LEAST, 0, 0, 0, 0, 0};
  for (uint i = get_local_id(0); i < count; i += WG) {
    const Part q = parts[i];
    merge(&p, &q);
  }
  gather(&p, shared);
  if (get_local_id(0) == 0)
    *out = p;
}
