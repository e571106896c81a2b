/*
** array.c - class Array: typed host memory, checked at every access. Other
** files add methods: arrayinit.c, arrayops.c.
** The memory is a Block, shared by reshaped arrays and by transfers under
** way: closing an array never pulls it from under the driver.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "array.h"
#include "process.h"

#define PAGE 4096 /* alignment of all but small blocks: good for DMA */

/*
** From so many bytes on memory comes from the system, which gives zeros: each
** page is made when it is first written, by several threads in a transfer.
*/
#define FRESH ((size_t)8 << 20)

static void freeblock(Block *b) {
  clsh_memory_give(b->bytes);
  if (b->bytes >= FRESH)
    munmap(b->data, b->bytes);
  else
    free(b->data);
}

/* Zeroed memory for an array, or NULL. */
static void *newdata(size_t bytes) {
  void *data;
  if (bytes >= FRESH) {
    data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return NULL;
#ifdef MADV_HUGEPAGE
    madvise(data, bytes, MADV_HUGEPAGE);
#endif
    return data;
  }
  if (posix_memalign(&data, bytes < PAGE ? 64 : PAGE, bytes) != 0)
    return NULL;
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

/* Blocks that were lent, and that no driver uses any more. */
static _Atomic(Block *) returned;

/* The driver has done with a block, whose reference becomes the list's. */
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

/* A zeroed block; NULL when there is no memory for it. */
static Block *newblock(size_t bytes) {
  Block *b = clsh_memory_fits(bytes) ? calloc(1, sizeof *b) : NULL;
  if (b == NULL)
    return NULL;
  b->data = newdata(bytes);
  if (b->data == NULL) {
    free(b);
    return NULL;
  }
  clsh_memory_take(bytes);
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

static const Class class;

/*
** Pushes an array without memory. To take an array's memory away early
** (unmap), set the data of its block to NULL: from then on each access raises.
*/
Array *clsh_array_box(lua_State *L, const Type *t, const Shape *s) {
  Array *a = clsh_class_new(L, &class, 0);
  a->type = t;
  a->shape = *s;
  return a;
}

/* A zeroed array, on the stack. */
Array *clsh_array_new(lua_State *L, const Type *t, const Shape *s) {
  Array *a = clsh_array_box(L, t, s);
  size_t bytes = s->count * t->size;
  clsh_array_sweep();
  a->block = newblock(bytes);
  if (a->block == NULL) {
    clsh_error_reclaim(L);
    a->block = newblock(bytes);
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

Array *clsh_array_test(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class);
}

Array *clsh_array_check(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
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
** The memory of the Array at `arg`, for a Buffer: clsh_array_giveback ends
** that. Meanwhile the Array raises.
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

/* Whether its memory may go before it is closed: that of b:map(). */
bool clsh_array_mapped(const Array *a) {
  return a->block != NULL && a->block->mapped;
}

/* The array that a field or a metamethod is asked of. */
static Array *self(lua_State *L) {
  Array *a = clsh_class_any(L, 1, &class);
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

/* The step of `pairs`: the index after the one at 2, and its element. */
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
  const Array *a = clsh_class_any(L, 1, &class);
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
  if (top == 2 &&
      lua_getfield(L, LUA_REGISTRYINDEX, "cl.setarray") != LUA_TNIL) {
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

/** Array:reshape(shape) -> array
 * The same memory under another shape with as many elements: writing one
 * of the two shows in the other.
 * Example:
 * local h = cl.array("int", 6, function(i) return i end)
 * print(h:reshape({2, 3}):at(2, 1)) --> 4
 */
static int array_reshape(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  Shape s;
  clsh_shape_other(L, a->type, &s);
  if (s.count != a->shape.count)
    return clsh_error_arg(L, 2, "an Array %s has %I elements, %s has %I",
                          clsh_array_name(L, a), (lua_Integer)a->shape.count,
                          clsh_shape_string(L, &s), (lua_Integer)s.count);
  Array *b = clsh_array_box(L, a->type, &s);
  clsh_array_data(L, a);
  b->block = a->block;
  b->block->refs++;
  return 1;
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
  Array *b = clsh_array_box(L, t, &s);
  clsh_array_data(L, a);
  b->block = a->block;
  b->block->refs++;
  return 1;
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
static int array_tobytes(lua_State *L) {
  const Array *a = clsh_array_check(L, 1);
  lua_pushlstring(L, clsh_array_data(L, a), clsh_array_bytes(a));
  return 1;
}

static int array_type(lua_State *L) {
  lua_pushstring(L, self(L)->type->name);
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

static const luaL_Reg meta[] = {{"__len", array_len},
                                {"__newindex", array_newindex},
                                {"__pairs", array_pairs},
                                {"__tostring", array_tostring},
                                {NULL, NULL}};
static const luaL_Reg methods[] = {
    {"as", array_as},     {"at", array_at},
    {"copy", array_copy}, {"reshape", array_reshape},
    {"set", array_set},   {"tobytes", array_tobytes},
    {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"bytes", array_bytes}, {"cols", array_extent}, {"rows", array_extent},
    {"shape", array_shape}, {"type", array_type},   {NULL, NULL}};

static const Class class = {"Array", sizeof(Array), methods,      fields,
                            meta,    array_index,   array_release};

void clsh_array_open(lua_State *L) {
  clsh_class_define(L, &class);
}
