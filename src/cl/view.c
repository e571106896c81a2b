/*
** view.c - the methods of class Buffer that look at parts of its memory.
** SPDX-License-Identifier: MIT
*/

#include "buffer.h"
#include "cl.h"
#include "context.h"
#include "object.h"
#include "type.h"

/* The distance of elements at which views may begin. */
static size_t viewstep(const Buffer *b) {
  size_t align = clsh_context_limits(b->context)->align;
  size_t step = align;
  while (step % b->type->size != 0)
    step += align;
  return step / b->type->size;
}

/** Buffer:view(first, last) -> Buffer
 * Elements `first` to `last` (from 1, in memory order) as a one-dimensional
 * buffer that shares memory. The device sets where a view may begin: a
 * wrong start is refused with the nearest starts that work. The view keeps
 * the buffer's memory alive.
 */
static int buffer_view(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  size_t n = b->bytes / b->type->size;
  size_t first = clsh_shape_count(L, 2, "first");
  size_t last = clsh_shape_count(L, 3, "last");
  if (last < first || last > n)
    return clsh_error(L, "view: %I..%I leaves the elements 1..%I",
                      (LUAI_UACINT)first, (LUAI_UACINT)last, (LUAI_UACINT)n);
  size_t step = viewstep(b);
  if (((first - 1) * b->type->size + b->offset) %
          clsh_context_limits(b->context)->align !=
      0)
    return clsh_error(L,
                      "view: a view must start at element 1, %I, %I, ... "
                      "(%I bytes apart), not at %I; nearest: %I or %I",
                      (LUAI_UACINT)(1 + step), (LUAI_UACINT)(1 + 2 * step),
                      (LUAI_UACINT)(step * b->type->size), (LUAI_UACINT)first,
                      (LUAI_UACINT)((first - 1) / step * step + 1),
                      (LUAI_UACINT)(((first - 1) / step + 1) * step + 1));
  clsh_context_alive(L, b->context);
  Buffer *v = clsh_buffer_newview(L, 1);
  size_t count = last - first + 1, bytes = count * b->type->size;
  cl_buffer_region region = {b->offset + (first - 1) * b->type->size, bytes};
  v->shape = (Shape){1, {count}, count};
  v->ld = count;
  v->bytes = v->reach = bytes;
  v->offset = region.origin;
  v->shift = 0;
  cl_int err;
  v->handle = clCreateSubBuffer(b->root, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                &region, &err);
  clsh_error_check(L, err, "clCreateSubBuffer");
  return 1;
}

/** Buffer:matrix(first, rows, cols [, ld]) -> Buffer
 * A matrix in the memory of a buffer: its rows begin at elements first,
 * first + ld, ... (from 1, in memory order; ld is cols by default). It shares
 * memory and may begin at any element. A matrix that begins between the
 * device's alignments serves reads, writes, fills, copies and gemm; kernels
 * take it by way of cl.base. A matrix of a view may reach beyond the view, to
 * the end of the buffer. See also A:sub.
 */
static int buffer_matrix(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  size_t first = clsh_shape_count(L, 2, "first");
  size_t rows = clsh_shape_count(L, 3, "rows");
  size_t cols = clsh_shape_count(L, 4, "cols");
  size_t ld = lua_isnoneornil(L, 5) ? cols : clsh_shape_count(L, 5, "ld");
  size_t size = b->type->size, n = b->reach / size;
  if (ld < cols)
    return clsh_error(L, "matrix: ld = %I is less than the %I columns",
                      (LUAI_UACINT)ld, (LUAI_UACINT)cols);
  if (first > n || cols > n - first + 1 ||
      rows - 1 > (n - first + 1 - cols) / ld)
    return clsh_error(L,
                      "matrix: %I rows of %I elements, %I apart, from element "
                      "%I on leave the buffer's 1..%I",
                      (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)ld,
                      (LUAI_UACINT)first, (LUAI_UACINT)n);
  clsh_context_alive(L, b->context);
  Buffer *v = clsh_buffer_newview(L, 1);
  v->shape = (Shape){2, {rows, cols}, rows * cols};
  v->ld = ld;
  v->bytes = ((rows - 1) * ld + cols) * size;
  v->offset += (first - 1) * size;
  v->shift += (first - 1) * size;
  v->reach -= (first - 1) * size;
  clRetainMemObject(b->handle);
  v->handle = b->handle;
  return 1;
}

/* Rows, columns and distance of rows, in bytes; a vector is one row. */
typedef struct Extent {
  size_t rows, width, pitch;
} Extent;

static Extent extent(const Buffer *b) {
  if (b->shape.ndims != 2 || b->ld == b->shape.dim[1])
    return (Extent){1, b->bytes, b->bytes};
  size_t size = b->type->size;
  return (Extent){b->shape.dim[0], b->shape.dim[1] * size, b->ld * size};
}

/*
** Whether `d`, which begins `ahead` bytes behind `b` and has rows as far
** apart, has an element in common with it. Its rows may run past the end of
** a row of `b` and on at the beginning of the next one.
*/
static bool interleave(const Extent *b, const Extent *d, size_t ahead) {
  size_t row = ahead / b->pitch, col = ahead % b->pitch;
  return (row < b->rows && col < b->width) ||
         (row + 1 < b->rows && col + d->width > b->pitch);
}

/** Buffer:overlaps(other) -> boolean
 * Whether two buffers have elements in common: the same one, or views that
 * meet. Matrices of one leading dimension may lie side by side; of others
 * the gaps between rows count as theirs.
 */
static int buffer_overlaps(lua_State *L) {
  const Buffer *b = clsh_buffer_check(L, 1);
  const Buffer *d = clsh_buffer_check(L, 2);
  if (b->offset > d->offset) {
    const Buffer *swap = b;
    b = d;
    d = swap;
  }
  bool meet = b->root == d->root && d->offset < b->offset + b->bytes;
  Extent eb = extent(b), ed = extent(d);
  if (meet && eb.pitch == ed.pitch)
    meet = interleave(&eb, &ed, d->offset - b->offset);
  lua_pushboolean(L, meet);
  return 1;
}

void clsh_view_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"matrix", buffer_matrix},
                                     {"overlaps", buffer_overlaps},
                                     {"view", buffer_view},
                                     {NULL, NULL}};
  clsh_class_add(L, "Buffer", methods, NULL);
}
