/* simd.cl - matrix product on explicit vectors, for CPU devices
** SPDX-License-Identifier: MIT
**
** C = alpha op(A) op(B) + beta C. A work-item computes a tile of C in blocks
** of MR x NR elements, NR = NV VW, and takes K in passes of KC steps at most.
** In each pass it copies its columns of B to panels in local memory, then MR
** rows of A at a time, a slab, which meet all the panels:
**
**            panels of B: KC x NR each, [k][j]
**              +----+----+----+----+      the second cache holds them
**              |    |    |    |    |
**              +----+----+----+----+
**     slab of A                           for each k, for each row i:
**     +----+   +----+----+----+----+        sum[i][v] += a[i] * b[v]
**     |MRxKC   |MRxNR    |    |    |      one load per b[v], one broadcast
**     +----+   +----+----+----+----+      per a[i]: sums of a block are MR x
**     first cache     C                   NV vectors, in registers
**
** M, N, K     rows of C, columns of C, length of the sums; each >= 1
** alpha, beta scalars; beta == 0 means that C is not read
** A  in       M x K, or K x M with TRANS_A: row i begins at A + i * lda. With
**             PACKED_A panels of pack.cl: panel p begins at A + p * lda and
**             holds A[p MR + i][k] at [k MR + i], zero beyond row M
** B  in       K x N, or N x K with TRANS_B: row i begins at B + i * ldb. With
**             PACKED_B panels: panel p begins at B + p * ldb and holds
**             B[k][p NR + j] at [k NR + j], zero beyond column N
** C  in, out  M x N, row-major, row i begins at C + i * ldc
**
** NDRange: global = (tiles across, tiles down), which share the blocks evenly;
**          tiles across: N / (NR NT), rounded up, or more; local = 1
** Defines: REAL, VW, MR, NV, NT, KC, AHEAD, TRANS_A, TRANS_B, PACKED_A,
**          PACKED_B; PLACED, see submatrix.cl
** Assumes: C overlaps neither A nor B
**
** Lesson: a CPU core has no use for barriers, and local memory is ordinary
** memory to it; but it is memory that stays in the caches of that core. So a
** work-item brings operands there in the order of use, as a good BLAS does,
** and a second launch only for that, with its gap, is saved. Sums stay in
** registers for a whole pass (MR NV of them, plus NV for b and one for a, of
** 32 with AVX-512 and 16 with AVX2). Panels come from the second cache, and
** are asked for AHEAD steps early, the next rows of A a little with each
** block. vload, vstore and fma on the vector type tell the compiler that
** full-width vectors are meant; some would otherwise halve them. */
#include "../type/real.cl"
#ifndef VW
#define VW 8 /* elements in a vector: 2, 4, 8 or 16 */
#endif
#ifndef MR
#define MR 6 /* rows of C in a block */
#endif
#ifndef NV
#define NV 2 /* vectors in a row of a block */
#endif
#ifndef NT
#define NT 8 /* panels of B that a work-item holds */
#endif
#ifndef KC
#define KC 256 /* steps of k in a pass, at most */
#endif
#ifndef AHEAD
#define AHEAD 32 /* steps of k between a request and the use; 0: no requests */
#endif
#ifndef TRANS_A
#define TRANS_A 0 /* 1: A is stored transposed */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: B is stored transposed */
#endif
#ifndef PACKED_A
#define PACKED_A 0 /* 1: A is packed in panels */
#endif
#ifndef PACKED_B
#define PACKED_B 0 /* 1: B is packed in panels */
#endif

#include "submatrix.cl"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REALV PASTE(REAL, VW)
#define VLOAD PASTE(vload, VW)
#define VSTORE PASTE(vstore, VW)
#define NR (NV * VW)
#define LINE (64 / sizeof(REAL)) /* elements in a cache line */

#if PACKED_A
#define SPACE_A global
#else
#define SPACE_A local
#endif
#if PACKED_B
#define SPACE_B global
#else
#define SPACE_B local
#endif

/* a[i STEP_I + k STEP_K] is the element of row i and step k of a slab, which
** comes from so many LINES. */
#if PACKED_A
#define LINES(depth) (((depth) * MR + LINE - 1) / LINE)
#define STEP_I 1
#define STEP_K MR
#elif TRANS_A
#define LINES(depth) (depth)
#define STEP_I 1
#define STEP_K MR
#define SLAB (MR * KC)
#else
#define LINES(depth) (((depth) + LINE - 1) / LINE * MR)
#define STEP_I (KC + LINE)
#define STEP_K 1
#define SLAB (MR * (KC + LINE))
#endif

#if AHEAD > 0
#include "../cache/lines.cl"
#else
#define ASK(p) (void)0
#define ASK_SECOND(p) (void)0
#endif

#define SOME 16 /* steps of k between two requests for lines */

/* The requests of a block while it computes: `rate` lines of the next slab of
** A every SOME steps, 0 after the last slab. Requests for the whole slab at
** once would keep requests for panels waiting. */
typedef struct {
  global const REAL *X;
  size_t ld, rate, asked;
} Next;

static void ask_next(Next *next)
{
  for (size_t r = 0; r < next->rate; r++, next->asked++) {
    const size_t at = next->asked;
#if PACKED_A
    ASK_SECOND(next->X + at * LINE);
#elif TRANS_A
    ASK_SECOND(next->X + at * next->ld);
#else
    ASK_SECOND(next->X + at % MR * next->ld + at / MR * LINE);
#endif
  }
}

/* C = alpha sum + beta C for the first rows x cols elements of a block */
static void store_part(const REAL *sum, REAL alpha, REAL beta, global REAL *C,
                       size_t ldc, size_t rows, size_t cols)
{
  for (size_t i = 0; i < rows; i++, sum += NR, C += ldc) {
    for (size_t j = 0; j < cols; j++)
      C[j] = beta == (REAL)0 ? alpha * sum[j]
                             : fma(beta, C[j], alpha * sum[j]);
  }
}

/* One block: MR x NR elements of C, of which rows x cols exist */
static void block(size_t depth, REAL alpha, SPACE_A const REAL *a,
                  SPACE_B const REAL *b, REAL beta, global REAL *C,
                  size_t ldc, size_t rows, size_t cols, Next *next)
{
  REALV sum[MR][NV];
  #pragma unroll
  for (int i = 0; i < MR; i++) {
    #pragma unroll
    for (int v = 0; v < NV; v++)
      sum[i][v] = (REALV)(0);
  }

  for (size_t from = 0, line = 0; from < depth; from += SOME, line++) {
    ask_next(next);
    ASK(C + line % MR * ldc + line / MR * VW);
    const size_t to = min(from + SOME, depth);
    #pragma unroll 1
    for (size_t k = from; k < to; k++, a += STEP_K, b += NR) {
      REALV bk[NV];
      #pragma unroll
      for (int v = 0; v < NV; v++) {
        bk[v] = VLOAD(v, b);
        ASK(b + AHEAD * NR + v * VW);
      }
      #pragma unroll
      for (int i = 0; i < MR; i++) {
        #pragma unroll
        for (int v = 0; v < NV; v++)
          sum[i][v] = fma((REALV)(a[i * STEP_I]), bk[v], sum[i][v]);
      }
    }
  }

  if (rows < MR || cols < NR) {
    REAL part[MR][NR];
    #pragma unroll
    for (int i = 0; i < MR; i++) {
      #pragma unroll
      for (int v = 0; v < NV; v++)
        VSTORE(sum[i][v], v, part[i]);
    }
    store_part(&part[0][0], alpha, beta, C, ldc, min(rows, (size_t)MR),
               min(cols, (size_t)NR));
    return;
  }

  /* All of C is read before any is written: a read would wait for a write to
  ** the same place of another page, and rows are often whole pages apart. */
  #pragma unroll
  for (int i = 0; i < MR; i++) {
    #pragma unroll
    for (int v = 0; v < NV; v++) {
      sum[i][v] *= alpha;
      if (beta != (REAL)0)
        sum[i][v] = fma((REALV)(beta), VLOAD(v, C + i * ldc), sum[i][v]);
    }
  }
  #pragma unroll
  for (int i = 0; i < MR; i++) {
    #pragma unroll
    for (int v = 0; v < NV; v++)
      VSTORE(sum[i][v], v, C + i * ldc);
  }
}

#if !PACKED_A
/* The slab of A that begins at X: MR rows, zero where fewer exist */
static void copy_slab(global const REAL *X, size_t ld, size_t rows,
                      size_t depth, local REAL *slab)
{
#if TRANS_A
  for (size_t k = 0; k < depth; k++, X += ld, slab += MR) {
    if (rows >= MR) {
      #pragma unroll
      for (int i = 0; i < MR; i++)
        slab[i] = X[i];
    } else {
      for (size_t i = 0; i < MR; i++)
        slab[i] = i < rows ? X[i] : (REAL)0;
    }
  }
#else
  for (size_t i = 0; i < MR; i++, X += ld, slab += STEP_I) {
    size_t k = 0;
    const size_t length = i < rows ? depth : 0;
    for (; k + VW <= length; k += VW)
      VSTORE(VLOAD(0, X + k), 0, slab + k);
    for (; k < length; k++)
      slab[k] = X[k];
    for (; k < depth; k++)
      slab[k] = 0;
  }
#endif
}
#endif

#if !PACKED_B
/* Steps of k of a panel that are copied together: a line where B is turned */
#define RUN (TRANS_B ? 16 : 4)

/* The panels of `cols` columns of B that begin at X, zero beyond the last */
static void copy_panels(global const REAL *X, size_t ld, size_t cols,
                        size_t depth, local REAL *panels)
{
#if TRANS_B
  for (size_t j = 0; j < cols; j += NR) {
    local REAL *p = panels + j * KC;
    for (size_t k = 0; k < depth; k += RUN) {
      const size_t run = min((size_t)RUN, depth - k);
      REAL tile[NR][RUN];
      for (size_t c = 0; c < NR; c++) {
        global const REAL *x = X + (j + c) * ld + k;
        const size_t width = j + c < cols ? run : 0;
        for (size_t r = 0; r < RUN; r++)
          tile[c][r] = r < width ? x[r] : (REAL)0;
      }
      for (size_t r = 0; r < run; r++) {
        for (size_t c = 0; c < NR; c++)
          p[(k + r) * NR + c] = tile[c][r];
      }
    }
  }
#else
  for (size_t k = 0; k < depth; k += RUN) {
    const size_t run = min((size_t)RUN, depth - k);
    for (size_t j = 0; j < cols; j += NR) {
      global const REAL *x = X + k * ld + j;
      local REAL *p = panels + j * KC + k * NR;
      const size_t width = cols - j;
      for (size_t r = 0; r < run; r++, x += ld, p += NR) {
        if (width >= NR) {
          #pragma unroll
          for (int v = 0; v < NV; v++)
            VSTORE(VLOAD(v, x), v, p);
        } else {
          for (size_t c = 0; c < NR; c++)
            p[c] = c < width ? x[c] : (REAL)0;
        }
      }
    }
  }
#endif
}
#endif

/* Where part `at` begins of `parts` that share n blocks evenly */
#define SHARE(n, at, parts) ((n) * (at) / (parts))

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(int M, int N, int K, REAL alpha,
          global const REAL *restrict A, int lda,
          global const REAL *restrict B, int ldb, REAL beta,
          global REAL *restrict C, int ldc AT_ABC)
{
  MOVE(A, at_a);
  MOVE(B, at_b);
  MOVE(C, at_c);
#if !PACKED_A
  local REAL slab[SLAB] __attribute__((aligned(64)));
#endif
#if !PACKED_B
  local REAL panels[NT * KC * NR] __attribute__((aligned(64)));
#endif
  const size_t m = M, n = N, depth = K, la = lda, lb = ldb, lc = ldc;
  const size_t down = (m + MR - 1) / MR, across = (n + NR - 1) / NR;
  const size_t y = get_global_id(1), ys = get_global_size(1);
  const size_t x = get_global_id(0), xs = get_global_size(0);
  const size_t row0 = SHARE(down, y, ys) * MR;
  const size_t row1 = min(SHARE(down, y + 1, ys) * MR, m);
  const size_t col0 = SHARE(across, x, xs) * NR;
  const size_t col1 = min(SHARE(across, x + 1, xs) * NR, n);
  const size_t passes = (depth + KC - 1) / KC;
  const size_t step = (depth + passes - 1) / passes;

  for (size_t k = 0; k < depth; k += step) {
    const size_t steps = min(step, depth - k);
    const size_t blocks = (col1 - col0 + NR - 1) / NR;
    const size_t requests = (steps + SOME - 1) / SOME * blocks;
    const REAL factor = k == 0 ? beta : (REAL)1;
#if !PACKED_B
    copy_panels(B + (TRANS_B ? col0 * lb + k : k * lb + col0), lb,
                col1 - col0, steps, panels);
#endif
    for (size_t i = row0; i < row1; i += MR) {
#if PACKED_A
#define AT_ROW(i) (A + (i) / MR * la + k * MR)
      global const REAL *a = AT_ROW(i);
#else
#define AT_ROW(i) (A + (TRANS_A ? k * la + (i) : (i) * la + k))
      local const REAL *a = slab;
      copy_slab(AT_ROW(i), la, m - i, steps, slab);
#endif
      Next next = {0};
      if (i + MR < row1) {
        next.X = AT_ROW(i + MR);
        next.ld = la;
        next.rate = (LINES(steps) + requests - 1) / requests;
      }
      for (size_t j = col0; j < col1; j += NR) {
#if PACKED_B
        global const REAL *b = B + j / NR * lb + k * NR;
#else
        local const REAL *b = panels + (j - col0) * KC;
#endif
        block(steps, alpha, a, b, factor, C + i * lc + j, lc, m - i, n - j,
              &next);
      }
    }
  }
}
