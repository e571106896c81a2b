/*
** convert.c - arrays in runs of components, and conversion to another element
** type.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <string.h>

#include "array.h"
#include "cl.h"
#include "object.h"
#include "process.h"
#include "type.h"

/*
** Steps `r` (zeroed at first) to the next run of array `a`, false after the
** last. Vectors of 3 come one by one, as a gap follows each.
*/
bool clsh_convert_nextrun(lua_State *L, const Array *a, Run *r) {
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

/* Converts a run; the number of components done, `n` if all went well. */
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

/* Raises what clsh_type_convert says of element `i` of array `from`. */
static void refuse(lua_State *L, const Type *t, Array *from, size_t i) {
  char element[128];
  const char *p = clsh_array_data(L, from);
  clsh_type_push(L, from->type, p + i * from->type->size);
  const char *wrong = clsh_type_convert(L, -1, t, element);
  clsh_error(L, "element %I of an Array %s: %s", (lua_Integer)i + 1,
             clsh_array_name(L, from),
             wrong != NULL ? wrong : "no such value");
}

/*
** Fills array `to` with the converted elements of `from`, which must have
** as many.
*/
void clsh_convert_array(lua_State *L, Array *to, Array *from) {
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
  while (clsh_convert_nextrun(L, to, &r) &&
         clsh_convert_nextrun(L, from, &s)) {
    size_t done = convertrun(t, p + r.offset, f, q + s.offset, r.n);
    if (done < r.n)
      refuse(L, t, from, (r.first + done) / t->width);
  }
}

/** Array:convert(type) -> array
 * A new array of the same shape with another element type. Integer types
 * take whole numbers in their range only; anything else raises, with its
 * index.
 */
static int array_convert(lua_State *L) {
  Array *a = clsh_array_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  clsh_convert_array(L, clsh_array_new(L, t, &a->shape), a);
  return 1;
}

void clsh_convert_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"convert", array_convert}, {NULL, NULL}};
  clsh_class_add(L, "Array", methods, NULL);
}
