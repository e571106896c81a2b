/* csr_packed.cl - sparse matrix times vector, CSR with indexes of 16 bits
** SPDX-License-Identifier: MIT
**
**   y[i] = sum over the elements k of row i of values[k] * x[column of k]
**
** Storage (see Csr:pack): the rows in their order, cut into chunks of at most
** CHUNK elements and CHUNK rows. A chunk has a table of the pages of PAGE
** columns that it uses, and each element a page and a place there:
**
**    columns   70000 70001 812 813     pages = {69888, 768}
**    near      0:112 0:113 1:44 1:45   page:place, 8 bits each
**
** A chunk of too many pages has the lower 16 bits of its columns in near and
** the upper bits in far. A row longer than a chunk is cut into pieces, each a
** chunk; `add_pieces` adds their sums.
**
** Arguments: rows, cols, nnz, row_ptr, values, x and y as in csr_scalar.cl
**   nchunks, npages, nfar, npieces  numbers of chunks; elements of the others
**   chunks   in:  for each chunk, and behind the last one: first row, first
**                 element, place of its pages or, inverted, of its upper bits,
**                 number of the piece or -1
**   near     in:  nnz ushorts
**   pages    in:  the first columns of pages
**   far      in:  upper bits
**   pieces   out: the sums of pieces
**   split    in:  add_pieces: for each row in pieces the row and its first
**                 piece, then the number of pieces
** NDRange: one dimension, local = WG; spmv: a work-group for STEPS chunks;
**   add_pieces: one for each row in pieces.
** Local memory: spmv CHUNK + CHUNK / 32 + WG elements where WG > 1;
**   add_pieces WG.
** Defines: REAL, FAR, WG, STEPS.
** Assumes: WG is a power of two, at most CHUNK.
**
** Lesson, against `csr_vector`: 2 bytes an index, not 4, and no row that
** others wait for. Products are coalesced whatever the lengths of rows, since a
** work-group takes elements first and asks for rows later; as many lanes add
** up a row as the rows of a chunk leave. Of 33 cells in local memory one is
** skipped, so that lanes at rows of 4, 8 or 16 elements meet in no bank. Sums
** have one order: the same bits each time. On CPUs, WG = 1, a work-item takes
** the rows of its chunks one by one.
*/
#include "../type/real.cl"
#include "meet.cl"
#ifndef FAR
#define FAR uchar /* of upper bits: uchar or ushort */
#endif
#ifndef WG
#define WG 128 /* work-group size */
#endif
#ifndef STEPS
#define STEPS 1 /* chunks of a work-group */
#endif
#define CHUNK 1024 /* as in hostcsr.c */
#define PAGE 256   /* as in hostcsr.c */
#define CELL(k) ((k) + (k) / 32)

/* A row's sum, or a piece's. */
#define PUT(i)                                                               \
  if (chunk.w < 0)                                                           \
    y[i] = sum;                                                              \
  else if (chunk.w < npieces)                                                \
    pieces[chunk.w] = sum;

/* The rows of a chunk one by one; each element k in its row. */
#define ROWS(column)                                                         \
  for (int i = row; i < row + n; i++) {                                      \
    const int from = chunk.w < 0 ? max(row_ptr[i] - first, 0) : 0;           \
    const int to = chunk.w < 0 ? min(row_ptr[i + 1] - first, count) : count; \
    REAL sum = 0;                                                            \
    for (int k = from; k < to; k++) {                                        \
      const uint code = near[first + k], j = column;                         \
      if (j >= (uint)cols) {                                                 \
        sum = NAN;                                                           \
        break;                                                               \
      }                                                                      \
      sum += values[first + k] * x[j];                                       \
    }                                                                        \
    PUT(i)                                                                   \
  }

/* The products of a chunk. Work-items load all their elements before they use
** the first one: beyond the last element they take it again, for cells that
** nothing reads. */
#define PRODUCTS(column)                                                     \
  _Pragma("unroll") for (int step = 0; step < CHUNK / WG; step++) {          \
    const int at = id + step * WG, k = min(at, count - 1);                   \
    const uint code = near[first + k], j = column;                           \
    const REAL a = values[first + k] * x[min(j, (uint)cols - 1)];            \
    product[CELL(at)] = j < (uint)cols ? a : (REAL)NAN;                      \
  }

#if WG == 1
#define ELEMENTS ROWS
#else
#define ELEMENTS PRODUCTS
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(int rows, int cols, int nnz, int nchunks, int npages, int nfar,
          int npieces, global const int4 *restrict chunks,
          global const int *restrict row_ptr,
          global const ushort *restrict near,
          global const int *restrict pages, global const FAR *restrict far,
          global const REAL *restrict values, global const REAL *restrict x,
          global REAL *restrict y, global REAL *restrict pieces)
{
#if WG > 1
  local REAL product[CELL(CHUNK)], partial[WG];
#endif
  const int id = get_local_id(0);
  for (int s = 0; s < STEPS; s++) {
    const int number = get_group_id(0) * STEPS + s;
    if (number >= nchunks)
      break;
    const int4 chunk = chunks[number], next = chunks[number + 1];
    const int first = clamp(chunk.y, 0, nnz);
    const int count = clamp(next.y - first, 0, min(CHUNK, nnz - first));
    const int row = clamp(chunk.x, 0, rows - 1);
    const int n = chunk.w < 0 ? max(min(next.x, rows) - row, 1) : 1;
    const bool any = WG == 1 || count > 0; /* a work-item writes empty rows */
    if (any && chunk.z >= 0) {
      global const int *page = pages + min(chunk.z, npages - PAGE);
      ELEMENTS(page[code / PAGE] + code % PAGE)
    } else if (any) {
      global const FAR *upper = far + min(~chunk.z, nfar - CHUNK);
      ELEMENTS(code | (uint)upper[k] << 16)
    }
#if WG > 1
    barrier(CLK_LOCAL_MEM_FENCE);
    int lanes = 1;
    while (2 * lanes * n <= WG)
      lanes *= 2;
    for (int base = 0; base < n; base += WG) { /* once for several lanes */
      const int i = row + base + id / lanes, lane = id & (lanes - 1);
      REAL sum = 0;
      if (i < row + n) {
        int from = 0, to = count;
        if (chunk.w < 0) {
          from = clamp(row_ptr[i] - first, 0, count);
          to = clamp(row_ptr[i + 1] - first, 0, count);
        }
        for (int k = from + lane; k < to; k += lanes)
          sum += product[CELL(k)];
      }
      if (lanes > 1) /* for all work-items or for none */
        sum = meet(partial, id, lanes, sum);
      if (i < row + n && lane == 0) {
        PUT(i)
      }
    }
    if (STEPS > 1)
      barrier(CLK_LOCAL_MEM_FENCE); /* the products are used */
#endif
  }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void add_pieces(int rows, int npieces, global const int2 *restrict split,
                global const REAL *restrict pieces, global REAL *restrict y)
{
  local REAL partial[WG];
  const int id = get_local_id(0);
  const int2 own = split[get_group_id(0)];
  const int end = min(split[get_group_id(0) + 1].y, npieces);
  REAL sum = 0;
  for (int k = max(own.y, 0) + id; k < end; k += WG)
    sum += pieces[k];
  sum = meet(partial, id, WG, sum);
  if (id == 0 && own.x >= 0 && own.x < rows)
    y[own.x] = sum;
}
