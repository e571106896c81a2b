/* radix.cl - sort, by one digit after the other, the lowest first
** SPDX-License-Identifier: MIT
**
** A pass puts the elements in the order of a digit of BITS bits; elements with
** the same digit keep their order. `count` counts the digits of each
** work-group, a scan of counts[digit][group] makes offsets of the counts, and
** `scatter` moves the elements. There a work-group first sorts its WG EACH
** elements in local memory, by STEP bits at a time, so that neighbours go to
** neighbours:
**
**    elements   31 12 30 22      digits  1 2 0 2      sorted  30 31 12 22
**    counters   one column for each work-item, which counts its own EACH
**               elements; the scan over all of them, digit by digit, gives
**               each element its place. Two counters of 16 bits share a uint.
**
** Arguments of both:
**   n        elements
**   shift    bits below the digit
**   groups   work-groups
** Arguments of count:
**   x        in:  vector
**   counts   out: int[2^BITS][groups]
** Arguments of scatter:
**   first    1: the first pass, which has the places 1, 2 .. n
**   x        in:  vector
**   y        out: vector
**   offsets  in:  int[2^BITS][groups]
**   from     in:  with INDEX the places of x's elements
**   to       out: with INDEX the places of y's elements
** NDRange: one dimension, global = n / EACH rounded up to WG, local = WG.
** Local memory: WG EACH elements and 2^STEP / 2 WG uint, each with one more
**   for each 32, with INDEX WG EACH uint more, 2 WG uint, 2^BITS uint.
** Defines: WG, EACH, BITS, STEP (a divisor of BITS), the words of key.cl.
** Assumes: WG is a power of two; WG EACH < 2^16.
**
** Lesson, against `bitonic_local`: the passes are as many as a key has digits,
** whatever n. `split` takes one bit for each, 32 for a uint; `radix` four:
** 8 passes; `wide` eight: 4 passes, which read and write far less, though the
** places in local memory take two steps.
*/
#include "key.cl"
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef EACH
#define EACH 8 /* elements per work-item */
#endif
#ifndef BITS
#define BITS 4 /* of a digit */
#endif
#ifndef STEP
#define STEP 4 /* bits that are sorted at once in local memory */
#endif
#define BLOCK (WG * EACH)
#define DIGITS (1 << BITS)
#define LANES (1 << STEP >> 1)
#define CELL(k) ((k) + (k) / 32)
#define DIGIT(rank) ((uint)((rank) >> shift) & (DIGITS - 1))

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void count(int n, int shift, int groups, global const REAL *restrict x,
           global int *restrict counts)
{
  local uint bins[DIGITS];
  const uint id = get_local_id(0);
  const size_t first = get_group_id(0) * BLOCK;
  for (uint d = id; d < DIGITS; d += WG)
    bins[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < BLOCK; k += WG)
    if (first + k < (size_t)n) {
      const KEY rank = rank_of(((global const KEY *)x)[first + k]);
      atomic_inc(&bins[DIGIT(rank)]);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = id; d < DIGITS; d += WG)
    counts[(size_t)d * groups + get_group_id(0)] = bins[d];
}

/* Counters become the sums of all counters before them, digit by digit: in one
** half of the bits for the digits below LANES, in the other half for the
** higher digits, which lie behind all lower digits. */
static void scan_counters(local uint *counters, local uint *part, uint id)
{
  uint sum = 0, now = 0;
  for (uint k = 0; k < LANES; k++)
    sum += counters[CELL(id * LANES + k)];
  part[id] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 1; s < WG; s *= 2) {
    part[(1 - now) * WG + id] =
      part[now * WG + id] + (id >= s ? part[now * WG + id - s] : 0);
    now = 1 - now;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  sum = (id > 0 ? part[now * WG + id - 1] : 0)
    + (part[now * WG + WG - 1] << 16);
  for (uint k = 0; k < LANES; k++) {
    const uint own = counters[CELL(id * LANES + k)];
    counters[CELL(id * LANES + k)] = sum;
    sum += own;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scatter(int n, int shift, int groups, int first,
             global const REAL *restrict x, global REAL *restrict y,
             global const int *restrict offsets
             WITH(global const uint *restrict from)
             WITH(global uint *restrict to))
{
  local KEY ranks[CELL(BLOCK)];
  local uint counters[CELL(LANES * WG)], part[2 * WG], start[DIGITS];
  ALSO(local uint places[CELL(BLOCK)]; uint own_place[EACH]);
  KEY own[EACH];
  uint at[EACH];
  const uint id = get_local_id(0);
  const size_t begin = get_group_id(0) * BLOCK;
  const uint valid = min((size_t)n - begin, (size_t)BLOCK);
  for (uint k = id; k < BLOCK; k += WG) { /* those behind n stay at the end */
    const size_t i = begin + k;
    ranks[CELL(k)] = k < valid ? rank_of(((global const KEY *)x)[i]) : ALL;
    ALSO(places[CELL(k)] = first || k >= valid ? i + 1 : from[i]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint bit = shift; bit < (uint)shift + BITS; bit += STEP) {
    for (uint k = 0; k < LANES; k++)
      counters[CELL(k * WG + id)] = 0;
    for (uint k = 0; k < EACH; k++) {
      own[k] = ranks[CELL(id * EACH + k)];
      ALSO(own_place[k] = places[CELL(id * EACH + k)]);
      const uint d = (uint)(own[k] >> bit) & (2 * LANES - 1);
      local uint *counter = &counters[CELL(d % LANES * WG + id)];
      at[k] = *counter >> d / LANES * 16 & 0xffff;
      *counter += 1u << d / LANES * 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_counters(counters, part, id);
    for (uint k = 0; k < EACH; k++) {
      const uint d = (uint)(own[k] >> bit) & (2 * LANES - 1);
      const uint before = counters[CELL(d % LANES * WG + id)];
      at[k] += before >> d / LANES * 16 & 0xffff;
      ranks[CELL(at[k])] = own[k];
      ALSO(places[CELL(at[k])] = own_place[k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint k = id; k < valid; k += WG) {
    const uint d = DIGIT(ranks[CELL(k)]);
    if (k == 0 || d != DIGIT(ranks[CELL(k - 1)]))
      start[d] = offsets[(size_t)d * groups + get_group_id(0)] - k;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < valid; k += WG) {
    const KEY rank = ranks[CELL(k)];
    const uint i = start[DIGIT(rank)] + k;
    ((global KEY *)y)[i] = bits_of(rank);
    ALSO(to[i] = places[CELL(k)]);
  }
}
