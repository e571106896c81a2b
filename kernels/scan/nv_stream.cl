/* nv_stream.cl - scan in one launch, tiles pass through local memory
** SPDX-License-Identifier: MIT
**
**   y[i] = x[0] + ... + x[i],  without x[i] if not INCLUSIVE
**
** clear.cl makes `state` ready before. For NVIDIA's Hopper.
**
** A work-group draws the number of a tile, has the copy engine bring the tile
** into local memory, and draws the next one. STAGES tiles are on their way, 4:
**
**    load  add up, tell  ask, scan  store      one after another, each in a
**    t+1   t             t-1        t-2        place of its own
**
** Arguments:
**   x      in:  vector
**   n      elements of x and of y
**   y      out: vector
**   state  all 0 before: the number of the next tile, the sums of tiles, and
**          the sum before each WAVE of tiles; WORDS for each
** NDRange: one dimension, local = WG; as many work-groups as the device runs
**   at one time, or fewer.
** Local memory: STAGES WG UNITS 16 bytes, more than OpenCL of this driver
**   gives: see ladder/ptx.lua.
** Defines: REAL (float, double or int), INCLUSIVE, WG, UNITS, STAGES, WAVE.
** Assumes: compute capability 9.0; a rung with ptx = true; a work-group that
**   has begun goes on while others wait for it; for speed only, that x and y
**   begin at multiples of 16 bytes.
**
** Lesson, against `lookback`: a work-group that waits for the sums of others
** neither loads nor stores meanwhile. Here the copy engine goes on, and a sum
** is told one turn before others ask for it. More tiles ahead are no gain: a
** tile that is drawn early tells late, and all tiles behind it wait. Each tile
** adds the sums of earlier tiles in its wave, and the sum before the wave: the
** order is always the same, so float sums have the same bits each time. UNITS
** is odd: work-items then meet all banks with their neighbouring elements.
*/
#include "real.cl"
#ifndef WG
#define WG 512 /* work-group size, >= 96 */
#endif
#ifndef UNITS
#define UNITS 7 /* 16 bytes of a work-item, an odd number of times */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles in local memory, >= 4 */
#endif
#ifndef WAVE
#define WAVE 64 /* tiles that add the sums of earlier tiles among them */
#endif

#define IN_UNIT (16 / (int)sizeof(REAL))
#define EACH (UNITS * IN_UNIT)      /* elements of a work-item */
#define TILE (WG * UNITS * 16)      /* bytes */
#define WARPS (WG / 32)
#define WORDS (sizeof(REAL) / 4)    /* of state per sum */
#define TOLD (1ul << 32)            /* mark of a word of state */
#define ROUNDS (WAVE / 32)          /* sums that a lane asks for */
#define UNROLL _Pragma("unroll")

#define PTX(...) __asm__ volatile("//PTX " __VA_ARGS__)
#define ADDRESS(p) ((uint)(size_t)(p))

typedef union { REAL value; uint word[sizeof(REAL) / 4]; } Bits;
typedef union { REAL value[IN_UNIT]; uint word[4]; } Unit;

/* Waits until the phase of a barrier with this parity is over. */
static void await(uint bar, uint parity)
{
  uint over;
  do
    PTX("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
        "selp.u32 %0, 1, 0, p;}"
        : "=r"(over) : "r"(bar), "r"(parity) : "memory");
  while (!over);
}

/* The value of the lane `d` below, or with another bit `d` in its number. */
static REAL below(REAL x, uint d)
{
  Bits b;
  b.value = x;
  UNROLL for (uint k = 0; k < WORDS; k++)
    __asm__ volatile("shfl.sync.up.b32 %0, %1, %2, 0, -1;"
                     : "=r"(b.word[k]) : "r"(b.word[k]), "r"(d));
  return b.value;
}

static REAL across(REAL x, uint d)
{
  Bits b;
  b.value = x;
  UNROLL for (uint k = 0; k < WORDS; k++)
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;"
                     : "=r"(b.word[k]) : "r"(b.word[k]), "r"(d));
  return b.value;
}

/* The sum of x over the lanes up to this one */
static REAL up_to(REAL x, uint lane)
{
  UNROLL for (uint d = 1; d < 32; d *= 2) {
    const REAL y = below(x, d);
    if (lane >= d)
      x = y + x;
  }
  return x;
}

static void tell(volatile global ulong *to, REAL value)
{
  Bits b;
  b.value = value;
  UNROLL for (uint k = 0; k < WORDS; k++)
    to[k] = TOLD | b.word[k];
}

/* The sum before tile t, once all earlier tiles have told: for a warp, whose
** lanes ask together. */
static REAL ask(volatile global ulong *sums, volatile global ulong *waves,
                uint t, uint lane)
{
  const uint wave = t / WAVE, first = wave * WAVE;
  Bits part[ROUNDS + 1];
  ulong told;
  do {
    told = TOLD;
    UNROLL for (uint r = 0; r <= ROUNDS; r++) {
      part[r].value = IDENTITY;
      UNROLL for (uint k = 0; k < WORDS; k++) {
        const uint at = first + r * 32 + lane;
        ulong word = TOLD | part[r].word[k];
        if (r < ROUNDS && at < t)
          word = sums[at * WORDS + k];
        if (r == ROUNDS && wave > 0)
          word = waves[wave * WORDS + k];
        told &= word;
        part[r].word[k] = (uint)word;
      }
    }
  } while (!(told & TOLD));
  REAL sum = IDENTITY;
  UNROLL for (uint r = 0; r < ROUNDS; r++)
    sum += part[r].value;
  UNROLL for (uint d = 16; d > 0; d /= 2)
    sum += across(sum, d);
  return part[ROUNDS].value + sum;
}

/* The elements of this work-item in a tile, from address `at` on */
static void get(uint at, REAL own[EACH])
{
  UNROLL for (uint u = 0; u < UNITS; u++) {
    Unit unit;
    __asm__ volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(unit.word[0]), "=r"(unit.word[1]),
                       "=r"(unit.word[2]), "=r"(unit.word[3])
                     : "r"(at + u * 16) : "memory");
    UNROLL for (uint k = 0; k < IN_UNIT; k++)
      own[u * IN_UNIT + k] = unit.value[k];
  }
}

static void put(uint at, const REAL own[EACH])
{
  UNROLL for (uint u = 0; u < UNITS; u++) {
    Unit unit;
    UNROLL for (uint k = 0; k < IN_UNIT; k++)
      unit.value[k] = own[u * IN_UNIT + k];
    __asm__ volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                     :: "r"(at + u * 16), "r"(unit.word[0]),
                        "r"(unit.word[1]), "r"(unit.word[2]),
                        "r"(unit.word[3]) : "memory");
  }
}

/* Tile t, if the copy engine can move it: it is whole and aligned. */
#define FIRST(t) ((t) * (ulong)(WG * EACH))
#define MOVED(t) (aligned && FIRST(t) + WG * EACH <= n)

/* Starts the copy of a tile into local memory at `to`; `bar` tells its end. */
static void load(uint to, global const REAL *from, uint bar)
{
  PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
      :: "r"(bar), "n"(TILE) : "memory");
  PTX("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];"
      :: "r"(to), "l"(from), "n"(TILE), "r"(bar) : "memory");
}

/* Starts the copy of a tile from there, and waits until all copies started
** before have left local memory. */
static void store(global REAL *to, uint from, bool exists)
{
  if (exists)
    PTX("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
        :: "l"(to), "r"(from), "n"(TILE) : "memory");
  PTX("cp.async.bulk.commit_group;" ::: "memory");
  PTX("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(global const REAL *x, ulong n, global REAL *y,
          volatile global ulong *state)
{
  local uchar stages[16] __attribute__((aligned(128)));
  local ulong full[STAGES];
  local uint drawn[STAGES]; /* the tile in each place, `tiles`: none */
  local REAL warp_sums[2][WARPS], warp_before[2][WARPS], totals[2], before[1];

  PTX("local stages, %0;" :: "n"(STAGES * TILE));
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint base = ADDRESS(stages), bars = ADDRESS(full);
  const uint own_at = base + id * (UNITS * 16);
  const uint tiles = (n + WG * EACH - 1) / (WG * EACH);
  const bool aligned = ((ulong)x | (ulong)y) % 16 == 0;
  const bool fetches = id == 2 * 32; /* warps 0 and 1 have work, too */
  volatile global uint *draw = (volatile global uint *)state; /* low word */
  volatile global ulong *sums = state + 1, *waves = sums + tiles * WORDS;

  if (id == 0) {
    UNROLL for (uint s = 0; s < STAGES; s++)
      PTX("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bars + 8 * s)
          : "memory");
    PTX("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  uint place = 0, next = 0; /* to fill next, and the tile for it */
#define FETCH()                                                           \
  do {                                                                    \
    drawn[place] = min(next, tiles);                                      \
    if (next < tiles) {                                                   \
      if (MOVED(next))                                                    \
        load(base + place * TILE, x + FIRST(next), bars + 8 * place);     \
      next = atomic_inc(draw); /* is there when it is asked for */        \
    }                                                                     \
    place = (place + 1) % STAGES;                                         \
  } while (0)
  if (fetches) {
    next = atomic_inc(draw);
    UNROLL for (int s = 0; s < STAGES - 3; s++)
      FETCH();
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  REAL left = IDENTITY, left_then = IDENTITY; /* before this one, in a warp */
  uint then = tiles, stored = tiles; /* the tiles of the last two turns */
  for (uint turn = 0;; turn++) {
    const uint t = drawn[turn % STAGES], now = turn % 2;
    if (t < tiles) { /* add up */
      const uint at = own_at + turn % STAGES * TILE;
      const ulong first = FIRST(t) + id * EACH;
      REAL own[EACH], sum = IDENTITY;
      if (MOVED(t)) {
        await(bars + 8 * (turn % STAGES), turn / STAGES % 2);
        get(at, own);
      } else {
        UNROLL for (uint k = 0; k < EACH; k++)
          own[k] = first + k < n ? x[first + k] : (REAL)IDENTITY;
        put(at, own);
      }
      UNROLL for (uint k = 0; k < EACH; k++)
        sum += own[k];
      const REAL all = up_to(sum, lane), prior = below(all, 1);
      left = lane > 0 ? prior : (REAL)IDENTITY;
      if (lane == 31)
        warp_sums[now][warp] = all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (fetches) {
      store(y + FIRST(stored), base + (turn + STAGES - 2) % STAGES * TILE,
            stored < tiles && MOVED(stored));
      FETCH();
    }
    if (warp == 0 && t < tiles) { /* tell */
      const REAL own = lane < WARPS ? warp_sums[now][lane] : (REAL)IDENTITY;
      const REAL all = up_to(own, lane), prior = below(all, 1);
      if (lane < WARPS)
        warp_before[now][lane] = lane > 0 ? prior : (REAL)IDENTITY;
      if (lane == WARPS - 1) {
        totals[now] = all;
        tell(sums + t * WORDS, all);
      }
    }
    if (warp == 1 && then < tiles) {
      const REAL prior = ask(sums, waves, then, lane);
      if (lane == 0) {
        before[0] = prior;
        if (then % WAVE == WAVE - 1)
          tell(waves + (then / WAVE + 1) * WORDS, prior + totals[1 - now]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (then < tiles) { /* scan */
      const uint at = own_at + (turn + STAGES - 1) % STAGES * TILE;
      const ulong first = FIRST(then) + id * EACH;
      REAL own[EACH], sum = before[0] + warp_before[1 - now][warp];
      sum += left_then;
      get(at, own);
      UNROLL for (uint k = 0; k < EACH; k++) {
        const REAL prior = sum;
        sum += own[k];
        own[k] = INCLUSIVE ? sum : prior;
      }
      if (MOVED(then)) {
        put(at, own);
        PTX("fence.proxy.async.shared::cta;" ::: "memory");
      } else {
        UNROLL for (uint k = 0; k < EACH; k++)
          if (first + k < n)
            y[first + k] = own[k];
      }
    }
    if (t == tiles && then == tiles)
      break;
    stored = then;
    then = t;
    left_then = left;
  }
  if (fetches)
    PTX("cp.async.bulk.wait_group 0;" ::: "memory");
}
