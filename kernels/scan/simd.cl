/* simd.cl - scan in one launch for CPUs: a core adds up its next block while
** it scans this one
** SPDX-License-Identifier: MIT
**
**   y[i] = x[0] + ... + x[i],  without x[i] if not INCLUSIVE
**
** clear.cl makes `state` ready before.
**
** Arguments:
**   x      in:  vector
**   n      elements of x and of y
**   y      out: vector
**   state  of the blocks: 1 + WORDS for each; all 0 before
** NDRange: one dimension, global = one work-item per core, local = 1.
** Defines: REAL, INCLUSIVE, BLOCK, WIDTH, STREAMS, AHEAD.
** Assumes, beside told.cl: WIDTH is 4, 8 or 16; STREAMS * WIDTH divides BLOCK;
**   for speed only, that y begins at a multiple of a vector.
**
** Lesson, against `blocks`: each element comes from memory once. A work-item
** draws the number of a block, adds it up, and scans it while it lies in the
** core's cache. In the same loop it adds up the block that it draws next, so
** the core reads and writes memory at the same time. It reads the next block
** in STREAMS parts and asks for elements early: more of memory is under way.
** The sum of all before a block comes from the work-item of the block before:
** sums are added in the order of x, and each run gives the same result. Within
** a vector, sums of 1, 2, 4 .. neighbours are added: four additions in place
** of fifteen that wait for each other. Stores go past the cache.
*/
#include "real.cl"
#include "told.cl"
#include "../cache/lines.cl"
#ifndef BLOCK
#define BLOCK 16384 /* elements of a block */
#endif
#ifndef WIDTH
#define WIDTH 16 /* elements per vector */
#endif
#ifndef STREAMS
#define STREAMS 8 /* parts of a block that are added up side by side */
#endif
#ifndef AHEAD
#define AHEAD 128 /* elements between a request and the use; 0: no requests */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(REAL, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define VSTORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)

/* the elements of v, so many places further up, and IDENTITY */
#define O ((REAL)IDENTITY)
#if WIDTH == 16
#define LAST(v) (v).sf
#define UP1(v) (VECTOR)(O, (v).s0, (v).s1, (v).s2, (v).s3, (v).s4, (v).s5, \
  (v).s6, (v).s7, (v).s8, (v).s9, (v).sa, (v).sb, (v).sc, (v).sd, (v).se)
#define UP2(v) (VECTOR)(O, O, (v).s0, (v).s1, (v).s2, (v).s3, (v).s4, (v).s5, \
  (v).s6, (v).s7, (v).s8, (v).s9, (v).sa, (v).sb, (v).sc, (v).sd)
#define UP4(v) (VECTOR)(O, O, O, O, (v).s0, (v).s1, (v).s2, (v).s3, (v).s4, \
  (v).s5, (v).s6, (v).s7, (v).s8, (v).s9, (v).sa, (v).sb)
#define UP8(v) (VECTOR)(O, O, O, O, O, O, O, O, (v).s0, (v).s1, (v).s2, \
  (v).s3, (v).s4, (v).s5, (v).s6, (v).s7)
#elif WIDTH == 8
#define LAST(v) (v).s7
#define UP1(v) (VECTOR)(O, (v).s0, (v).s1, (v).s2, (v).s3, (v).s4, (v).s5, \
  (v).s6)
#define UP2(v) (VECTOR)(O, O, (v).s0, (v).s1, (v).s2, (v).s3, (v).s4, (v).s5)
#define UP4(v) (VECTOR)(O, O, O, O, (v).s0, (v).s1, (v).s2, (v).s3)
#else
#define LAST(v) (v).s3
#define UP1(v) (VECTOR)(O, (v).s0, (v).s1, (v).s2)
#define UP2(v) (VECTOR)(O, O, (v).s0, (v).s1)
#endif

/* v[0], v[0] + v[1], ... */
static VECTOR sums_of(VECTOR v)
{
  v += UP1(v);
  v += UP2(v);
#if WIDTH > 4
  v += UP4(v);
#endif
#if WIDTH > 8
  v += UP8(v);
#endif
  return v;
}

static REAL total(VECTOR v)
{
  return LAST(sums_of(v));
}

/* sums and a vector of each part of a block, the first of which is at p */
static VECTOR add(VECTOR sums, global const REAL *p)
{
#pragma unroll
  for (int s = 0; s < STREAMS; s++) {
    if (AHEAD > 0)
      ASK(p + s * (BLOCK / STREAMS) + AHEAD);
    sums += VLOAD(p + s * (BLOCK / STREAMS));
  }
  return sums;
}

/* x[0] + ... + x[n - 1], the elements of a block */
static REAL add_up(global const REAL *x, size_t n)
{
  VECTOR sums = (VECTOR)(O);
  REAL rest = O;
  size_t i = 0;
  if (n < BLOCK)
    for (; i < n; i++)
      rest += x[i];
  else
    for (; i < BLOCK / STREAMS; i += WIDTH)
      sums = add(sums, x + i);
  return total(sums) + rest;
}

/* Scans n elements after a sum of `before`. Returns the sum of the whole block
** at `next` (null: there is none), added as add_up does. */
static REAL block(global const REAL *x, size_t n, global REAL *y, REAL before,
                  global const REAL *next, int aligned)
{
  VECTOR carry = (VECTOR)(before), sums = (VECTOR)(O);
  size_t i = 0;
  for (; i + STREAMS * WIDTH <= n; i += STREAMS * WIDTH) {
    if (next)
      sums = add(sums, next + i / STREAMS);
#pragma unroll
    for (int s = 0; s < STREAMS; s++) {
      const VECTOR v = sums_of(VLOAD(x + i + s * WIDTH));
      const VECTOR out = carry + (INCLUSIVE ? v : UP1(v));
      carry += (VECTOR)(LAST(v));
      if (aligned)
        PASS(out, (global VECTOR *)(y + i + s * WIDTH));
      else
        VSTORE(out, y + i + s * WIDTH);
    }
  }
  REAL sum = LAST(carry);
  for (; i < n; i++) {
    const REAL left = sum;
    sum += x[i];
    y[i] = INCLUSIVE ? sum : left;
  }
  return total(sums);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scan(global const REAL *x, ulong n, global REAL *y,
          volatile global ulong *state)
{
  const ulong blocks = (n + BLOCK - 1) / BLOCK;
  const int aligned = (uintptr_t)y % sizeof(VECTOR) == 0;
  ulong b = atom_inc(state);
  REAL before = O, sum;
  if (b < blocks)
    sum = add_up(x + b * BLOCK, min((ulong)BLOCK, n - b * BLOCK));
  while (b < blocks) {
    const size_t first = b * BLOCK, count = min((ulong)BLOCK, n - first);
    if (b > 0)
      before = ask(state, b - 1, 1);
    tell(state, b, 1, before + sum);
    const ulong next = atom_inc(state);
    if ((next + 1) * BLOCK <= n)
      sum = block(x + first, count, y + first, before, x + next * BLOCK,
                  aligned);
    else {
      block(x + first, count, y + first, before, 0, aligned);
      if (next < blocks)
        sum = add_up(x + next * BLOCK, n - next * BLOCK);
    }
    b = next;
  }
}
