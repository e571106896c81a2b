/* nv_stream.cl - scan in one launch, tiles pass through local memory
** SPDX-License-Identifier: MIT
**
**   y[i] = x[0] + ... + x[i],  without x[i] if not INCLUSIVE
**
** clear.cl makes `state` ready before the first launch. For NVIDIA's Hopper.
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
**   state  the number of the next tile, the sums of tiles, and the sum before
**          each WAVE of tiles: WORDS for each
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

#define ASKS (WAVE / 32) /* sums that a lane asks for */
#define ASKERS 32
#include "nv_warp.cl"

#define EACH (UNITS * IN_UNIT)      /* elements of a work-item */
#define TILE (WG * UNITS * 16)      /* bytes */

#define PTX(...) __asm__ volatile("//PTX " __VA_ARGS__)
#define ADDRESS(p) ((uint)(size_t)(p))

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
  local uint marks[1];
  local REAL warp_sums[2][WARPS], warp_before[2][WARPS], totals[2], before[1];

  PTX("local stages, %0;" :: "n"(STAGES * TILE));
  const uint id = get_local_id(0), lane = id % 32, warp = id / 32;
  const uint base = ADDRESS(stages), bars = ADDRESS(full);
  const uint own_at = base + id * (UNITS * 16);
  const uint tiles = (n + WG * EACH - 1) / (WG * EACH);
  const bool aligned = ((ulong)x | (ulong)y) % 16 == 0;
  const bool fetches = id == 2 * 32; /* warps 0 and 1 have work, too */
  volatile global ulong *sums = state + 1, *waves = sums + tiles * WORDS;

  if (id == 0) {
    UNROLL for (uint s = 0; s < STAGES; s++)
      PTX("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bars + 8 * s)
          : "memory");
    PTX("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  uint place = 0; /* to fill next */
  ulong next = 0, begin = 0; /* the tile for it; the first draw of all */
#define FETCH()                                                           \
  do {                                                                    \
    drawn[place] = min(next, (ulong)tiles);                               \
    if (next < tiles) {                                                   \
      if (MOVED(next))                                                    \
        load(base + place * TILE, x + FIRST(next), bars + 8 * place);     \
      next = atom_inc(state) - begin; /* is there when it is asked for */ \
    }                                                                     \
    place = (place + 1) % STAGES;                                         \
  } while (0)
  if (fetches) {
    next = atom_inc(state); /* each group draws one number too many */
    const ulong period = tiles + get_num_groups(0);
    marks[0] = (uint)(next / period) + 1;
    begin = next - next % period;
    next -= begin;
    UNROLL for (int s = 0; s < STAGES - 3; s++)
      FETCH();
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint mark = marks[0];
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
        tell(sums + t * WORDS, mark, all);
      }
    }
    if (warp == 1 && then < tiles) {
      REAL prior;
      const REAL sum = over(ask_part(sums, waves, then, lane, mark, &prior));
      prior += sum;
      if (lane == 0) {
        before[0] = prior;
        if (then % WAVE == WAVE - 1)
          tell(waves + (then / WAVE + 1) * WORDS, mark,
               prior + totals[1 - now]);
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
