/* pack.cl - the operands of simd.cl, rearranged into panels
** SPDX-License-Identifier: MIT
**
** pack_a: panel p of P = rows p MR .. p MR + MR - 1 of A, stored by columns
** pack_b: panel p of P = columns p NR .. p NR + NR - 1 of B, stored by rows
**
**        A         P                     B            P
**     a b c      a d b e c f           a b c d      a b   e f
**     d e f      g 0 h 0 i 0           e f g h      c d   g h
**     g h i      (MR = 2)                           (NR = 2: row after row)
**
** rows, cols  shape of the matrix to pack, each >= 1
** X  in       rows x cols, row-major, row i begins at X + i * ldx
** P  out      panels; panel p begins at P + p * ldp, and every cell of it
**             that has no element is set to zero
** ldp         pack_a: cols MR or more; pack_b: rows NR or more
**
** NDRange: pack_a: global = (cols / KB, rows / MR), both rounded up
**          pack_b: global = (rows / KB, cols / NR), both rounded up
**          local = any
** Defines: REAL, MR, NR, KB; PLACED, see submatrix.cl
** Assumes: P does not overlap X
**
** Lesson: m k + k n moves buy m n k multiply-adds that read memory in
** exactly the order it is stored. It pays once the matrices are large. */
#include "../type/real.cl"
#ifndef MR
#define MR 6 /* rows of A in a panel */
#endif
#ifndef NR
#define NR 16 /* columns of B in a panel */
#endif
#ifndef KB
#define KB 256 /* steps along the panel for one work-item */
#endif

#define TILE 16 /* steps of pack_a at a time: a cache line of floats */

#include "submatrix.cl"

kernel void pack_a(int rows, int cols, global const REAL *restrict X,
                   int ldx, global REAL *restrict P, int ldp
                   AT_XY)
{
  MOVE(X, at_x);
  MOVE(P, at_y);
  const size_t panel = get_global_id(1), row = panel * MR;
  const size_t first = get_global_id(0) * KB;
  const size_t last = min(first + KB, (size_t)cols);
  if (row >= (size_t)rows)
    return;

  /* A tile at a time: whole cache lines are read, and whole ones written. */
  REAL tile[MR][TILE];
  for (size_t k = first; k < last; k += TILE) {
    const size_t depth = min((size_t)TILE, last - k);
    for (size_t i = 0; i < MR; i++) {
      global const REAL *x = X + (row + i) * ldx + k;
      const size_t width = row + i < (size_t)rows ? depth : 0;
      if (width == TILE) {
        for (size_t j = 0; j < TILE; j++)
          tile[i][j] = x[j];
      } else {
        for (size_t j = 0; j < TILE; j++)
          tile[i][j] = j < width ? x[j] : (REAL)0;
      }
    }
    global REAL *p = P + panel * ldp + k * MR;
    for (size_t j = 0; j < depth; j++) {
      for (size_t i = 0; i < MR; i++)
        p[j * MR + i] = tile[i][j];
    }
  }
}

kernel void pack_b(int rows, int cols, global const REAL *restrict X,
                   int ldx, global REAL *restrict P, int ldp
                   AT_XY)
{
  MOVE(X, at_x);
  MOVE(P, at_y);
  const size_t panel = get_global_id(1), col = panel * NR;
  const size_t first = get_global_id(0) * KB;
  const size_t last = min(first + KB, (size_t)rows);
  if (col >= (size_t)cols)
    return;

  const size_t width = min((size_t)NR, cols - col);
  for (size_t k = first; k < last; k++) {
    global const REAL *x = X + k * ldx + col;
    global REAL *p = P + panel * ldp + k * NR;
    for (size_t j = 0; j < width; j++)
      p[j] = x[j];
    for (size_t j = width; j < NR; j++)
      p[j] = 0;
  }
}
