/*
** bufferpart.c - the part of a Buffer that a transfer moves.
** Every size is checked here, overflow-safe, before the driver sees it.
** SPDX-License-Identifier: MIT
*/
#include "buffer.h"
#include "cl.h"
#include "object.h"
#include "type.h"

static size_t optcount(lua_State *L, int opts, const char *name, size_t def) {
  if (clsh_option_push(L, opts, name) != LUA_TNIL)
    def = clsh_option_count(L, -1, name);
  lua_pop(L, 1);
  return def;
}

/* Two numbers {a, b} of option `name`, each at least 1. */
static bool checkpair(lua_State *L, int opts, const char *name, size_t *a,
                      size_t *b) {
  if (clsh_option_push(L, opts, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
    clsh_error(L, "%s: must be a list of two numbers", name);
  lua_rawgeti(L, -1, 1);
  *a = clsh_option_count(L, -1, name);
  lua_rawgeti(L, -2, 2);
  *b = clsh_option_count(L, -1, name);
  lua_pop(L, 3);
  return true;
}

/* A rectangle of a two-dimensional buffer from {row, col}, {rows, cols}. */
static void rectangle(lua_State *L, const Buffer *b, size_t row, size_t col,
                      size_t rows, size_t cols, Region *r) {
  const Shape *s = &b->shape;
  if (row > s->dim[0] || col > s->dim[1] || rows > s->dim[0] - row + 1 ||
      cols > s->dim[1] - col + 1)
    clsh_error(L, "rectangle %Ix%I at (%I, %I) leaves the buffer of %Ix%I",
               (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)row,
               (LUAI_UACINT)col, (LUAI_UACINT)s->dim[0],
               (LUAI_UACINT)s->dim[1]);
  size_t size = b->type->size;
  r->offset = b->shift + ((row - 1) * b->ld + (col - 1)) * size;
  r->width = cols * size;
  r->rows = rows;
  r->pitch = b->ld * size;
  r->shape = (Shape){2, {rows, cols}, rows * cols};
  if (rows > 1 && r->width == r->pitch) { /* whole rows without gaps */
    r->width *= rows;
    r->rows = 1;
  }
}

/* Elements first .. first + count - 1 in memory order. */
static void linear(lua_State *L, const Buffer *b, size_t first, size_t count,
                   Region *r) {
  size_t n = b->bytes / b->type->size;
  if (first > n || count > n - first + 1)
    clsh_error(L, "%I elements from %I on leave the buffer's 1..%I",
               (LUAI_UACINT)count, (LUAI_UACINT)first, (LUAI_UACINT)n);
  *r = (Region){.offset = b->shift + (first - 1) * b->type->size,
                .width = count * b->type->size,
                .rows = 1,
                .pitch = count * b->type->size,
                .shape = {1, {count}, count}};
}

/* The elements that first and count name; false if neither is given. */
bool clsh_bufferpart_elements(lua_State *L, const Buffer *b, int opts,
                              Region *r) {
  size_t n = b->bytes / b->type->size;
  size_t first = optcount(L, opts, "first", 0);
  size_t count = optcount(L, opts, "count", 0);
  size_t from = first != 0 ? first : 1;
  size_t rest = from <= n ? n - from + 1 : 1;
  linear(L, b, from, count != 0 ? count : rest, r);
  return first != 0 || count != 0;
}

/* The part that first/count or from/size name; the whole buffer if none. */
void clsh_bufferpart_check(lua_State *L, const Buffer *b, int opts,
                           Region *r) {
  const Shape *s = &b->shape;
  size_t row = 1, col = 1, rows = 1, cols = 1;
  bool from = checkpair(L, opts, "from", &row, &col);
  bool size = checkpair(L, opts, "size", &rows, &cols);
  bool elements = clsh_bufferpart_elements(L, b, opts, r);
  if (elements && (from || size))
    clsh_error(L, "first/count and from/size name two different parts");
  if (elements)
    return;
  if ((from || size) && s->ndims != 2)
    clsh_error(L, "from, size: a rectangle needs two dimensions, not %d",
               s->ndims);
  if (s->ndims != 2) {
    r->shape = *s;
    return;
  }
  if (!size) {
    rows = row <= s->dim[0] ? s->dim[0] - row + 1 : 1;
    cols = col <= s->dim[1] ? s->dim[1] - col + 1 : 1;
  }
  rectangle(L, b, row, col, rows, cols, r);
}

/* The part of `d` that takes a copy of region `r`: option `to`. */
void clsh_bufferpart_target(lua_State *L, const Buffer *d, int opts,
                            const Region *r, Region *to) {
  size_t row = 1, col = 1;
  int type = clsh_option_push(L, opts, "to");
  if (type == LUA_TNUMBER) {
    linear(L, d, clsh_option_count(L, -1, "to"), r->shape.count, to);
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  checkpair(L, opts, "to", &row, &col);
  if (d->shape.ndims == 2 && r->shape.ndims == 2)
    rectangle(L, d, row, col, r->shape.dim[0], r->shape.dim[1], to);
  else if (type != LUA_TNIL)
    clsh_error(L, "to: {row, column} needs a rectangle of a Buffer with two "
                  "dimensions in one with two");
  else if (d->ld == d->shape.dim[d->shape.ndims - 1])
    linear(L, d, 1, r->shape.count, to);
  else
    clsh_error(L, "to: a matrix with gaps takes rectangles, not a list");
}

/* Whether two regions of one piece of memory meet (bounding ranges). */
bool clsh_bufferpart_meet(const Buffer *b, const Region *r, const Buffer *d,
                          const Region *to) {
  size_t a1 = b->offset - b->shift + r->offset;
  size_t b1 = d->offset - d->shift + to->offset;
  size_t a2 = a1 + (r->rows - 1) * r->pitch + r->width;
  size_t b2 = b1 + (to->rows - 1) * to->pitch + to->width;
  return b->root == d->root && a1 < b2 && b1 < a2;
}
