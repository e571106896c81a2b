/* float4.cl - transpose with float4 on both sides and 4 x 4 register blocks
** SPDX-License-Identifier: MIT
**
**   B[j*ldb + i] = A[i*lda + j],  0 <= i < rows, 0 <= j < cols
**
** Work-item (tx, ty) reads the 4 x 4 block in rows 4ty.. and columns 4tx.. of
** the tile as four row vectors, transposes it in registers and stores four
** column vectors into the tile, which holds the transpose in vectors of four.
** After the barrier it writes the block in rows 4ty.. of B, columns 4tx..:
**
**    A             registers      tile = transpose       B
**    a b c d       a e i m        row 4tx:   a e i m     vectors along
**    e f g h  -->  b f j n  -->   row 4tx+1: b f j n --> rows 4ty.. of
**    i j k l       c g k o        row 4tx+2: c g k o     the tile
**    m n o p       d h l p        row 4tx+3: d h l p
**
** Vector v of tile row r lies in cell v ^ (r / 4), so neighbouring work-items
** meet different banks both ways. Blocks at the edges of A, and every block
** when lda, ldb or a base address is no multiple of a vector, are moved
** element by element; the tile in between stays the same.
**
** Arguments:
**   rows, cols  size of A; B is cols x rows
**   A           in:  rows x cols, row-major
**   lda         elements from one row of A to the next, >= cols
**   B           out: cols x rows, row-major
**   ldb         elements from one row of B to the next, >= rows
** NDRange: two dimensions, local = {TILE / 4, TILE / 4},
**   global = {ceil(cols / TILE), ceil(rows / TILE)} work-groups.
** Local memory: TILE * TILE elements.
** Defines: REAL, TILE.
** Assumes: TILE is a power of two, at least 4; for speed only, that lda and
**   ldb are multiples of 4.
**
** Lesson, against `tiled_swizzled`: a quarter of the instructions, each
** moving 16 bytes, in global and in local memory, and four loads in flight
** per work-item. Going straight from registers to B would write pieces of 16
** bytes, ldb apart; the tile makes them whole rows. TILE = 64 keeps a
** work-group of 256 busy with 16 KiB of floats.
*/
#include "../type/real.cl"
#ifndef TILE
#define TILE 32 /* side of the square tile, a power of two >= 4 */
#endif

#define SIDE (TILE / 4) /* vectors in a tile row */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REAL4 JOIN(REAL, 4)
#define ALIGNED(p, ld) \
  ((ld) % 4 == 0 && (uintptr_t)(p) % sizeof(REAL4) == 0)

/* elements of a row that begins at p, zero from `count` on */
REAL4 load_some(global const REAL *p, size_t count)
{
  REAL4 v = (REAL4)(0);
  if (count > 0)
    v.s0 = p[0];
  if (count > 1)
    v.s1 = p[1];
  if (count > 2)
    v.s2 = p[2];
  if (count > 3)
    v.s3 = p[3];
  return v;
}

void store_some(REAL4 v, global REAL *p, size_t count)
{
  if (count > 0)
    p[0] = v.s0;
  if (count > 1)
    p[1] = v.s1;
  if (count > 2)
    p[2] = v.s2;
  if (count > 3)
    p[3] = v.s3;
}

/* how many of four indices from i on are below n */
size_t left(size_t i, int n)
{
  return i < n ? min((size_t)4, n - i) : 0;
}

kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void transpose(int rows, int cols, global const REAL *restrict A, int lda,
               global REAL *restrict B, int ldb)
{
  local REAL4 tile[TILE][SIDE];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const size_t i0 = get_group_id(1) * TILE; /* first row of the tile in A */
  const size_t j0 = get_group_id(0) * TILE; /* and its first column */
  REAL4 v[4];

  const size_t i = i0 + 4 * ty, j = j0 + 4 * tx;
  const size_t height = left(i, rows), width = left(j, cols);
  if (height == 4 && width == 4 && ALIGNED(A, lda)) {
    for (int k = 0; k < 4; k++)
      v[k] = *(global const REAL4 *)(A + (i + k) * lda + j);
  } else {
    for (int k = 0; k < 4; k++)
      v[k] = load_some(A + (i + k) * lda + j, k < height ? width : 0);
  }
  tile[4 * tx][ty ^ tx] = (REAL4)(v[0].s0, v[1].s0, v[2].s0, v[3].s0);
  tile[4 * tx + 1][ty ^ tx] = (REAL4)(v[0].s1, v[1].s1, v[2].s1, v[3].s1);
  tile[4 * tx + 2][ty ^ tx] = (REAL4)(v[0].s2, v[1].s2, v[2].s2, v[3].s2);
  tile[4 * tx + 3][ty ^ tx] = (REAL4)(v[0].s3, v[1].s3, v[2].s3, v[3].s3);
  barrier(CLK_LOCAL_MEM_FENCE);

  const size_t bi = j0 + 4 * ty, bj = i0 + 4 * tx; /* row and column of B */
  const size_t bheight = left(bi, cols), bwidth = left(bj, rows);
  if (bheight == 4 && bwidth == 4 && ALIGNED(B, ldb)) {
    for (int k = 0; k < 4; k++)
      *(global REAL4 *)(B + (bi + k) * ldb + bj) = tile[4 * ty + k][tx ^ ty];
  } else {
    for (int k = 0; k < 4; k++)
      store_some(tile[4 * ty + k][tx ^ ty], B + (bi + k) * ldb + bj,
                 k < bheight ? bwidth : 0);
  }
}
