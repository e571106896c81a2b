/*
** values.c - the values that MPI moves, as memory: an Array's own, host memory
** for a Buffer, an Array made for a number or a string. MPI counts elements by
** an int, up to 2^31 - 1: where that is too few, a type of MPI stands for a
** piece of many elements.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "cl/buffer.h"
#include "comm.h"

/* The number of a type in messages, and the type of a number. */
int clsh_values_number(const Type *t) {
  return (int)(t - clsh_type_all);
}

/* The type of one component. MPI has none for half: it moves as two bytes. */
MPI_Datatype clsh_values_unit(const Type *t) {
  int i = t->unit == 1 ? 0 : t->unit == 2 ? 1 : t->unit == 4 ? 2 : 3;
  const MPI_Datatype reals[] = {MPI_BYTE, MPI_UINT16_T, MPI_FLOAT, MPI_DOUBLE};
  const MPI_Datatype whole[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
                                MPI_INT64_T};
  const MPI_Datatype natural[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                                  MPI_UINT64_T};
  return t->kind == 'f' ? reals[i] : t->kind == 'i' ? whole[i] : natural[i];
}

/* The components of `count` elements, with the gaps of vectors of 3. */
size_t clsh_values_units(const Type *t, size_t count) {
  return count * (t->size / t->unit);
}

/* `n` pieces and `rest` components behind them, as one type. */
static MPI_Datatype pieces(MPI_Datatype unit, size_t size, int n, int rest) {
  MPI_Datatype piece, all;
  MPI_Type_contiguous((int)PIECE, unit, &piece);
  int lengths[] = {n, rest};
  MPI_Aint places[] = {0, (MPI_Aint)((size_t)n * PIECE * size)};
  MPI_Datatype types[] = {piece, unit};
  MPI_Type_create_struct(rest > 0 ? 2 : 1, lengths, places, types, &all);
  MPI_Type_free(&piece);
  return all;
}

/* MPI's type and count for the elements, to end by clsh_values_free(). */
Bulk clsh_values_bulk(const Type *t, size_t count) {
  size_t n = clsh_values_units(t, count);
  MPI_Datatype unit = clsh_values_unit(t);
  if (n <= PIECE)
    return (Bulk){unit, (int)n, false};
  Bulk b = {pieces(unit, t->unit, (int)(n / PIECE), (int)(n % PIECE)), 1,
            true};
  MPI_Type_commit(&b.type);
  return b;
}

/* Frees the type of MPI; commands under way with the type go on. */
void clsh_values_free(Bulk *b) {
  if (b->own)
    MPI_Type_free(&b->type);
}

static Payload of(const Type *t, size_t count, Form form, int array) {
  return (Payload){form, t, count, array, false};
}

static const Type *type(const char *name) {
  return clsh_type_find(name, strlen(name));
}

/* The number at `arg` in an Array of one element. */
static Payload ofnumber(lua_State *L, int arg) {
  const Type *t = type(lua_isinteger(L, arg) ? "long" : "double");
  Shape s = {1, {1}, 1};
  Payload p = clsh_values_new(L, NUMBER, t, &s);
  clsh_type_convert(L, arg, t, clsh_values_data(L, &p));
  return p;
}

static Payload ofstring(lua_State *L, int arg) {
  size_t n;
  const char *text = lua_tolstring(L, arg, &n);
  Shape s = {1, {n}, n};
  Payload p = clsh_values_new(L, STRING, type("char"), &s);
  memcpy(clsh_values_data(L, &p), text, n);
  return p;
}

/* The Buffer at `arg` as an Array of its shape; `read`: with its content. */
static Payload ofbuffer(lua_State *L, int arg, bool read) {
  const Buffer *b = clsh_buffer_check(L, arg);
  Payload p = of(b->type, b->shape.count, ARRAY, 0);
  p.buffer = true;
  if (read) {
    lua_getfield(L, arg, "read");
    lua_pushvalue(L, arg);
    lua_call(L, 1, 1);
  } else
    clsh_array_new(L, b->type, &b->shape);
  p.array = lua_gettop(L);
  return p;
}

/*
** The value at `arg`; `read`: its content is wanted. May push an Array, which
** is to stay on the stack.
*/
Payload clsh_values_get(lua_State *L, int arg, bool read) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_type(L, arg) == LUA_TNUMBER)
    return ofnumber(L, arg);
  if (lua_type(L, arg) == LUA_TSTRING)
    return ofstring(L, arg);
  if (clsh_buffer_test(L, arg) != NULL)
    return ofbuffer(L, arg, read);
  const char *name = clsh_class_name(L, arg);
  if (strcmp(name, "Array") != 0 && strcmp(name, "Buffer") != 0)
    clsh_error_arg(L, arg,
                   "must be an Array, a Buffer, a number or a string; got %s",
                   name);
  if (strcmp(name, "Buffer") == 0)
    clsh_buffer_check(L, arg); /* is closed */
  const Array *a = clsh_array_check(L, arg);
  clsh_array_data(L, a);
  return of(a->type, a->shape.count, ARRAY, arg);
}

/* Pushes an Array for a new value; for an empty string it has one element. */
Payload clsh_values_new(lua_State *L, Form form, const Type *t,
                        const Shape *s) {
  Shape one = {1, {1}, 1};
  clsh_array_new(L, t, s->count > 0 ? s : &one);
  return of(t, s->count, form, lua_gettop(L));
}

void *clsh_values_data(lua_State *L, const Payload *p) {
  return p->array != 0 ? clsh_array_data(L, clsh_array_check(L, p->array))
                       : NULL;
}

const Shape *clsh_values_shape(lua_State *L, const Payload *p) {
  return &clsh_array_check(L, p->array)->shape;
}

/* Writes the Array at index `array` to the Buffer at `buffer`. */
void clsh_values_tobuffer(lua_State *L, int array, int buffer) {
  lua_getfield(L, buffer, "write");
  lua_pushvalue(L, buffer);
  lua_pushvalue(L, array);
  lua_call(L, 2, 0);
}

/* Pushes the received value, for the value at `arg`. */
void clsh_values_finish(lua_State *L, const Payload *p, int arg) {
  const char *data = clsh_values_data(L, p);
  if (p->form == NUMBER)
    clsh_type_push(L, p->type, data);
  else if (p->form == STRING)
    lua_pushlstring(L, data, p->count);
  else {
    if (p->buffer)
      clsh_values_tobuffer(L, p->array, arg);
    lua_pushvalue(L, arg);
  }
}

/* Pushes a value in words: "10 x float", "a number". */
const char *clsh_values_text(lua_State *L, Form form, const Type *t,
                             size_t count) {
  if (form == NUMBER)
    return lua_pushliteral(L, "a number");
  if (form == STRING)
    return lua_pushfstring(L, "a string of %I bytes", (LUAI_UACINT)count);
  if (form == NONE)
    return lua_pushliteral(L, "nothing");
  return lua_pushfstring(L, "%I x %s", (LUAI_UACINT)count, t->name);
}
