/* nv.cl - the common parts of the kernels for NVIDIA GPUs
** SPDX-License-Identifier: MIT
**
** The nv_* files include it. It has the order of the tiles of C, the copies
** past the registers into local memory, the sum of parts, and the store of two
** neighbours.
**
**   +---+---+---+---+   A work-group computes one tile of C. Groups that run
**   | 0 | 2 | 4 | 6 |   at one time are neighbours: RASTER rows of tiles, here
**   +---+---+---+---+   2, are worked off column by column, so that the parts
**   | 1 | 3 | 5 | 7 |   of A and B that they read stay in the second cache.
**   +---+---+---+---+
**   | 8 |10 | ...       In dimension 1 of the NDRange are the parts of a sum
**   +---+---+           that SPLITS work-groups share.
**
** Defines: REAL, RASTER, VC, SPLITS (see below); PLACED, see submatrix.cl */
#ifndef REAL
#define REAL float /* element type of C */
#endif
#ifndef RASTER
#define RASTER 8 /* rows of tiles worked off together */
#endif
#ifndef VC
#define VC 1 /* elements of C in a store */
#endif
#ifndef SPLITS
#define SPLITS 1 /* parts of each sum, computed side by side */
#endif

#include "submatrix.cl"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

/* (column, row) of tile number `index` among tiles_n x tiles_m of C */
uint2 tile_at(uint index, uint tiles_m, uint tiles_n)
{
  const uint band = index / (RASTER * tiles_n);
  const uint height = min(tiles_m - band * RASTER, (uint)RASTER);
  const uint place = index % (RASTER * tiles_n);
  return (uint2)(place / height, band * RASTER + place % height);
}

/* The tile of this work-group, where each has one */
uint2 tile_of(uint tiles_m, uint tiles_n)
{
  return tile_at(get_group_id(0), tiles_m, tiles_n);
}

/* Address of a cell of local memory, as the instructions want it */
#define ADDRESS(p) ((uint)(size_t)(p))

/* Starts a copy of `bytes` bytes into local memory at address `to`. Where
** `on` is false zeros are written and `from` is not read. cg passes by the
** first-level cache; it takes 16 bytes only. */
#define COPY(how, bytes, to, from, on)                                  \
  __asm__ volatile("cp.async." how ".shared.global [%0], [%1], " #bytes \
                   ", %2;" ::"r"(to), "l"(from), "r"((on) ? bytes : 0)  \
                   : "memory")

/* Closes a group of copies; waits until at most n groups are on their way. */
#define COMMIT() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) __asm__ volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

/* Four blocks of 8 rows of 16 bytes, their rows at the lanes' addresses */
#define LOAD(r, address)                                         \
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "   \
                   "{%0, %1, %2, %3}, [%4];"                     \
                   : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]),   \
                     "=r"((r)[3])                                \
                   : "r"(address))

/* Prepares a float, as bits, for the tensor cores, which cut it off behind 11
** bits: adds about half a unit of the last bit that stays. Exactly half a unit
** would take three instructions; this instruction adds between 1/3 and 2/3, on
** average half, and does not change a float of 11 bits. */
#define ROUND(x) \
  (x) = as_uint(fma(as_float(x), 0x1.555556p-12f, as_float(x)))

/* c[0 .. 1] = value + beta c[0 .. 1]; `within` of the two elements lie in the
** matrix, none where `within` is not positive. VC is 2 only where pairs are
** whole. */
void store_pair(global REAL *c, PASTE(REAL, 2) value, REAL beta, int within)
{
#if VC == 2
  if (within > 0) {
    global PASTE(REAL, 2) *pair = (global PASTE(REAL, 2) *)c;
    *pair = beta != 0 ? value + beta * *pair : value;
  }
#else
  if (within > 0)
    c[0] = beta != 0 ? value.x + beta * c[0] : value.x;
  if (within > 1)
    c[1] = beta != 0 ? value.y + beta * c[1] : value.y;
#endif
}

/* Where several work-groups share the sums of a tile, the kernel has two more
** arguments: memory for the sums of all of them, in the order of the
** registers, and a counter for each tile, 0 before and after.
**
** ADD_PARTS stores this group's sums in that memory, for each of its `size`
** work-items the `count` sums in `sums`. The last group of a tile to arrive
** adds all sums, in a fixed order, so that the same input gives the same bits;
** the other groups end, and nobody waits. `word` is local memory that is not
** in use. A kernel whose groups have further work-items defines MEET; a kernel
** that numbers tiles and parts in another way defines TILE_NUMBER and
** PART_NUMBER.
** Lesson: a second kernel for this sum took 1 us more of 18.5 for a product of
** 512 x 512 in two parts, and left a gap between the two. */
#if SPLITS > 1
#ifndef PART
#define PART REAL /* type of the sums */
#endif
#define PARTS , global PART *parts, global int *counters
#define PART2 PASTE(PART, 2)
#define FENCE() __asm__ volatile("membar.gl;" ::: "memory")
#ifndef MEET
#define MEET() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TILE_NUMBER (get_group_id(0) + get_num_groups(0) * get_group_id(2))
#define PART_NUMBER get_group_id(1)
#endif
#define ADD_PARTS(sums, count, size, word)                                  \
  do {                                                                      \
    const size_t tile_ = TILE_NUMBER;                                       \
    global PART2 *all_ = (global PART2 *)parts                              \
      + tile_ * (SPLITS * (count) / 2 * (size)) + get_local_id(0);          \
    WAIT(0);                                                                \
    _Pragma("unroll")                                                       \
    for (uint i_ = 0; i_ < (count) / 2; i_++)                               \
      all_[(PART_NUMBER * (count) / 2 + i_) * (size)]                       \
        = vload2(i_, sums);                                                 \
    FENCE();                                                                \
    MEET();                                                                 \
    if (get_local_id(0) == 0) {                                             \
      *(word) = atomic_inc(counters + tile_);                               \
      FENCE();                                                              \
    }                                                                       \
    MEET();                                                                 \
    if (*(word) != SPLITS - 1)                                              \
      return;                                                               \
    if (get_local_id(0) == 0)                                               \
      counters[tile_] = 0;                                                  \
    _Pragma("unroll")                                                       \
    for (uint i_ = 0; i_ < (count) / 2; i_++)                               \
      vstore2((PART2)0, i_, sums);                                          \
    _Pragma("unroll 1")                                                     \
    for (uint part_ = 0; part_ < SPLITS; part_++) {                         \
      _Pragma("unroll")                                                     \
      for (uint i_ = 0; i_ < (count) / 2; i_++)                             \
        vstore2(vload2(i_, sums) + all_[i_ * (size)], i_, sums);            \
      all_ += (count) / 2 * (size);                                         \
    }                                                                       \
  } while (0)
#else
#define PARTS
#endif
