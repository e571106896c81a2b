/*
** array.c - class Array: typed host memory, checked at every access; elements
** from Lua's values (a number, nested tables, a function, bytes) and back; and
** methods over all elements.
** The memory is a Block, shared by reshaped arrays and by transfers under
** way: closing an array never pulls it from under the driver.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "memory.h"

#define TURN 6.28318530717958647693 /* radians */
#define IOBYTES ((size_t)16 << 20)  /* read or written between two polls */
#define PAGE 4096 /* alignment of all but small blocks: good for DMA */

/*
** From this many bytes on memory comes from the system, as zeros: each page is
** made when it is first written, by several threads in a transfer.
*/
#define FRESH ((size_t)8 << 20)

static void freeblock(Block *b) {
  if (b->bytes >= FRESH) {
    clsh_memory_unmap(b->data, b->bytes);
    return;
  }
  clsh_memory_give(b->bytes);
  free(b->data);
}

/* Zeroed memory for an array, or NULL; old: see clsh_memory_map. */
static void *newdata(size_t bytes, bool *old) {
  void *data;
  if (bytes >= FRESH)
    return clsh_memory_map(bytes, old);
  if (!clsh_memory_fits(bytes) ||
      posix_memalign(&data, bytes < PAGE ? 64 : PAGE, bytes) != 0)
    return NULL;
  clsh_memory_take(bytes);
  return memset(data, 0, bytes);
}

/* Gives up one reference; the last one frees the memory. */
void clsh_array_unref(Block *b) {
  assert(b->refs > 0);
  if (--b->refs > 0)
    return;
  if (b->free != NULL)
    b->free(b);
  free(b);
}

/* Lent blocks that no driver uses any more. */
static _Atomic(Block *) returned;

/* Moves a block that the driver has done with to the list `returned`. */
void clsh_array_giveback(Block *b) {
  b->next = returned;
  while (!atomic_compare_exchange_weak(&returned, &b->next, b))
    continue;
}

/* Hands the blocks that were given back to their Arrays. */
void clsh_array_sweep(void) {
  Block *b = atomic_exchange(&returned, NULL);
  while (b != NULL) {
    Block *next = b->next;
    b->lent = false;
    clsh_array_unref(b);
    b = next;
  }
}

/* A block, zeroed unless `old`; NULL when there is no memory for it. */
static Block *newblock(size_t bytes, bool *old) {
  Block *b = calloc(1, sizeof *b);
  if (b == NULL)
    return NULL;
  b->data = newdata(bytes, old);
  if (b->data == NULL) {
    free(b);
    return NULL;
  }
  b->bytes = bytes;
  b->refs = 1;
  b->free = freeblock;
  return b;
}

static void array_release(Object *o) {
  Array *a = (Array *)o;
  if (a->block != NULL)
    clsh_array_unref(a->block);
  a->block = NULL;
}

/*
** Pushes an array without memory. To take an array's memory away early
** (unmap), set the data of its block to NULL: from then on each access raises.
*/
Array *clsh_array_box(lua_State *L, const Type *t, const Shape *s) {
  Array *a = clsh_class_new(L, &clsh_array_class, 0);
  a->type = t;
  a->shape = *s;
  return a;
}

/* An array on the stack, zeroed unless `old`: see clsh_memory_map. */
Array *clsh_array_unset(lua_State *L, const Type *t, const Shape *s,
                        bool *old) {
  Array *a = clsh_array_box(L, t, s);
  size_t bytes = (s->count > 0 ? s->count : 1) * t->size; /* never NULL */
  clsh_array_sweep();
  a->block = newblock(bytes, old);
  if (a->block == NULL) {
    clsh_error_reclaim(L);
    a->block = newblock(bytes, old);
  }
  if (a->block == NULL)
    clsh_error(L,
               "no host memory for an array of %I bytes (%s%s): %I are left; "
               "close others with h:close()",
               (lua_Integer)bytes, t->name, clsh_shape_string(L, s),
               (lua_Integer)clsh_memory_left());
  clsh_class_pressure(L, bytes);
  return a;
}

/* A zeroed array, on the stack. */
Array *clsh_array_new(lua_State *L, const Type *t, const Shape *s) {
  return clsh_array_unset(L, t, s, NULL);
}

size_t clsh_array_bytes(const Array *a) {
  return a->shape.count * a->type->size;
}

/* Pushes "float[4][5]". */
const char *clsh_array_name(lua_State *L, const Array *a) {
  lua_pushstring(L, a->type->name);
  clsh_shape_string(L, &a->shape);
  lua_concat(L, 2);
  return lua_tostring(L, -1);
}

/*
** The elements. Ask again after any call or allocation: a finalizer can close
** the array.
*/
void *clsh_array_data(lua_State *L, const Array *a) {
  if (a->head.closed)
    clsh_error(L, "this Array is closed");
  if (a->block == NULL || a->block->data == NULL)
    clsh_error(L, "the memory of this Array is no longer mapped");
  if (a->block->lent)
    clsh_array_sweep();
  if (a->block->lent)
    clsh_error(L,
               "the memory of this Array is a Buffer's (use_host_ptr) until "
               "that is closed; b:map() gives it as an Array");
  return a->block->data;
}

/*
** The memory of the Array at `arg`, lent to a Buffer: clsh_array_giveback ends
** the loan. Meanwhile the Array raises.
*/
Block *clsh_array_lend(lua_State *L, int arg) {
  const Array *a = clsh_array_check(L, arg);
  clsh_array_data(L, a);
  if (a->block->mapped)
    clsh_error_arg(L, arg,
                   "this Array is mapped memory, which another Buffer "
                   "cannot take; pass h:copy()");
  a->block->lent = true;
  a->block->refs++;
  return a->block;
}

/* Whether the memory is mapped, and may go before the Array is closed. */
bool clsh_array_mapped(const Array *a) {
  return a->block != NULL && a->block->mapped;
}

/* The array whose field or metamethod is called. */
static Array *self(lua_State *L) {
  Array *a = clsh_class_any(L, 1, &clsh_array_class);
  clsh_array_data(L, a);
  return a;
}

/* The index at `arg`, counted from 1, below `limit` when counted from 0. */
static size_t checkindex(lua_State *L, const Array *a, int arg, size_t limit) {
  int whole = 0;
  lua_Integer i = 0;
  if (lua_type(L, arg) == LUA_TNUMBER)
    i = lua_tointegerx(L, arg, &whole);
  if (whole && i >= 1 && (lua_Unsigned)i <= limit)
    return (size_t)(i - 1);
  clsh_error(L, "index %s of an Array %s: %s 1..%I", clsh_option_got(L, arg),
             clsh_array_name(L, a), whole ? "outside" : "no whole number in",
             (lua_Integer)limit);
  return 0;
}

/* The element with the flat number at `arg`. */
static void *slot(lua_State *L, const Array *a, int arg) {
  size_t i = checkindex(L, a, arg, a->shape.count);
  return (char *)clsh_array_data(L, a) + i * a->type->size;
}

static void store(lua_State *L, const Array *a, void *p, int value) {
  char element[128];
  const char *wrong = clsh_type_convert(L, value, a->type, element);
  if (wrong != NULL)
    clsh_error(L, "element of an Array %s: %s", clsh_array_name(L, a), wrong);
  memcpy(p, element, a->type->size);
}

/* The place behind the last element is nil: `ipairs` ends there. */
static int array_index(lua_State *L) {
  const Array *a = self(L);
  if (lua_type(L, 2) == LUA_TSTRING)
    return 0; /* neither method nor field */
  if (lua_isinteger(L, 2) &&
      (lua_Unsigned)lua_tointeger(L, 2) == a->shape.count + 1)
    lua_pushnil(L);
  else
    clsh_type_push(L, a->type, slot(L, a, 2));
  return 1;
}

/* The step of `pairs`: the index after the index at 2, and its element. */
static int nextelement(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  lua_Integer i = luaL_optinteger(L, 2, 0);
  if (i < 0 || (lua_Unsigned)i >= a->shape.count)
    return 0;
  lua_pushinteger(L, i + 1);
  lua_replace(L, 2);
  lua_settop(L, 2);
  clsh_type_push(L, a->type, slot(L, a, 2));
  return 2;
}

static int array_pairs(lua_State *L) {
  self(L);
  lua_pushcfunction(L, nextelement);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static int array_newindex(lua_State *L) {
  const Array *a = self(L);
  if (lua_type(L, 2) == LUA_TSTRING)
    return clsh_error(L, "an Array has no field '%s' to set",
                      lua_tostring(L, 2));
  store(L, a, slot(L, a, 2), 3);
  return 0;
}

static int array_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)self(L)->shape.count);
  return 1;
}

static int array_tostring(lua_State *L) {
  const Array *a = clsh_class_any(L, 1, &clsh_array_class);
  lua_pushfstring(L, "Array %s%s", clsh_array_name(L, a),
                  a->head.closed ? " (closed)" : "");
  return 1;
}

/* The element with one index for each dimension, from `arg` on. */
static void *place(lua_State *L, const Array *a, int arg, int given) {
  const Shape *s = &a->shape;
  size_t flat = 0;
  if (given != s->ndims)
    clsh_error(L, "an Array %s takes %d indexes; got %d",
               clsh_array_name(L, a), s->ndims, given);
  for (int d = 0; d < s->ndims; d++) {
    size_t i = checkindex(L, a, arg + d, s->dim[d]);
    flat = flat * s->dim[d] + i;
  }
  return (char *)clsh_array_data(L, a) + flat * a->type->size;
}

/** Array:at(i, j, ...) -> value
 * The element at these indexes, one for each dimension, from 1.
 * Example:
 * local h = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
 * print(h:at(2, 1)) --> 3
 */
static int array_at(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  clsh_type_push(L, a->type, place(L, a, 2, lua_gettop(L) - 1));
  return 1;
}

/** Array:set(i, j, ..., value) -> array
 * Sets the element at these indexes, one for each dimension, from 1. Without
 * indexes it sets all elements, to a number or to the elements of a Buffer, an
 * Array or an Expression, whose shape broadcasts: see Buffer:set.
 * Example:
 * local h = cl.array("int", {2, 2})
 * h:set(2, 1, 5)
 * print(h:at(2, 1), h[3]) --> 5 5
 */
static int array_set(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  int top = lua_gettop(L);
  if (top == 2 && clsh_hook_push(L, "set_array") != LUA_TNIL) {
    lua_insert(L, 1);
    lua_pushvalue(L, 2);
    lua_insert(L, 1); /* the Array is the result */
    lua_call(L, 2, 0);
    return 1;
  }
  lua_settop(L, top);
  store(L, a, place(L, a, 2, top > 2 ? top - 2 : 0), top);
  lua_settop(L, 1);
  return 1;
}

/* Pushes an array of the memory of `a`. */
static int share(lua_State *L, const Array *a, const Type *t, const Shape *s) {
  Array *b = clsh_array_box(L, t, s);
  clsh_array_data(L, a);
  b->block = a->block;
  b->block->refs++;
  return 1;
}

/** Array:reshape(shape) -> array
 * The same memory under another shape with the same number of elements: a
 * write to one of the two arrays shows in the other. A size -1 stands for
 * what the others leave: h:reshape{-1, 4} has rows of 4.
 * Example:
 * local h = cl.array("int", 6, function(i) return i end)
 * print(h:reshape({2, 3}):at(2, 1)) --> 4
 */
static int array_reshape(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  Shape s;
  clsh_shape_other(L, a->type, a->shape.count, &s);
  if (s.count != a->shape.count)
    return clsh_error_arg(L, 2, "an Array %s has %I elements, %s has %I",
                          clsh_array_name(L, a), (lua_Integer)a->shape.count,
                          clsh_shape_string(L, &s), (lua_Integer)s.count);
  return share(L, a, a->type, &s);
}

/** Array:as(type) -> array
 * The same memory as elements of another type, `a:as "float4"`: see Buffer:as.
 * Example:
 * local a = cl.array("float", 2, 1)
 * print(("%08x"):format(a:as "uint"[1])) --> 3f800000
 */
static int array_as(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  Shape s = a->shape;
  clsh_shape_retype(L, &s, a->type, t);
  return share(L, a, t, &s);
}

/** Array:copy() -> array
 * A new array of the same type and shape with the same elements.
 * Example:
 * local h = cl.array("int", 3, 1)
 * local other = h:copy()
 * other[1] = 9
 * print(h[1], other[1]) --> 1 9
 */
static int array_copy(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  Array *b = clsh_array_new(L, a->type, &a->shape);
  memcpy(clsh_array_data(L, b), clsh_array_data(L, a), clsh_array_bytes(a));
  return 1;
}

/** Array:tobytes() -> string
 * The bytes of all elements, in memory order. cl.array takes them back:
 * `cl.array(a.type, a.shape, a:tobytes())`.
 * Example:
 * local h = cl.array("ushort", 2, {0x4142, 0x4344})
 * print(h:tobytes()) --> BADC
 */
/** Array:tostring() -> string
 * The elements' bytes as they lie in memory.
 * Example: print(#cl.array("float", 3):tostring()) --> 12
 */
static int array_tobytes(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  lua_pushlstring(L, clsh_array_data(L, a), clsh_array_bytes(a));
  return 1;
}

static int array_shape(lua_State *L) {
  clsh_shape_push(L, &self(L)->shape);
  return 1;
}

static int array_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_array_bytes(self(L)));
  return 1;
}

/* h.rows, h.cols */
static int array_extent(lua_State *L) {
  return clsh_shape_pushextent(L, &self(L)->shape, clsh_class_field(L));
}

/*
** The i-th output, from 0, of splitmix64 with state `seed`: Steele, Lea,
** Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014),
** constants of Sebastiano Vigna's public-domain splitmix64.c. It needs no
** state, so each element has its number whatever the order of filling.
*/
uint64_t clsh_array_splitmix64(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Components by the run. A vector of 3 has a gap in each. */
typedef struct Run {
  size_t first;  /* number of its first component, gaps not counted */
  size_t n;      /* components, at most RUN */
  size_t offset; /* bytes from the array's first element */
} Run;

/*
** Steps `r` (zeroed at first) to the next run of array `a`, false after the
** last. Vectors of 3 come one by one, as a gap follows each.
*/
static bool nextrun(lua_State *L, const Array *a, Run *r) {
  const Type *t = a->type;
  size_t total = a->shape.count * t->width;
  r->first += r->n;
  if (r->first >= total)
    return false;
  clsh_poll(L);
  r->n = t->width == 3 ? 3 : total - r->first < RUN ? total - r->first : RUN;
  r->offset = t->width == 3 ? r->first / 3 * t->size : r->first * t->unit;
  return true;
}

/* Converts a run; returns the number of components done, `n` for all. */
static size_t convertrun(const Type *t, void *to, const Type *f,
                         const void *from, size_t n) {
  double x[RUN];
  int64_t v[RUN];
  size_t done = n;
  if (t->kind == 'f') {
    clsh_number_loadreals(f, from, n, x);
    clsh_number_storereals(t, x, n, to);
    return n;
  }
  if (f->kind == 'f') {
    clsh_number_loadreals(f, from, n, x);
    done = clsh_number_whole(t, x, n, v);
  } else {
    bool unsigned64 = f->kind == 'u' && f->unit == 8;
    clsh_number_loadintegers(f, from, n, v);
    for (size_t i = 0; i < n && done == n; i++)
      if (!clsh_number_fits(t, v[i], unsigned64 && v[i] < 0))
        done = i;
  }
  clsh_number_storeintegers(t, v, done, to);
  return done;
}

/* Raises: type `t` does not have the number of component `i` of `from`. */
static void refuse(lua_State *L, const Type *t, Array *from, size_t i) {
  const Type *f = from->type;
  size_t at = i / f->width, component = i % f->width;
  const char *p = clsh_array_data(L, from);
  double x;
  p += at * f->size + component * f->unit;
  clsh_number_loadreals(f, p, 1, &x);
  clsh_type_pushtext(L, f, p);
  const char *wrong = clsh_type_misfit(L, -1, t, x);
  if (f->width > 1)
    wrong = lua_pushfstring(L, "component %I: %s", (lua_Integer)component + 1,
                            wrong);
  clsh_error(L, "element %I of an Array %s: %s", (lua_Integer)at + 1,
             clsh_array_name(L, from), wrong);
}

/*
** Fills array `to` with the converted elements of `from`, which must have the
** same number of elements.
*/
void clsh_array_convert(lua_State *L, Array *to, Array *from) {
  const Type *t = to->type;
  const Type *f = from->type;
  if (to->shape.count != from->shape.count)
    clsh_error(L, "%s takes %I elements, an Array %s has %I",
               clsh_array_name(L, to), (lua_Integer)to->shape.count,
               clsh_array_name(L, from), (lua_Integer)from->shape.count);
  if (t->width != f->width)
    clsh_error(L, "%s cannot become %s: vectors of another width", f->name,
               t->name);
  char *p = clsh_array_data(L, to);
  const char *q = clsh_array_data(L, from);
  if (t == f) {
    memmove(p, q, clsh_array_bytes(to));
    return;
  }
  Run r = {0}, s = {0};
  assert(clsh_array_bytes(to) <= to->block->bytes &&
         clsh_array_bytes(from) <= from->block->bytes);
  while (nextrun(L, to, &r) && nextrun(L, from, &s)) {
    size_t done = convertrun(t, p + r.offset, f, q + s.offset, r.n);
    if (done < r.n)
      refuse(L, t, from, r.first + done);
  }
}

/* A place in an array: an index for each dimension, from 0. */
typedef struct Place {
  int depth; /* indexes that are set */
  size_t at[MAXDIMS];
  size_t flat; /* number of the element that comes next */
} Place;

/* Pushes "[3][2]", counted from 1. */
static const char *placestring(lua_State *L, const Place *w) {
  Shape s = {w->depth, {0}, 0};
  for (int d = 0; d < w->depth; d++)
    s.dim[d] = w->at[d] + 1;
  return clsh_shape_string(L, &s);
}

/* `n` elements, each `step`-th from number `first` on, counted from 0. */
typedef struct Range {
  size_t first, n, step;
} Range;

static void fill(lua_State *L, Array *a, int arg, const Range *r) {
  char element[128];
  size_t size = a->type->size;
  clsh_type_element(L, arg, a->type, element);
  char *p = (char *)clsh_array_data(L, a) + r->first * size;
  size_t done = 0;
  for (; done < r->n && (done == 0 || r->step > 1); done++)
    memcpy(p + done * r->step * size, element, size);
  for (; done < r->n; done *= 2) /* the filled part doubles */
    memcpy(p + done * size, p,
           (done < r->n - done ? done : r->n - done) * size);
}

/* Raises: the value on the top is no table of `expected` entries. */
static void badrow(lua_State *L, const Array *a, const Place *w,
                   lua_Integer expected) {
  int row = lua_gettop(L);
  const char *unit = w->depth < a->shape.ndims - 1 ? "rows" : "elements";
  if (w->depth == 0)
    lua_pushliteral(L, "the table");
  else if (w->depth == 1)
    lua_pushfstring(L, "row %I", (lua_Integer)w->at[0] + 1);
  else
    lua_pushfstring(L, "row %s", placestring(L, w));
  const char *which = lua_tostring(L, -1);
  if (lua_type(L, row) != LUA_TTABLE)
    clsh_error(L, "%s must be a table of %I %s; got %s", which, expected, unit,
               luaL_typename(L, row));
  lua_Integer got = (lua_Integer)lua_rawlen(L, row);
  const char *remedy = "";
  if (w->depth == 0 && a->shape.ndims > 1 &&
      got == (lua_Integer)a->shape.count)
    remedy = lua_pushfstring(
        L, "; for a list of all: the shape %I, then x:reshape(shape)", got);
  clsh_error(L, "%s must have %I %s; got %I%s", which, expected, unit, got,
             remedy);
}

static void storenext(lua_State *L, Array *a, Place *w) {
  char element[128];
  const char *wrong = clsh_type_convert(L, -1, a->type, element);
  if (wrong != NULL)
    clsh_error(L, "element %s: %s", placestring(L, w), wrong);
  char *p = clsh_array_data(L, a);
  memcpy(p + w->flat++ * a->type->size, element, a->type->size);
}

/*
** Sets the elements from the nested table at the stack's top. It goes as deep
** as the array has dimensions and no deeper, so a cycle cannot hold it.
*/
static void fromtable(lua_State *L, Array *a, Place *w) {
  int d = w->depth;
  size_t n = a->shape.dim[d];
  if (lua_type(L, -1) != LUA_TTABLE || lua_rawlen(L, -1) != n)
    badrow(L, a, w, (lua_Integer)n);
  clsh_poll(L);
  w->depth++;
  for (size_t i = 0; i < n; i++) {
    w->at[d] = i;
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    if (d == a->shape.ndims - 1)
      storenext(L, a, w);
    else
      fromtable(L, a, w);
    lua_pop(L, 1);
  }
  w->depth = d;
}

/* Steps to the next place in row-major order; false after the last. */
static bool step(const Shape *s, Place *w) {
  for (int d = s->ndims - 1; d >= 0; d--) {
    if (++w->at[d] < s->dim[d])
      return true;
    w->at[d] = 0;
  }
  return false;
}

static void fromfunction(lua_State *L, Array *a, int arg) {
  Place w = {a->shape.ndims, {0}, 0};
  if (a->shape.count == 0)
    return;
  do {
    lua_pushvalue(L, arg);
    for (int d = 0; d < w.depth; d++)
      lua_pushinteger(L, (lua_Integer)w.at[d] + 1);
    lua_call(L, w.depth, 1);
    storenext(L, a, &w);
    lua_pop(L, 1);
  } while (step(&a->shape, &w));
}

static void frombytes(lua_State *L, Array *a, int arg) {
  size_t len;
  const char *s = lua_tolstring(L, arg, &len);
  if (len != clsh_array_bytes(a))
    clsh_error_arg(L, arg, "must be a string of %I bytes for %s; got %I",
                   (lua_Integer)clsh_array_bytes(a), clsh_array_name(L, a),
                   (lua_Integer)len);
  memcpy(clsh_array_data(L, a), s, len);
}

/*
** Sets all elements from the value at `arg`: a number (or a vector's table
** for an array of them), an Array, a nested table, a function, or a string
** of raw bytes.
*/
void clsh_array_setall(lua_State *L, Array *a, int arg) {
  Place w = {0};
  Array *from = clsh_array_test(L, arg);
  arg = lua_absindex(L, arg);
  luaL_checkstack(L, 2 * MAXDIMS + LUA_MINSTACK, NULL);
  clsh_array_data(L, a);
  if (from != NULL) {
    clsh_array_convert(L, a, from);
    return;
  }
  switch (lua_type(L, arg)) {
  case LUA_TNUMBER:
    fill(L, a, arg, &(Range){0, a->shape.count, 1});
    break;
  case LUA_TSTRING:
    frombytes(L, a, arg);
    break;
  case LUA_TTABLE:
    lua_pushvalue(L, arg);
    fromtable(L, a, &w);
    lua_pop(L, 1);
    break;
  case LUA_TFUNCTION:
    fromfunction(L, a, arg);
    break;
  default:
    clsh_error_arg(
        L, arg,
        "must be a number, a table, a function, a string or an open Array; "
        "got %s",
        luaL_typename(L, arg));
  }
}

/* A whole number from `min` to `max` at `arg`, or `def`. */
static size_t optindex(lua_State *L, int arg, const char *name, size_t def,
                       size_t min, size_t max) {
  if (lua_isnil(L, arg))
    return def;
  if (!clsh_option_whole(L, arg, (lua_Integer)min, &def) || def > max)
    clsh_error_arg(L, arg, "%s must be a whole number in %I..%I; got %s", name,
                   (lua_Integer)min, (lua_Integer)max,
                   luaL_tolstring(L, arg, NULL));
  return def;
}

/** Array:fill(value [, first [, last [, step]]]) -> array
 * Sets all elements to one value, or each `step`-th (1) element from flat
 * index `first` (1) to `last` (the count); none if last < first. A vector
 * takes a table of its components or one number for all of them.
 * Example:
 * local h = cl.array("int", 6):fill(7)
 * h:fill(0, 1, 6, 2) -- elements 1, 3 and 5
 * print(h[1], h[2]) --> 0 7
 */
static int array_fill(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  size_t count = a->shape.count;
  lua_settop(L, 5);
  size_t first = optindex(L, 3, "first", 1, 1, count + 1);
  size_t last = optindex(L, 4, "last", count, 0, count);
  size_t step = optindex(L, 5, "step", 1, 1, PTRDIFF_MAX);
  size_t n = last < first ? 0 : (last - first) / step + 1;
  fill(L, a, 2, &(Range){first - 1, n, step});
  lua_settop(L, 1);
  return 1;
}

static void pushtable(lua_State *L, const Array *a, int d, size_t *flat) {
  size_t n = a->shape.dim[d];
  lua_createtable(L, n < INT_MAX ? (int)n : INT_MAX, 0);
  clsh_poll(L);
  for (size_t i = 0; i < n; i++) {
    if (d == a->shape.ndims - 1) {
      const char *p = clsh_array_data(L, a);
      clsh_type_push(L, a->type, p + (*flat)++ * a->type->size);
    } else {
      pushtable(L, a, d + 1, flat);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/** Array:table() -> table
 * The elements as a Lua table, nested once for each dimension.
 * Example:
 * local rows = cl.array("int", {2, 2}, {{1, 2}, {3, 4}}):table()
 * print(rows[2][1]) --> 3
 */
static int array_table(lua_State *L) {
  size_t flat = 0;
  const Array *a = clsh_array_check(L, 1);
  luaL_checkstack(L, 2 * MAXDIMS + LUA_MINSTACK, NULL);
  pushtable(L, a, 0, &flat);
  return 1;
}

/** cl.array(type, shape [, init]) -> Array
 * Typed host memory: `cl.array("float", {rows, cols})`, `cl.array("int", 9)`.
 * The elements begin at zero, or as `init` says: a number for all of them,
 * an Array of as many elements (converted), a nested table of rows, a
 * function(i, j) that returns each, or a string with the raw bytes.
 * h[i] reads and writes the i-th element, counted from 1 through all rows;
 * `ipairs` and `pairs` go through them in that order.
 * Of a ulong Lua has the 64 bits: 2^64 - 1 reads as -1, is written as -1 or
 * 0xffffffffffffffff, and math.ult compares. `show` prints it unsigned. A
 * float counts by its value: 2.0^63 is 2^63.
 * Example:
 * local h = cl.array("float", {2, 3}, function(i, j) return 10 * i + j end)
 * print(h:at(2, 3), h[1], #h) --> 23.0 11.0 6
 */
static int cl_array(lua_State *L) {
  const Type *t = clsh_type_check(L, 1);
  Shape s;
  clsh_shape_check(L, 2, t, &s);
  lua_settop(L, 3);
  Array *a = clsh_array_new(L, t, &s);
  if (!lua_isnil(L, 3))
    clsh_array_setall(L, a, 3);
  return 1;
}

/** Array:convert(type) -> array
 * A new array of the same shape with another element type. Integer types
 * take whole numbers in their range only; anything else raises, with its
 * index. A ulong counts from 0 to 2^64 - 1 here.
 * Example:
 * local h = cl.array("float", 3, 2)
 * print(h:convert("int").type) --> int
 */
static int array_convert(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  clsh_array_convert(L, clsh_array_new(L, t, &a->shape), a);
  return 1;
}

/* The number at `arg`, or `def`, as an element of the array's type. */
static void checkbound(lua_State *L, const Array *a, int arg, int def,
                       char *element) {
  lua_pushinteger(L, def);
  if (!lua_isnoneornil(L, arg)) {
    lua_pushvalue(L, arg);
    if (lua_type(L, -1) != LUA_TNUMBER)
      clsh_error_arg(L, arg, "must be a number; got %s", luaL_typename(L, -1));
  }
  const char *wrong = clsh_type_convert(L, -1, a->type, element);
  if (wrong != NULL)
    clsh_error_arg(L, arg, "%s", wrong);
}

/* Both bounds are included. With more than 2^32 values the modulo is biased by
** less than one in 2^64 / n, otherwise the multiplication by n in 2^32. */
static void randomintegers(lua_State *L, Array *a, uint64_t seed) {
  const Type *t = a->type;
  char element[2][128];
  int64_t lo, hi, x[RUN];
  checkbound(L, a, 3, 0, element[0]);
  checkbound(L, a, 4, 99, element[1]);
  clsh_number_loadintegers(t, element[0], 1, &lo);
  clsh_number_loadintegers(t, element[1], 1, &hi);
  if (t->kind == 'u' ? (uint64_t)lo > (uint64_t)hi : lo > hi)
    clsh_error_arg(L, 4, "upper bound below the lower one");
  uint64_t n = (uint64_t)hi - (uint64_t)lo + 1; /* 0 stands for 2^64 */
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    for (size_t i = 0; i < r.n; i++) {
      uint64_t u = clsh_array_splitmix64(seed, r.first + i);
      if (n != 0)
        u = n <= UINT32_MAX ? (u >> 32) * n >> 32 : u % n;
      x[i] = (int64_t)((uint64_t)lo + u);
    }
    clsh_number_storeintegers(t, x, r.n, p + r.offset);
  }
}

/* As many random bits as the type has in its mantissa: k / 2^bits is exact
** and below 1. Scaled, it may round up to `hi`, which is left out. */
static void randomreals(lua_State *L, Array *a, uint64_t seed) {
  const Type *t = a->type;
  int bits = t->unit == 2 ? 11 : t->unit == 4 ? 24 : 53;
  double unit = ldexp(1, -bits);
  char element[2][128];
  double lo, hi, x[RUN];
  checkbound(L, a, 3, 0, element[0]);
  checkbound(L, a, 4, 1, element[1]);
  clsh_number_loadreals(t, element[0], 1, &lo);
  clsh_number_loadreals(t, element[1], 1, &hi);
  double width = hi - lo;
  if (!isfinite(width) || width <= 0)
    clsh_error_arg(L, 4, "must be finite and above the lower bound");
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    for (size_t i = 0; i < r.n; i++) {
      uint64_t k = clsh_array_splitmix64(seed, r.first + i) >> (64 - bits);
      double step = (double)k * unit * width; /* apart: never fused */
      double v = lo + step;
      x[i] = clsh_number_round(t, v) < hi ? v : lo;
    }
    clsh_number_storereals(t, x, r.n, p + r.offset);
  }
}

/* The seed at index 2, and two numbers behind it. One table may hold all
** three, by the names "seed", `first` and `second`. */
static uint64_t checkseed(lua_State *L, const char *first, const char *second,
                          const char *what) {
  int whole;
  lua_settop(L, 4);
  if (lua_type(L, 2) == LUA_TTABLE) {
    lua_pushfstring(L, "seed %s %s", first, second);
    clsh_option_check(L, 2, lua_tostring(L, -1), what);
    clsh_option_push(L, 2, first);
    clsh_option_push(L, 2, second);
    clsh_option_push(L, 2, "seed");
    lua_replace(L, 2);
    lua_replace(L, 4);
    lua_replace(L, 3);
    lua_settop(L, 4);
  }
  lua_Integer seed = lua_tointegerx(L, 2, &whole);
  if (!whole || lua_type(L, 2) != LUA_TNUMBER)
    clsh_error_arg(L, 2,
                   "the seed must be a whole number; got %s; such as (7, 0, "
                   "1) or {seed = 7, %s = 0, %s = 1}",
                   clsh_option_got(L, 2), first, second);
  return (uint64_t)seed;
}

/** Array:random(seed [, lo, hi]) -> array
 * Fills with uniform random numbers, the same for the same seed on every
 * machine: reals lo <= x < hi (0 and 1 by default), for integer types whole
 * numbers lo..hi, both included (0 and 99). Element i is drawn from the
 * i-th output of splitmix64. All three may be given by name:
 * `h:random{seed = 7, hi = 2}`.
 * Example:
 * local h = cl.array("float", 1000):random(1, -1, 1)
 * print(h[1] >= -1 and h[1] < 1) --> true
 */
static int array_random(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  uint64_t seed = checkseed(L, "lo", "hi", "Array:random");
  if (a->type->kind == 'f')
    randomreals(L, a, seed);
  else
    randomintegers(L, a, seed);
  lua_settop(L, 1);
  return 1;
}

/** Array:normal(seed [, mean, deviation]) -> array
 * Fills with normal random numbers (0 and 1 by default), by the method of Box
 * and Muller: element i from outputs 2 i and 2 i + 1 of splitmix64. All three
 * may be given by name: `h:normal{seed = 7, deviation = 2}`. No number is
 * further from the mean than 8.6 deviations. Buffer:normal makes other
 * numbers.
 * Example:
 * local h = cl.array("float", 1000):normal(1, 10, 0.1)
 * print(h:min() > 9 and h:max() < 11) --> true
 */
static int array_normal(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = a->type;
  uint64_t seed = checkseed(L, "mean", "deviation", "Array:normal");
  double mean = luaL_optnumber(L, 3, 0), deviation = luaL_optnumber(L, 4, 1);
  if (t->kind != 'f')
    return clsh_error(L,
                      "normal: the type must be half, float or double; "
                      "got %s; such as h:convert \"float\"",
                      t->name);
  if (!isfinite(mean) || !isfinite(deviation) || deviation < 0)
    return clsh_error(L,
                      "normal: mean and deviation must be finite, "
                      "deviation >= 0; got %f and %f",
                      mean, deviation);
  char *p = clsh_array_data(L, a);
  for (Run r = {0}; nextrun(L, a, &r);) {
    double x[RUN];
    for (size_t i = 0; i < r.n; i++) {
      uint64_t at = 2 * (uint64_t)(r.first + i);
      uint64_t k = clsh_array_splitmix64(seed, at) >> 11;
      uint64_t m = clsh_array_splitmix64(seed, at + 1) >> 11;
      double radius = sqrt(-2 * log(ldexp((double)(k + 1), -53)));
      x[i] = mean + deviation * radius * cos(TURN * ldexp((double)m, -53));
    }
    clsh_number_storereals(t, x, r.n, p + r.offset);
  }
  lua_settop(L, 1);
  return 1;
}

/* Raises unless two arrays have equal counts of elements, of one width. */
static void checkalike(lua_State *L, const Array *a, const Array *b) {
  if (a->shape.count != b->shape.count || a->type->width != b->type->width)
    clsh_error(L, "an Array %s cannot be compared with an Array %s",
               clsh_array_name(L, a), clsh_array_name(L, b));
}

/* Index of the first pair that differs in a bit, or the count. */
static size_t differing(lua_State *L, const Array *a, const Array *b) {
  const Type *t = a->type;
  const char *p = clsh_array_data(L, a);
  const char *q = clsh_array_data(L, b);
  size_t used = (size_t)t->unit * t->width; /* the gap may hold anything */
  for (Run r = {0}; nextrun(L, a, &r);) {
    if (memcmp(p + r.offset, q + r.offset, r.n * t->unit) == 0)
      continue;
    size_t i = r.first / t->width;
    while (memcmp(p + i * t->size, q + i * t->size, used) == 0)
      i++;
    return i;
  }
  return a->shape.count;
}

/** Array:equal(other) -> true, or false and an index
 * Whether two arrays of the same type hold the same bits, and the index of the
 * first element that differs. 0.0 and -0.0 differ, a NaN equals itself.
 * Example:
 * local a, b = cl.array("int", 3, 1), cl.array("int", 3, 1)
 * b[2] = 5
 * print(a:equal(b)) --> false 2
 */
static int array_equal(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  checkalike(L, a, b);
  if (a->type != b->type)
    return clsh_error_arg(L, 2, "must be an Array of %s; got %s",
                          a->type->name, b->type->name);
  size_t i = differing(L, a, b);
  lua_pushboolean(L, i == a->shape.count);
  if (i == a->shape.count)
    return 1;
  lua_pushinteger(L, (lua_Integer)i + 1);
  return 2;
}

/* |x - y|; where either is NaN it is infinite. */
static double distance(double x, double y) {
  double d = x == y ? 0 : fabs(x - y);
  return d >= 0 ? d : HUGE_VAL;
}

/* The distances of a run; exact for integers of one type. */
static void distances(const Type *t, const void *p, const Type *u,
                      const void *q, size_t n, double *d) {
  double x[RUN], y[RUN];
  int64_t v[RUN], w[RUN];
  if (t == u && t->kind != 'f') {
    clsh_number_loadintegers(t, p, n, v);
    clsh_number_loadintegers(t, q, n, w);
    for (size_t i = 0; i < n; i++) {
      uint64_t a = (uint64_t)v[i], b = (uint64_t)w[i];
      bool above = t->kind == 'u' ? a > b : v[i] > w[i];
      d[i] = (double)(above ? a - b : b - a);
    }
    return;
  }
  clsh_number_loadreals(t, p, n, x);
  clsh_number_loadreals(u, q, n, y);
  for (size_t i = 0; i < n; i++)
    d[i] = distance(x[i], y[i]);
}

/** Array:max_diff(other) -> difference, index
 * The greatest absolute difference of two arrays with as many elements, and
 * the first element that has it; 0 and nil for arrays without elements. A NaN
 * on either side counts as infinite, so a wrong result never passes for a
 * small difference.
 * Example:
 * local a, b = cl.array("float", 3, 1), cl.array("float", 3, 1)
 * b[2] = 1.5
 * print(a:max_diff(b)) --> 0.5 2
 */
static int array_max_diff(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  double d[RUN], worst = -1;
  size_t at = 0;
  checkalike(L, a, b);
  const char *p = clsh_array_data(L, a);
  const char *q = clsh_array_data(L, b);
  Run r = {0}, s = {0};
  while (nextrun(L, a, &r) && nextrun(L, b, &s)) {
    distances(a->type, p + r.offset, b->type, q + s.offset, r.n, d);
    for (size_t i = 0; i < r.n; i++)
      if (d[i] > worst) {
        worst = d[i];
        at = (r.first + i) / a->type->width;
      }
  }
  lua_pushnumber(L, a->shape.count > 0 ? worst : 0);
  if (a->shape.count == 0)
    return 1;
  lua_pushinteger(L, (lua_Integer)at + 1);
  return 2;
}

/* The distances of NaN from NaN are 0 where both are expected to be. */
static void forgivenan(const Type *t, const void *p, const Type *u,
                       const void *q, size_t n, double *d) {
  double x[RUN], y[RUN];
  if (t->kind != 'f' || u->kind != 'f')
    return;
  clsh_number_loadreals(t, p, n, x);
  clsh_number_loadreals(u, q, n, y);
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i]) && isnan(y[i]))
      d[i] = 0;
}

enum { MOSTWORST = 16 };

/* The worst elements so far, in falling order of their error. */
typedef struct Worst {
  double error[MOSTWORST];
  size_t at[MOSTWORST], n;
} Worst;

static void addworst(Worst *w, double error, size_t at) {
  size_t i = w->n < MOSTWORST ? w->n++ : MOSTWORST;
  while (i > 0 && w->error[i - 1] < error) {
    i--;
    if (i + 1 < MOSTWORST) {
      w->error[i + 1] = w->error[i];
      w->at[i + 1] = w->at[i];
    }
  }
  if (i < MOSTWORST) {
    w->error[i] = error;
    w->at[i] = at;
  }
}

/** Array:differences(expected, part, least) -> count, list, error
 * Compares number by number: x is right where |x - e| <= part * max(|e|,
 * least), and where both are NaN. Gives the count of wrong numbers, the up to
 * 16 worst of these by their places (vectors count component by component),
 * and the greatest |x - e| / max(|e|, least) of all numbers, at least 0.
 * Example:
 * local got = cl.array("float", 4, {1, 2, 3, 4})
 * local right = cl.array("float", 4, {1, 2, 3.5, 4})
 * local count, worst = got:differences(right, 1e-4, 0)
 * print(count, worst[1]) --> 1 3
 */
static int array_differences(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Array *b = clsh_array_check(L, 2);
  double part = luaL_checknumber(L, 3), least = luaL_checknumber(L, 4);
  double d[RUN], y[RUN], error = 0;
  Worst worst = {.n = 0};
  lua_Integer wrong = 0;
  checkalike(L, a, b);
  const char *p = clsh_array_data(L, a);
  const char *q = clsh_array_data(L, b);
  Run r = {0}, s = {0};
  while (nextrun(L, a, &r) && nextrun(L, b, &s)) {
    distances(a->type, p + r.offset, b->type, q + s.offset, r.n, d);
    forgivenan(a->type, p + r.offset, b->type, q + s.offset, r.n, d);
    clsh_number_loadreals(b->type, q + s.offset, r.n, y);
    for (size_t i = 0; i < r.n; i++) {
      double unit = fmax(fabs(y[i]), least);
      double e = unit > 0 && isfinite(unit) ? d[i] / unit : HUGE_VAL;
      if (d[i] == 0)
        continue;
      error = fmax(error, e);
      if (!(e <= part)) {
        wrong++;
        addworst(&worst, e, r.first + i);
      }
    }
  }
  lua_pushinteger(L, wrong);
  lua_createtable(L, (int)worst.n, 0);
  for (size_t i = 0; i < worst.n; i++) {
    lua_pushinteger(L, (lua_Integer)worst.at[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushnumber(L, error);
  return 3;
}

/** Array:swap() -> array
 * Reverses the byte order of every number in place.
 * Example:
 * local h = cl.array("ushort", 1, 1)
 * print(h:swap()[1]) --> 256
 */
static int array_swap(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  size_t unit = a->type->unit;
  size_t bytes = clsh_array_bytes(a);
  char *p = clsh_array_data(L, a);
  for (size_t i = 0; i < bytes; i += unit) {
    if (i % IOBYTES == 0)
      clsh_poll(L);
    for (size_t j = 0; j < unit / 2; j++) {
      char c = p[i + j];
      p[i + j] = p[i + unit - 1 - j];
      p[i + unit - 1 - j] = c;
    }
  }
  lua_settop(L, 1);
  return 1;
}

typedef struct Summary {
  double lo, hi, sum;
  int64_t ilo, ihi, high; /* of integers, exact, as is the sum in two */
  uint64_t low;
  size_t n, nan, inf;
  bool whole;
} Summary;

static void addreals(Summary *s, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    s->nan += isnan(x[i]) != 0;
    s->inf += isinf(x[i]) != 0;
    if (!isfinite(x[i]))
      continue;
    s->lo = s->n == 0 || x[i] < s->lo ? x[i] : s->lo;
    s->hi = s->n == 0 || x[i] > s->hi ? x[i] : s->hi;
    s->sum += x[i];
    s->n++;
    s->whole = s->whole && x[i] == rint(x[i]);
  }
}

static void addintegers(Summary *s, const int64_t *x, size_t n, bool sign) {
  for (size_t i = 0; i < n; i++) {
    bool less = sign ? x[i] < s->ilo : (uint64_t)x[i] < (uint64_t)s->ilo;
    bool more = sign ? x[i] > s->ihi : (uint64_t)x[i] > (uint64_t)s->ihi;
    s->ilo = s->n == 0 || less ? x[i] : s->ilo;
    s->ihi = s->n == 0 || more ? x[i] : s->ihi;
    s->high += sign ? x[i] >> 32 : (int64_t)((uint64_t)x[i] >> 32);
    s->low += (uint64_t)x[i] & UINT32_MAX;
    s->n++;
  }
}

static void setbound(lua_State *L, const Type *t, double x, int64_t i,
                     const char *name) {
  if (t->kind == 'f')
    lua_pushnumber(L, x);
  else
    lua_pushinteger(L, i);
  lua_setfield(L, -2, name);
}

/** Array:summary() -> {count, min, max, mean, nan, inf, whole}
 * min, max and mean of the finite components, nil where there are none; nan
 * and inf: how many NaN and infinities there are; whole: whether all finite
 * components are whole numbers. min and max of a ulong are integers with its
 * 64 bits, as its elements are.
 * Example:
 * local s = cl.array("float", 3, {1, 2, 6}):summary()
 * print(s.min, s.mean, s.max, s.nan) --> 1.0 3.0 6.0 0
 */
static int array_summary(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  const Type *t = a->type;
  const char *p = clsh_array_data(L, a);
  Summary s = {.whole = true};
  for (Run r = {0}; nextrun(L, a, &r);) {
    double x[RUN];
    int64_t i[RUN];
    if (t->kind == 'f') {
      clsh_number_loadreals(t, p + r.offset, r.n, x);
      addreals(&s, x, r.n);
    } else {
      clsh_number_loadintegers(t, p + r.offset, r.n, i);
      addintegers(&s, i, r.n, t->kind == 'i');
    }
  }
  lua_createtable(L, 0, 7);
  clsh_field_integer(L, "count", s.n + s.nan + s.inf);
  clsh_field_integer(L, "nan", s.nan);
  clsh_field_integer(L, "inf", s.inf);
  clsh_field_boolean(L, "whole", s.whole);
  if (s.n == 0)
    return 1;
  setbound(L, t, s.lo, s.ilo, "min");
  setbound(L, t, s.hi, s.ihi, "max");
  s.sum += (double)(s.high + (int64_t)(s.low >> 32)) * 0x1p32 +
           (double)(s.low & UINT32_MAX);
  lua_pushnumber(L, s.sum / (double)s.n);
  lua_setfield(L, -2, "mean");
  return 1;
}

static FILE *checkfile(lua_State *L, int arg) {
  luaL_Stream *s = luaL_testudata(L, arg, LUA_FILEHANDLE);
  if (s == NULL || lua_rawlen(L, arg) < sizeof *s)
    clsh_error_arg(L, arg, "must be a file; got %s", luaL_typename(L, arg));
  if (s->closef == NULL)
    clsh_error_arg(L, arg, "this file is closed");
  return s->f;
}

/* The bytes of the first n elements; all of them without `arg`. */
static size_t checkbytes(lua_State *L, const Array *a, int arg) {
  if (lua_isnoneornil(L, arg))
    return clsh_array_bytes(a);
  size_t n = clsh_shape_count(L, arg, "number of elements", 0);
  if (n > a->shape.count)
    clsh_error_arg(L, arg, "%I elements of an Array %s", (lua_Integer)n,
                   clsh_array_name(L, a));
  return n * a->type->size;
}

/* Moves the bytes that the arguments name between the array and the file. */
static int transferfile(lua_State *L, bool write) {
  const Array *a = clsh_array_check(L, 1);
  FILE *f = checkfile(L, 2);
  size_t bytes = checkbytes(L, a, 3);
  char *p = clsh_array_data(L, a);
  for (size_t done = 0, n; done < bytes; done += n) {
    size_t part = bytes - done < IOBYTES ? bytes - done : IOBYTES;
    clsh_poll(L);
    errno = 0;
    n = write ? fwrite(p + done, 1, part, f) : fread(p + done, 1, part, f);
    if (n < part)
      return clsh_error(L, "%s after %I of %I bytes",
                        ferror(f) && errno != 0 ? strerror(errno)
                        : write                 ? "writing stopped"
                                                : "the file ends",
                        (lua_Integer)(done + n), (lua_Integer)bytes);
  }
  lua_settop(L, 1);
  return 1;
}

/** Array:readfile(file [, n]) -> array
 * Fills the array, or its first n elements, with raw bytes from where the
 * Lua file handle stands. Raises when the file ends before.
 * Example:
 * local f <close> = assert(io.tmpfile())
 * cl.array("int", 3, 4):writefile(f)
 * f:seek("set")
 * print(cl.array("int", 3):readfile(f)[3]) --> 4
 */
static int array_readfile(lua_State *L) {
  return transferfile(L, false);
}

/** Array:writefile(file [, n]) -> array
 * Writes the raw bytes of the array, or of its first n elements, to a Lua
 * file handle. Raises when the system does not take them.
 * Example:
 * local f <close> = assert(io.tmpfile())
 * cl.array("float", 10, 1):writefile(f)
 * print(f:seek()) --> 40
 */
static int array_writefile(lua_State *L) {
  return transferfile(L, true);
}

static const luaL_Reg meta[] = {{"__len", array_len},
                                {"__newindex", array_newindex},
                                {"__pairs", array_pairs},
                                {"__tostring", array_tostring},
                                {NULL, NULL}};
static const luaL_Reg methods[] = {{"as", array_as},
                                   {"at", array_at},
                                   {"convert", array_convert},
                                   {"copy", array_copy},
                                   {"equal", array_equal},
                                   {"fill", array_fill},
                                   {"max_diff", array_max_diff},
                                   {"differences", array_differences},
                                   {"normal", array_normal},
                                   {"random", array_random},
                                   {"readfile", array_readfile},
                                   {"reshape", array_reshape},
                                   {"set", array_set},
                                   {"summary", array_summary},
                                   {"swap", array_swap},
                                   {"table", array_table},
                                   {"tobytes", array_tobytes},
                                   {"tostring", array_tobytes},
                                   {"writefile", array_writefile},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {{"bytes", array_bytes},
                                  {"cols", array_extent},
                                  {"rows", array_extent},
                                  {"shape", array_shape},
                                  {NULL, NULL}};

static const Field plain[] = {{"type", 't', offsetof(Array, type)}, {0}};
const Class clsh_array_class = {"Array", sizeof(Array), methods,      fields,
                                meta,    array_index,   array_release};

void clsh_array_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"array", cl_array}, {NULL, NULL}};
  clsh_class_define(L, &clsh_array_class);
  clsh_class_addfields(L, &clsh_array_class, plain);
  luaL_setfuncs(L, functions, 0);
}
