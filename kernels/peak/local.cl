/* local.cl - bandwidth of local memory, with bank conflicts on request
** SPDX-License-Identifier: MIT
**
** Bytes read per work-item: iterations * UNROLL * WIDTH * sizeof(REAL).
** The buffer holds CELLS vectors. A work-item reads UNROLL cells, then the
** next UNROLL, round the buffer, so that nothing can be kept in registers. It
** begins at cell local id x spread:
**
**    spread = 1    work-item 0 1 2 3 ...  cell 0 1 2 3 ...    all banks
**    spread = 2                           cell 0 2 4 6 ...    every other bank
**    spread = 32                          cell 0 32 64 ...    one bank
**
** Arguments:
**   iterations  times the loop runs, >= 0; choose it for some milliseconds
**   spread      cells between neighbouring work-items, >= 0: 1 = no conflict,
**               2, 4 .. 32 = as many work-items on one bank (32 banks, float,
**               WIDTH = 1), 0 = all read one cell, a broadcast
**   out         out: global size x WIDTH elements
** NDRange: one dimension, global a multiple of WG, local = WG.
** Local memory: (CELLS + UNROLL) * WIDTH elements.
** Defines: REAL, WIDTH, WG, CELLS, UNROLL.
** Assumes: CELLS is a power of two.
**
** Lesson: local memory serves one cell of each bank per cycle, and banks are
** interleaved every 4 bytes. Several reads of one cell count once; different
** cells of one bank wait for each other, and the rate falls to 1/spread. On a
** CPU device local memory is cached memory: there are no banks.
*/
#include "../type/real.cl"
#ifndef WIDTH
#define WIDTH 1 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif
#ifndef WG
#define WG 256 /* work-group size */
#endif
#ifndef CELLS
#define CELLS 1024 /* vectors in the buffer, a power of two */
#endif
#ifndef UNROLL
#define UNROLL 8 /* reads per turn of the loop */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#else
#define VECTOR JOIN(REAL, WIDTH)
#endif
#if WIDTH == 1
#define VSTORE(v, i, p) ((p)[i] = (v))
#else
#define VSTORE(v, i, p) JOIN(vstore, WIDTH)(v, i, p)
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void read_local(int iterations, int spread, global REAL *restrict out)
{
  local VECTOR cells[CELLS + UNROLL];
  const uint id = get_local_id(0);
  for (uint k = id; k < CELLS + UNROLL; k += WG)
    cells[k] = (VECTOR)((REAL)(k % 4));
  barrier(CLK_LOCAL_MEM_FENCE);
  VECTOR sum = (VECTOR)(0);
  uint at = id * (uint)spread & (CELLS - 1);
  for (int t = 0; t < iterations; t++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      sum += cells[at + u];
    at = (at + UNROLL) & (CELLS - 1);
  }
  VSTORE(sum, get_global_id(0), out);
}
