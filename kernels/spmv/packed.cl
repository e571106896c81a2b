/* packed.cl - DIA sparse matrix times vector, values from few patterns of rows
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over d of value(d, i) * x[i + OFFSETS[d]],
**          for those d with 0 <= i + OFFSETS[d] < cols
**
**   value(d, i) = patterns[codes[i]][d]                      if PLACES[d] < 0,
**                 stored[PLACES[d] * pitch + i + OFFSETS[d]] if MIRRORED[d],
**                 stored[PLACES[d] * pitch + i]              else
**
** In most matrices from a grid few rows differ: a Poisson matrix has one kind
** of row inside the grid and one at each side, edge and corner. Such rows are
** kept once, as patterns, and a row of the matrix has a code of one byte:
**
**    row     codes      patterns                 -1   0  +1
**     0        1          0: inside             | -1   2  -1 |
**     1        0          1: begin of a line    |  0   2  -1 |
**     2        0          2: end of a line      | -1   2   0 |
**     3        2
**
** Pattern 0 is the most frequent one. Its values are compiled in (MAIN), and
** WIDTH rows at a time are computed with them. If other patterns are among
** their codes, those rows are computed again: one by one (SINGLE), or all
** WIDTH rows with each such pattern, and only the rows of that pattern take
** the result. If all rows are alike, nothing of the matrix is read at all.
** Diagonals of too many values for a pattern are stored as in specialised.cl,
** as NARROW: the least type in which each of their values is exact.
**
** In a symmetric matrix the values at (i, j) and (j, i) are equal: diagonal -k
** has the values of diagonal k, k rows later. One of the two is stored, and
** the other, the mirrored one, is read from it, in row j = i + OFFSETS[d]:
**
**    row          0  1  2  3  4  5
**    diagonal  2  a  b  c  d  .  .     stored
**    diagonal -2  .  .  a  b  c  d     = stored[i - 2]
**
** The same holds for any two such diagonals k and -k, whatever the others are.
**
** Arguments:
**   rows, cols  size of A; x has cols elements, y has rows
**   pitch       elements from one stored diagonal to the next, >= rows, a
**               multiple of 16; codes has as many elements
**   codes       in:  the pattern of each row; not read if PATTERNS is 1
**   patterns    in:  PATTERNS x diagonals values, 0 for stored diagonals
**   stored      in:  stored diagonals x pitch elements of type NARROW
**   x           in:  vector of cols elements
**   y           out: vector of rows elements
** NDRange: one dimension, local size L any, global = L for each STEPS * L *
**   WIDTH rows.
** Defines: REAL, BITS and SIGNED (integers of REAL's size), NARROW, FROM_HALF
**   (1 if NARROW is half and REAL is not), WIDTH, STEPS, BLOCKS, SINGLE,
**   STREAM, PATTERNS, and lists with an element for each diagonal: OFFSETS
**   (ascending, at least one), MAIN (pattern 0 by its bits), PLACES and
**   MIRRORED (0 or 1).
** Assumes: mirrored diagonals below the main one have rows <= cols, mirrored
**   diagonals above it rows >= cols, so that row j is in `stored`; for speed
**   only, that x and y are aligned to WIDTH elements.
**
** Lesson, against `specialised`: at the rate of memory only fewer bytes are
** faster. A row of a 7-point matrix of floats takes 28 bytes of values there
** and 1 here, beside 8 of x and y; the sums are the same, bit for bit. With so
** few bytes other limits come near: x is read from the first cache once for
** each diagonal, by work-items of several rows in aligned blocks (BLOCKS) that
** neighbouring diagonals share, and a row of a rare pattern costs its loads of
** values, from the cache as well. A diagonal that is read twice, for itself
** and k rows later for its mirror, comes from memory once: the second cache
** holds all data that are read in between. A row of a symmetric 5-point matrix
** of floats, of any values, takes 12 bytes of them in place of 20.
*/
#include "../type/real.cl"
#ifndef BITS
#define BITS uint  /* unsigned integer of as many bytes as REAL */
#define SIGNED int /* signed one */
#endif
#ifndef NARROW
#define NARROW REAL /* type of the stored diagonals */
#endif
#ifndef FROM_HALF
#define FROM_HALF 0 /* 1: they are halves, REAL is another type */
#endif
#ifndef WIDTH
#define WIDTH 4 /* consecutive rows of a work-item: 1, 2, 4, 8 or 16 */
#endif
#ifndef STEPS
#define STEPS 1 /* times that it takes WIDTH rows, a work-group further on */
#endif
#ifndef BLOCKS
#define BLOCKS 0 /* 1: vectors at an offset are taken from two aligned ones */
#endif
#ifndef SINGLE
#define SINGLE 1 /* 1: rows of other patterns are computed one by one */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: y goes past the cache */
#endif
#include "../cache/lines.cl"
#ifndef OFFSETS
#define OFFSETS -1, 0, 1 /* column minus row of each diagonal, ascending */
#define PATTERNS 1
#define MAIN 0xbf800000, 0x40000000, 0xbf800000 /* -1, 2, -1 */
#define PLACES -1, -1, -1
#define MIRRORED 0, 0, 0
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#define STORED NARROW
#define VLOAD(p) (*(p))
#define HALVES(p) vload_half(0, p)
#else
#define VECTOR JOIN(REAL, WIDTH)
#define STORED JOIN(NARROW, WIDTH)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define HALVES(p) JOIN(vload_half, WIDTH)(0, p)
#endif
#if WIDTH == 1
#define CHOOSE(a, b, codes, code) (b)
#else
#define LANES JOIN(SIGNED, WIDTH) /* integers of REAL's size */
#define CHOOSE(a, b, codes, code)                                             \
  select(a, b, JOIN(convert_, LANES)(JOIN(vload, WIDTH)(0, codes)) ==         \
                   (LANES)(code))
#endif
#define AS_REAL(bits) JOIN(as_, REAL)((BITS)(bits))
#define TO_VECTOR(v) JOIN(convert_, VECTOR)(v)
#define ALIGNED(p) ((uintptr_t)(p) % sizeof(VECTOR) == 0)
#define NDIAGS ((int)(sizeof(offset) / sizeof(offset[0])))

/* the codes of WIDTH rows, and whether one is not 0 */
#if WIDTH == 1
#define CODES uchar
#elif WIDTH == 2
#define CODES ushort
#elif WIDTH == 4
#define CODES uint
#elif WIDTH == 8
#define CODES ulong
#else
#define CODES ulong2
#endif
#if WIDTH == 16
#define ANY(codes) (((codes).x | (codes).y) != 0)
#else
#define ANY(codes) ((codes) != 0)
#endif

constant int offset[] = {OFFSETS};
constant int place[] = {PLACES};
constant int mirrored[] = {MIRRORED};
constant BITS main_bits[] = {MAIN};

/* the offset below `o` at which x is aligned to vectors */
#define BELOW(o) ((o) - (((o) % WIDTH) + WIDTH) % WIDTH)

/* the end of the elements that are loaded for WIDTH elements from `o` on */
#if BLOCKS
#define END(o) (BELOW((o) + WIDTH - 1) + WIDTH)
#else
#define END(o) ((o) + WIDTH)
#endif

/* the pattern of row i */
static int code_of(global const uchar *codes, long i)
{
  return PATTERNS > 1 ? min((int)codes[i], PATTERNS - 1) : 0;
}

/* name(p, o): WIDTH elements of a type from p + o on; p is aligned */
#define PART(name, type, vector)                                              \
  static vector name(global const type *p, int o)                             \
  {                                                                           \
    const int over = o - BELOW(o);                                            \
    global const vector *block = (global const vector *)(p + BELOW(o));       \
    if (over == 0)                                                            \
      return block[0];                                                        \
    if (!BLOCKS)                                                              \
      return VLOAD(p + o);                                                    \
    type both[2 * WIDTH];                                                     \
    *(vector *)both = block[0];                                               \
    *(vector *)(both + WIDTH) = block[1];                                     \
    return VLOAD(both + over);                                                \
  }

PART(part, REAL, VECTOR)

/* element p of the stored diagonals, and WIDTH elements at offset o from p */
#if FROM_HALF
static REAL element(global const NARROW *p)
{
  return (REAL)vload_half(0, p);
}

static VECTOR elements(global const NARROW *p, int o)
{
  return TO_VECTOR(HALVES(p + o));
}
#else
PART(narrow_part, NARROW, STORED)

static REAL element(global const NARROW *p)
{
  return (REAL)*p;
}

static VECTOR elements(global const NARROW *p, int o)
{
  return TO_VECTOR(narrow_part(p, o));
}
#endif

/* diagonal d, which is stored, in rows i .. i + WIDTH - 1, in all of which it
** has elements */
static VECTOR values(global const NARROW *stored, int d, int pitch, long i)
{
  return elements(stored + (size_t)place[d] * pitch + i,
                  mirrored[d] ? offset[d] : 0);
}

/* one row, every element tested; column 0 is loaded in place of columns
** outside, so that no load waits for a test */
static REAL single(long i, int cols, int pitch, global const uchar *codes,
                   global const REAL *patterns, global const NARROW *stored,
                   global const REAL *x)
{
  REAL sum = 0;
  patterns += code_of(codes, i) * NDIAGS;
#pragma unroll 8
  for (int d = 0; d < NDIAGS; d++) {
    const long j = i + offset[d];
    const bool inside = j >= 0 && j < cols;
    const long column = inside ? j : 0, row = mirrored[d] ? column : i;
    const REAL v = place[d] < 0
                       ? patterns[d]
                       : element(stored + (size_t)place[d] * pitch + row);
    const REAL xj = x[column];
    sum = inside ? sum + v * xj : sum;
  }
  return sum;
}

/* whether a diagonal has elements in some of WIDTH rows, but not in all, or
** not in all places that are loaded for them */
static bool is_cut(long i, int cols)
{
  bool cut = false;
  for (int d = 0; d < NDIAGS; d++) {
    const long j = i + offset[d];
    cut |= (j < 0 && j > -WIDTH) || (j < cols && END(j) > cols);
  }
  return cut;
}

/* WIDTH rows by pattern 0, all diagonals inside the matrix */
static VECTOR by_main(long i, int pitch, global const NARROW *stored,
                      global const REAL *x)
{
  VECTOR sum = (VECTOR)(0);
#pragma unroll
  for (int d = 0; d < NDIAGS; d++) {
    const VECTOR v = place[d] < 0 ? (VECTOR)(AS_REAL(main_bits[d]))
                                  : values(stored, d, pitch, i);
    sum += v * part(x + i, offset[d]);
  }
  return sum;
}

/* WIDTH rows by another pattern, each diagonal inside the matrix or outside,
** or, if the rows are `inner` ones, all inside */
static VECTOR by_pattern(bool inner, long i, int cols, int pitch,
                         global const REAL *pattern,
                         global const NARROW *stored, global const REAL *x)
{
  VECTOR sum = (VECTOR)(0);
#pragma unroll
  for (int d = 0; d < NDIAGS; d++) {
    const long j = i + offset[d];
    if (inner || (j >= 0 && j < cols)) {
      const VECTOR v = place[d] < 0 ? (VECTOR)(pattern[d])
                                    : values(stored, d, pitch, i);
      sum += v * part(x + i, offset[d]);
    }
  }
  return sum;
}

/* sum, of WIDTH rows: rows of pattern `known` stay as they are (0, of inner
** rows, or -1: no rows), the others are computed, once for each run of equal
** codes */
static VECTOR others(VECTOR sum, int known, long i, int cols, int pitch,
                     global const uchar *codes, global const REAL *patterns,
                     global const NARROW *stored, global const REAL *x)
{
#if PATTERNS > 1
  int last = known;
  for (int k = 0; k < WIDTH; k++) {
    const int code = code_of(codes, i + k);
    if (code != known && code != last) {
      const VECTOR other =
          by_pattern(known == 0, i, cols, pitch, patterns + code * NDIAGS,
                     stored, x);
      sum = CHOOSE(sum, other, codes + i, code);
    }
    last = code;
  }
  return sum;
#else
  return by_pattern(false, i, cols, pitch, patterns, stored, x);
#endif
}

kernel void spmv(int rows, int cols, int pitch,
                 global const uchar *restrict codes,
                 global const REAL *restrict patterns,
                 global const NARROW *restrict stored,
                 global const REAL *restrict x, global REAL *restrict y)
{
  const long items = get_local_size(0);
  const long first = -(long)offset[0];
  const bool aligned = ALIGNED(x) && ALIGNED(y);
  long i = ((long)get_group_id(0) * STEPS * items + get_local_id(0)) * WIDTH;
  for (int s = 0; s < STEPS; s++, i += items * WIDTH) {
    int known = -1; /* the pattern whose rows are done */
    if (aligned && i + WIDTH <= rows) {
      global VECTOR *out = (global VECTOR *)(y + i);
      if (i >= first && i + END(offset[NDIAGS - 1]) <= cols) {
        VECTOR sum = by_main(i, pitch, stored, x);
        const bool more =
            PATTERNS > 1 && ANY(*(global const CODES *)(codes + i));
        const bool single_ones = more && SINGLE == 1;
        if (more && !single_ones)
          sum = others(sum, 0, i, cols, pitch, codes, patterns, stored, x);
        PASS(sum, out);
        if (!single_ones)
          continue;
        known = 0;
      } else if (!SINGLE && !is_cut(i, cols)) {
        PASS(others((VECTOR)(0), -1, i, cols, pitch, codes, patterns, stored,
                    x), out);
        continue;
      }
    }
    for (long k = i; k < min(i + WIDTH, (long)rows); k++)
      if (code_of(codes, k) != known)
        y[k] = single(k, cols, pitch, codes, patterns, stored, x);
  }
}
