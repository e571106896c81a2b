/*
** result.c - where the result of a collective goes: a new value, or that of
** the option into.
** SPDX-License-Identifier: MIT
*/
#include "cl/buffer.h"
#include "collective.h"

/* The option into at `opts`, which must hold what the result is. */
static int checkinto(lua_State *L, int opts, const Type *t, size_t count) {
  static const char *const names[] = {"into", NULL};
  clsh_option_check(L, opts, names, "mpi");
  if (clsh_option_push(L, opts, "into") == LUA_TNIL)
    return 0;
  int at = lua_gettop(L);
  const Buffer *b = clsh_buffer_test(L, at);
  const Array *a = clsh_array_test(L, at);
  if (a == NULL && b == NULL)
    clsh_error(L, "into: must be an open Array or Buffer; got %s",
               clsh_class_name(L, at));
  const Type *own = a != NULL ? a->type : b->type;
  size_t n = a != NULL ? a->shape.count : b->shape.count;
  if (own != t || n != count)
    clsh_error(L, "into: must hold %s; got %s",
               clsh_payload_text(L, ARRAY, t, count),
               clsh_payload_text(L, ARRAY, own, n));
  return at;
}

/* Pushes the place for a result of that type and shape. */
Result clsh_result_new(lua_State *L, int opts, Form form, const Type *t,
                       const Shape *s) {
  Result r = {{form, t, s->count, 0, 0}, checkinto(L, opts, t, s->count)};
  if (r.into != 0 && clsh_array_test(L, r.into) != NULL)
    r.p.array = r.into;
  else
    r.p = clsh_payload_new(L, form, t, s);
  return r;
}

/* Pushes the Array at `array` as a Buffer beside the one at `of`. */
static void pushbuffer(lua_State *L, int array, int of) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "cl");
  lua_getfield(L, -1, "buffer");
  lua_getfield(L, array, "type");
  lua_getfield(L, array, "shape");
  lua_pushvalue(L, array);
  lua_newtable(L);
  lua_getfield(L, of, "context");
  lua_setfield(L, -2, "context");
  lua_call(L, 4, 1);
}

/* Pushes the result of a call for `x`, the value at `of`, if there is one. */
int clsh_result_finish(lua_State *L, const Result *r, const Payload *x,
                       int of) {
  if (r->p.form == NONE)
    return 0;
  if (r->into != 0) {
    if (r->into != r->p.array)
      clsh_payload_tobuffer(L, r->p.array, r->into);
    lua_pushvalue(L, r->into);
  } else if (x->buffer)
    pushbuffer(L, r->p.array, of);
  else
    clsh_payload_finish(L, &r->p, r->p.array);
  return 1;
}

/* Where the memory of a result begins; it must not be that of `x`. */
void *clsh_result_place(lua_State *L, const Payload *x, const Payload *to) {
  char *p = clsh_payload_data(L, to);
  if (x->array == 0)
    return p;
  char *from = clsh_payload_data(L, x);
  size_t n = x->count * x->type->size, m = to->count * to->type->size;
  if (p < from + n && from < p + m)
    clsh_error(L, "into: must be other memory than x");
  return p;
}

/* The number at the top of the stack, in an Array of double. */
Payload clsh_result_double(lua_State *L, const Payload *x) {
  const Type *t = clsh_type_find("double", 6);
  Shape s = {1, {1}, 1};
  Payload p = clsh_payload_new(L, NUMBER, t, &s);
  clsh_array_convert(L, clsh_array_check(L, p.array),
                        clsh_array_check(L, x->array));
  return p;
}

/*
** Has the ranks agree on `x`, of a call that gives a value of shape `s`, from
** numbers in that form; numbers become double where one of them is. Pushes the
** place for the result on the ranks that get one.
*/
Result clsh_result_agree(lua_State *L, Call *c, int opts, Payload *x,
                         Form numbers, Shape s) {
  bool here = c->root == MPI_UNDEFINED || c->root == c->comm->rank;
  Result r = {{NONE, NULL, 0, 0, 0}, 0};
  if (here && x->form == ARRAY)
    r = clsh_result_new(L, opts, ARRAY, x->type, &s);
  clsh_agree_reach(L, c);
  if (x->form == NUMBER) {
    if (x->type != clsh_agree_type(c->terms.at[TYPE]))
      *x = clsh_result_double(L, x);
    if (here)
      r.p = clsh_payload_new(L, numbers, x->type, &s);
  }
  return r;
}
