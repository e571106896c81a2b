/* nv_onesweep.cl - sort, by digits of 8 bits, each in one pass over the keys
** SPDX-License-Identifier: MIT
**
** `clear` makes `state` ready. `count` counts the digits of all passes at one
** time. Then `sweep` moves the elements once for each digit, the lowest first.
** A work-group draws the number of a tile, tells how often each digit is there,
** ranks its elements, and meanwhile asks earlier tiles for their counts, back
** to a tile that knows all before it (A. Adinets, D. Merrill, "Onesweep: A
** Faster Least Significant Digit Radix Sort for GPUs", 2022):
**
**    state[tile][digit]    SUM: this tile's count   BEFORE: of all up to here
**
** Words of state: counts of each pass and digit; the number of the next tile
** of each pass; then two tables of a row for each tile, which passes use in
** turn: a pass clears the table of the next pass.
**
** Arguments of clear:
**   n        words of state before the tables
**   state    out: vector
** Arguments of count:
**   n        elements, less than 2^30
**   tiles    tiles of WG EACH elements
**   x        in:  vector
**   state    in, out: vector
** Arguments of sweep:
**   n, tiles the same
**   shift    bits below the digit
**   x        in:  vector
**   y        out: vector
**   state    in, out: vector
**   from     in:  with INDEX the places of x's elements, but of the first pass
**   to       out: with INDEX the places of y's elements
** NDRange: one dimension; clear: n words; count: any number of work-groups of
**   COUNT_WG; sweep: a work-group of WG for each tile.
** Local memory: POOL bytes, 3 KiB; count 1 KiB for each byte of a key.
** Defines: WG, EACH, the words of key.cl.
** Assumes: compute capability 7.0; WG is a multiple of 32, >= 256; a
**   work-group that has begun goes on while others wait for it.
**
** Lesson, against `wide`: the counts of a digit need no pass of their own, as
** tiles pass them on while they move elements; each pass reads and writes an
** element once. Lanes of a warp with the same digit find one another, and one
** of them counts for all, so a warp's elements keep their order.
*/
#include "key.cl"
#ifndef WG
#define WG 512 /* work-group size */
#endif
#ifndef EACH
#define EACH 20 /* elements per work-item */
#endif
#define COUNT_WG 256
#define AHEAD 8 /* elements of a work-item that count loads together */
#define DIGITS 256
#define PASSES ((int)sizeof(KEY))
#define WARPS (WG / 32)
#define BLOCK (WG * EACH)
#define UNROLL _Pragma("unroll")

#define SUM (1u << 30)
#define BEFORE (2u << 30)
#define VALUE (SUM - 1)

/* One place after another: the counts of warps, then keys, then places. */
#define WIDEST (INDEX && sizeof(KEY) < 4 ? 4 : (int)sizeof(KEY))
#define POOL \
  (BLOCK * WIDEST > WARPS * DIGITS * 4 ? BLOCK * WIDEST : WARPS * DIGITS * 4)

#define DIGIT(rank, shift) ((uint)((rank) >> (shift)) & (DIGITS - 1))
#define COUNTS(state, pass) ((state) + (pass) * DIGITS)
#define DRAWN(state, pass) ((state) + PASSES * DIGITS + (pass))
#define TABLE(state, pass, tiles) \
  ((state) + PASSES * DIGITS + PASSES + (pass) % 2 * (size_t)(tiles) * DIGITS)

kernel void clear(int n, global uint *state)
{
  if (get_global_id(0) < (size_t)n)
    state[get_global_id(0)] = 0;
}

/* Is this true of all lanes of the warp? */
static bool everywhere(bool here)
{
  uint all;
  __asm__ volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; "
                   "vote.sync.all.pred q, p, -1; selp.u32 %0, 1, 0, q;}"
                   : "=r"(all) : "r"((uint)here));
  return all;
}

/* The value of the first lane */
static KEY first_of(KEY x)
{
  union { KEY key; uint word[(sizeof(KEY) + 3) / 4]; } b;
  b.key = x;
  UNROLL for (uint k = 0; k < sizeof b / 4; k++)
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, 0, 31, -1;"
                     : "=r"(b.word[k]) : "r"(b.word[k]));
  return b.key;
}

kernel __attribute__((reqd_work_group_size(COUNT_WG, 1, 1)))
void count(int n, int tiles, global const REAL *restrict x,
           global uint *state)
{
  local uint bins[PASSES * DIGITS];
  const uint id = get_local_id(0);
  const size_t all = get_global_size(0);
  global uint *table = TABLE(state, 0, tiles);
  for (uint k = id; k < PASSES * DIGITS; k += COUNT_WG)
    bins[k] = 0;
  for (size_t k = get_global_id(0); k < (size_t)tiles * DIGITS; k += all)
    table[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t i = get_group_id(0) * (COUNT_WG * AHEAD); i < (size_t)n;
       i += all * AHEAD) {
    KEY rank[AHEAD];
    if (i + COUNT_WG * AHEAD <= (size_t)n) {
      KEY differ = 0;
      UNROLL for (uint k = 0; k < AHEAD; k++)
        rank[k] = rank_of(((global const KEY *)x)[i + k * COUNT_WG + id]);
      const KEY sample = first_of(rank[0]);
      UNROLL for (uint k = 0; k < AHEAD; k++)
        differ |= rank[k] ^ sample;
      UNROLL for (uint pass = 0; pass < PASSES; pass++) {
        local uint *own = bins + pass * DIGITS;
        if (everywhere(DIGIT(differ, 8 * pass) == 0)) {
          if (id % 32 == 0) /* as in x that is in order */
            atomic_add(&own[DIGIT(sample, 8 * pass)], 32 * AHEAD);
        } else
          UNROLL for (uint k = 0; k < AHEAD; k++)
            atomic_inc(&own[DIGIT(rank[k], 8 * pass)]);
      }
    } else
      for (size_t k = i + id; k < (size_t)n; k += COUNT_WG) {
        const KEY own = rank_of(((global const KEY *)x)[k]);
        for (uint pass = 0; pass < PASSES; pass++)
          atomic_inc(&bins[pass * DIGITS + DIGIT(own, 8 * pass)]);
      }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = id; k < PASSES * DIGITS; k += COUNT_WG)
    if (bins[k])
      atomic_add(&state[k], bins[k]);
}

/* The lanes of the warp with this digit; match.any takes twice the time. */
static uint equals(uint digit)
{
  uint mask = ~0u;
  UNROLL for (uint b = 0; b < 8; b++) {
    uint same;
    __asm__ volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; "
                     "vote.sync.ballot.b32 %0, p, -1; @!p not.b32 %0, %0;}"
                     : "=r"(same) : "r"(digit & 1u << b));
    mask &= same;
  }
  return mask;
}

/* The sum of x over the work-items before this one, for the first DIGITS of
** them. All work-items call it. */
static uint sum_before(uint x, local uint *sums, uint id)
{
  const uint lane = id % 32;
  uint sum = x;
  UNROLL for (uint d = 1; d < 32; d *= 2) {
    uint y;
    __asm__ volatile("shfl.sync.up.b32 %0, %1, %2, 0, -1;"
                     : "=r"(y) : "r"(sum), "r"(d));
    sum += lane >= d ? y : 0;
  }
  if (lane == 31 && id < DIGITS)
    sums[id / 32] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum -= x;
  for (uint w = 0; w < DIGITS / 32; w++)
    sum += w < id / 32 ? sums[w] : 0;
  return sum;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void sweep(int n, int tiles, int shift, global const REAL *restrict x,
           global REAL *restrict y, volatile global uint *state
           WITH(global const uint *restrict from)
           WITH(global uint *restrict to))
{
  local ulong pool[(POOL + 7) / 8];
  local uint start[DIGITS], sums[2][DIGITS / 32], drawn[1];
  local KEY *sorted = (local KEY *)pool;
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint pass = (uint)shift / 8;
  local uint *warp_counts = (local uint *)pool + warp * DIGITS;

  if (id == 0)
    drawn[0] = atomic_inc(DRAWN(state, pass));
  UNROLL for (uint k = 0; k < DIGITS / 32; k++)
    warp_counts[k * 32 + lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint tile = drawn[0];
  const size_t begin = (size_t)tile * BLOCK;
  const uint valid = min((size_t)n - begin, (size_t)BLOCK);
  const uint at = warp * (32 * EACH) + lane; /* this lane's first element */

  KEY own[EACH];
  global const KEY *keys = (global const KEY *)x + begin + at;
  if (valid == BLOCK)
    UNROLL for (uint k = 0; k < EACH; k++)
      own[k] = rank_of(keys[k * 32]);
  else
    UNROLL for (uint k = 0; k < EACH; k++) /* those behind n end up last */
      own[k] = at + k * 32 < valid ? rank_of(keys[k * 32]) : ALL;
  UNROLL for (uint k = 0; k < EACH; k++)
    atomic_inc(&warp_counts[DIGIT(own[k], shift)]);
  barrier(CLK_LOCAL_MEM_FENCE);

  /* Tell the counts of this tile. A warp's count becomes the place of the
  ** warp's first element with the digit. */
  volatile global uint *told = TABLE(state, pass, tiles) + id;
  uint count = 0;
  if (id < DIGITS) {
    UNROLL for (uint w = 0; w < WARPS; w++)
      count += ((local uint *)pool)[w * DIGITS + id];
    if (tile > 0)
      told[tile * (size_t)DIGITS] = SUM | count;
    if (shift + 8 < 8 * PASSES)
      TABLE(state, pass + 1, tiles)[tile * (size_t)DIGITS + id] = 0;
  }
  const uint first = sum_before(count, sums[0], id);
  if (id < DIGITS) {
    uint sum = first;
    UNROLL for (uint w = 0; w < WARPS; w++) {
      const uint c = ((local uint *)pool)[w * DIGITS + id];
      ((local uint *)pool)[w * DIGITS + id] = sum;
      sum += c;
    }
  }
  uint before = 0;
  if (tile == 0) {
    before = sum_before(id < DIGITS ? COUNTS(state, pass)[id] : 0, sums[1], id);
    if (id < DIGITS)
      told[0] = BEFORE | (before + count);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  ushort place[EACH];
  uint below;
  __asm__("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  UNROLL for (uint k = 0; k < EACH; k++) {
    const uint d = DIGIT(own[k], shift), same = equals(d);
    const uint leader = 31 - clz(same);
    uint base = 0;
    if (lane == leader)
      base = atomic_add(&warp_counts[d], popcount(same));
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;"
                     : "=r"(base) : "r"(base), "r"(leader));
    place[k] = base + popcount(same & below);
  }
  barrier(CLK_LOCAL_MEM_FENCE); /* the counts are read */
  UNROLL for (uint k = 0; k < EACH; k++)
    sorted[place[k]] = own[k];

  if (id < DIGITS) {
    if (tile > 0) {
      uint t = tile;
      uint word;
      do {
        t--;
        do
          word = told[t * (size_t)DIGITS];
        while (word == 0);
        before += word & VALUE;
      } while (!(word & BEFORE));
      told[tile * (size_t)DIGITS] = BEFORE | (before + count);
    }
    start[id] = before - first;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  ALSO(uchar digit[EACH]);
  UNROLL for (uint k = 0; k < EACH; k++) {
    const uint i = k * WG + id;
    const KEY rank = sorted[i];
    const uint d = DIGIT(rank, shift);
    ALSO(digit[k] = d);
    if (i < valid)
      ((global KEY *)y)[start[d] + i] = bits_of(rank);
  }
#if INDEX
  local uint *places = (local uint *)pool;
  uint own_place[EACH];
  UNROLL for (uint k = 0; k < EACH; k++)
    own_place[k] = shift == 0 || at + k * 32 >= valid
      ? begin + at + k * 32 + 1 : from[begin + at + k * 32];
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++)
    places[place[k]] = own_place[k];
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint k = 0; k < EACH; k++)
    if (k * WG + id < valid)
      to[start[digit[k]] + k * WG + id] = places[k * WG + id];
#endif
}
