/* tiled_float4.cl - tiled matrix product, four elements at a time
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C. A work-group of TILE x TILE work-items computes
** TILE rows and 4 TILE columns of C; each work-item owns four neighbouring
** columns, and everything moves as float4 (double4 when REAL is double):
**
**                     B  +------ 4 TILE -----+
**                  TILE  |....|....|....|....|   each work-item loads one
**                        +-------------------+   float4 of B
**     A  + TILE +     C  +-------------------+
**  TILE  |...|..|  TILE  |   |xxxx|          |   and stores one of C
**        +------+        +-------------------+
**     a quarter of the work-items load one float4 of A
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, row-major, row i begins at A + i * lda, lda >= K
** B  in       K x N, row-major, ldb >= N
** C  in, out  M x N, row-major, ldc >= N
**
** NDRange: global = (N / 4 rounded up, M), both rounded up to TILE
**          (dimension 0 = groups of four columns of C), local = TILE x TILE
** Local memory: 5 TILE TILE elements
** Defines: REAL, TILE (a multiple of 4), ALIGNED_A, ALIGNED_B, ALIGNED_C;
**          PLACED, see submatrix.cl
** Assumes: nothing about the shape. A matrix that is ALIGNED_ has all rows
**          on float4 boundaries (address and leading dimension) and moves by
**          aligned vectors, any other by vload4/vstore4; a vector that sticks
**          out of the matrix moves element by element
**
** Lesson: fewer, wider accesses. A 16-byte load costs one instruction
** instead of four, and in the product one read of As and one of Bs now feed
** four multiply-adds instead of one. It pays in float on nearly every GPU.
** In double a vector is 32 bytes, more than one instruction moves, and the
** halves of neighbours meet in the banks: there it can lose to `tiled`.
** Mind that vload4 promises alignment to one element only, and a compiler may
** turn it into four loads: the pointer cast gives a single wide load. The
** choice is made when the kernel is built: inside the loop it would cost a
** branch at each load. */
#include "../type/real.cl"
#ifndef TILE
#define TILE 16 /* side of the work-group, a multiple of 4 */
#endif
#ifndef ALIGNED_A
#define ALIGNED_A 0 /* 1: all rows of A begin at multiples of 4 elements */
#endif
#ifndef ALIGNED_B
#define ALIGNED_B 0 /* the same for B */
#endif
#ifndef ALIGNED_C
#define ALIGNED_C 0 /* and for C */
#endif

#include "submatrix.cl"

#if TILE % 4
#error "TILE must be a multiple of 4"
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REAL4 PASTE(REAL, 4)
#define QUADS (TILE / 4) /* vectors in a row of the tile of A */

/* X[row][col .. col+3], with zeros for what lies outside rows x cols */
static REAL4 load4(global const REAL *X, size_t ld, size_t rows, size_t cols,
                   size_t row, size_t col, int aligned)
{
  REAL4 v = (REAL4)(0);
  if (row >= rows || col >= cols)
    return v;
  global const REAL *p = X + row * ld + col;
  if (col + 4 <= cols)
    return aligned ? *(global const REAL4 *)p : vload4(0, p);
  v.s0 = p[0];
  if (col + 1 < cols)
    v.s1 = p[1];
  if (col + 2 < cols)
    v.s2 = p[2];
  return v;
}

/* X[row][col .. col+3] = v, leaving out what lies outside rows x cols */
static void store4(REAL4 v, global REAL *X, size_t ld, size_t rows,
                   size_t cols, size_t row, size_t col, int aligned)
{
  if (row >= rows || col >= cols)
    return;
  global REAL *p = X + row * ld + col;
  if (col + 4 <= cols) {
    if (aligned)
      *(global REAL4 *)p = v;
    else
      vstore4(v, 0, p);
    return;
  }
  p[0] = v.s0;
  if (col + 1 < cols)
    p[1] = v.s1;
  if (col + 2 < cols)
    p[2] = v.s2;
}

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
  local REAL4 As[TILE][QUADS];
  local REAL4 Bs[TILE][TILE];

  const size_t tx = get_local_id(0), ty = get_local_id(1);
  const size_t col = 4 * get_global_id(0);
  const size_t row = get_global_id(1);
  /* the loads of the tile of A: work-items in rows of QUADS */
  const size_t id = ty * TILE + tx;
  const size_t ai = id / QUADS, aq = id % QUADS;
  const size_t arow = get_group_id(1) * TILE + ai;

  REAL4 sum = (REAL4)(0);
  for (size_t k0 = 0; k0 < (size_t)K; k0 += TILE) {
    if (ai < TILE)
      As[ai][aq] = load4(A, lda, M, K, arow, k0 + 4 * aq, ALIGNED_A);
    Bs[ty][tx] = load4(B, ldb, K, N, k0 + ty, col, ALIGNED_B);
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int q = 0; q < QUADS; q++) {
      const REAL4 a = As[ty][q];
      sum += a.s0 * Bs[4 * q][tx];
      sum += a.s1 * Bs[4 * q + 1][tx];
      sum += a.s2 * Bs[4 * q + 2][tx];
      sum += a.s3 * Bs[4 * q + 3][tx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  REAL4 value = alpha * sum;
  if (beta != (REAL)0)
    value += beta * load4(C, ldc, M, N, row, col, ALIGNED_C);
  store4(value, C, ldc, M, N, row, col, ALIGNED_C);
}
