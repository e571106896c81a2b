/*
** arg.c - kernel arguments: Lua values checked against the kernel's own
** signature, and values of an explicit type for unknown signatures.
** SPDX-License-Identifier: MIT
*/
#include <stdarg.h>
#include <string.h>

#include "buffer.h"
#include "flight.h"
#include "image.h"
#include "kernel.h"

#define MAXVALUE 1024 /* bytes of one argument by value */
#define SLACK 128     /* zeros behind it: drivers may read on */

/* An argument with an explicit type: cl.float(2), cl.bytes(s). */
typedef struct Value {
  Object head;
  const Type *type; /* NULL: bytes of a struct */
  size_t size;
  char data[MAXVALUE + SLACK];
} Value;

/* Local memory: cl.localmem(type, n). */
typedef struct Local {
  Object head;
  const Type *type;
  size_t count;
  size_t bytes;
} Local;

/* cl.any(b), a buffer for any pointer; cl.base(b): the buffer's whole memory.
** User value 1 is the Buffer. */
typedef struct Any {
  Object head;
  Buffer *buffer;
  bool base;
} Any;

static const Class value_class, local_class, any_class;

static int value_tostring(lua_State *L) {
  Value *v = clsh_class_any(L, 1, &value_class);
  const char *end = v->head.closed ? " (closed)" : "";
  if (v->type != NULL) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 0; i < v->type->width; i++) {
      luaL_addstring(&b, i > 0 ? ", " : "");
      clsh_type_pushtext(L, v->type, v->data + i * v->type->unit);
      luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lua_pushfstring(L, v->type->width > 1 ? "%s (%s)%s" : "%s %s%s",
                    v->type->name, lua_tostring(L, -1), end);
  } else {
    lua_pushfstring(L, "%I bytes%s", (LUAI_UACINT)v->size, end);
  }
  return 1;
}

static int local_tostring(lua_State *L) {
  Local *l = clsh_class_any(L, 1, &local_class);
  lua_pushfstring(L, "local %s[%I]%s", l->type->name, (LUAI_UACINT)l->count,
                  l->head.closed ? " (closed)" : "");
  return 1;
}

/* v.data: its bytes as a string */
static int value_data(lua_State *L) {
  Value *v = clsh_class_check(L, 1, &value_class);
  lua_pushlstring(L, v->data, v->size);
  return 1;
}

static const luaL_Reg value_meta[] = {{"__tostring", value_tostring},
                                      {NULL, NULL}};
static const luaL_Reg value_fields[] = {{"data", value_data}, {NULL, NULL}};
static const Field value_plain[] = {{"type", 't', offsetof(Value, type)}, {0}};
static const luaL_Reg local_meta[] = {{"__tostring", local_tostring},
                                      {NULL, NULL}};
static const Field local_plain[] = {{"count", 'n', offsetof(Local, count)},
                                    {"type", 't', offsetof(Local, type)},
                                    {0}};
static const Field any_plain[] = {
    {"base", 'b', offsetof(Any, base)}, {"buffer", 'u', 1}, {0}};
static const Class value_class = {
    "Value", sizeof(Value), NULL, value_fields, value_meta, NULL, NULL};
static const Class local_class = {"Local",    sizeof(Local), NULL, NULL,
                                  local_meta, NULL,          NULL};
static const Class any_class = {"Any", sizeof(Any), NULL, NULL,
                                NULL,  NULL,        NULL};

/* cl.float(x), cl.int(x), cl.float4(a, b, c, d) ...: upvalue 1 is the Type.
** Their help text stands at cl.bytes. */
static int cl_typed(lua_State *L) {
  const Type *t = lua_touserdata(L, lua_upvalueindex(1));
  int n = lua_gettop(L);
  if (n != 1 && n != t->width)
    return clsh_error(L, "cl.%s takes %d number%s; got %d", t->name,
                      (int)t->width, t->width == 1 ? "" : "s", n);
  if (n > 1) { /* components, as a table */
    lua_createtable(L, n, 0);
    lua_insert(L, 1);
    for (int i = n; i >= 1; i--)
      lua_rawseti(L, 1, i);
  }
  Value *v = clsh_class_new(L, &value_class, 0);
  clsh_type_element(L, 1, t, v->data);
  v->type = t;
  v->size = t->size;
  return 1;
}

/** cl.bytes(string) -> Value
 * A kernel argument by value of a struct or typedef, as its bytes (string.pack
 * makes them): as many bytes as the struct has. Numbers of a definite type
 * come from functions with the names of the types: cl.int(3), cl.float(2),
 * cl.float4(1, 2, 3, 4). Only a kernel with an unknown signature (programs
 * from binaries on some drivers) needs them. `v.data`: its bytes.
 * Example:
 * local k = cl.kernel [[
 * typedef struct { int n; float a; } Pair;
 * kernel void put(Pair p, global float *x) { *x = p.n * p.a; }]]
 * local x = cl.buffer("float", 1)
 * k:range(1)(cl.bytes(string.pack("<i4f", 3, 0.5)), x)
 * print(x:read()[1]) --> 1.5
 */
static int cl_bytes(lua_State *L) {
  size_t len;
  const char *s = luaL_checklstring(L, 1, &len);
  if (len == 0 || len > MAXVALUE)
    return clsh_error_arg(L, 1, "a value must have 1 to %d bytes; got %I",
                          MAXVALUE, (LUAI_UACINT)len);
  Value *v = clsh_class_new(L, &value_class, 0);
  memcpy(v->data, s, len);
  v->size = len;
  return 1;
}

/** cl.localmem(type, n) -> Local
 * Local memory for a `local T *` parameter: n elements of a type, for each
 * work-group. Each launch checks that all local memory of the kernel fits
 * the device's local_mem_size. `l.type`, `l.count`: its type and n.
 * Example:
 * local k = cl.kernel [[
 * kernel void reverse(global int *x, local int *tile) {
 *   int i = get_local_id(0), n = get_local_size(0);
 *   tile[i] = x[i];
 *   barrier(CLK_LOCAL_MEM_FENCE);
 *   x[i] = tile[n - 1 - i];
 * }]]
 * local x = cl.buffer("int", 4, function(i) return i end)
 * k:range(4, 4)(x, cl.localmem("int", 4))
 * print(x:read()[1]) --> 4
 */
static int cl_localmem(lua_State *L) {
  const Type *t = clsh_type_check(L, 1);
  size_t n = clsh_shape_count(L, 2, "n", 1);
  if (n > ((size_t)1 << 40) / t->size)
    return clsh_error_arg(L, 2,
                          "no device has local memory for %I elements of %s",
                          (LUAI_UACINT)n, t->name);
  Local *l = clsh_class_new(L, &local_class, 0);
  l->type = t;
  l->count = n;
  l->bytes = n * t->size;
  return 1;
}

static int wrap(lua_State *L, bool base) {
  Buffer *b = clsh_buffer_check(L, 1);
  Any *a = clsh_class_newowned(L, &any_class, 1, 1);
  a->buffer = b;
  a->base = base;
  return 1;
}

/** cl.any(buffer) -> Any
 * Hands a buffer to a pointer parameter of another element type, a struct say.
 * A pointer to void, char or uchar takes any buffer, and one to a vector a
 * buffer of its components, without it. The value `cl.null` is the pointer
 * NULL. See also Buffer:as. `a.buffer`: the Buffer.
 * Example:
 * local k = cl.kernel "kernel void bits(global uint *x) { *x = 0x3f800000; }"
 * local x = cl.buffer("float", 1)
 * k:range(1)(cl.any(x)) -- a float buffer for a uint parameter
 * print(x:read()[1]) --> 1.0
 * local bias = cl.kernel [[
 * kernel void bias(global float *x, global const float *b) {
 *   x[0] += b ? b[0] : 7;
 * }]]
 * bias:range(1)(x, cl.null)
 * print(x:read()[1]) --> 8.0
 */
static int cl_any(lua_State *L) {
  return wrap(L, false);
}

/** cl.base(buffer) -> Any
 * Hands a kernel the whole memory behind a view. The view's first element is
 * element `b.start` of that memory, counted from 0. For kernels that take an
 * offset, and for views such as A:sub(2, 2, 3, 3), whose first element has an
 * address that the device accepts in no pointer.
 * Example:
 * local k = cl.kernel "kernel void put(global int *x, int at) { x[at] = 9; }"
 * local A = cl.buffer("int", {4, 4}, 0)
 * local B = A:sub(2, 2)
 * k:range(1)(cl.base(B), B.start)
 * print(A:read():at(2, 2)) --> 9
 */
static int cl_base(lua_State *L) {
  return wrap(L, true);
}

/* A launch's arguments so far. */
typedef struct Args {
  const Kernel *kernel;
  const Queue *queue; /* of the launch */
  cl_ulong local;     /* bytes of local arguments */
  cl_uint constants;  /* constant arguments */
} Args;

/* Raises for argument i (from 0) of the kernel. */
static int badarg(lua_State *L, const Args *a, int i, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  const Param *p = &a->kernel->params[i];
  bool spaced = p->known && p->space != 'p';
  lua_pushfstring(
      L, "%s: argument %d%s%s%s (%s%s%s): %s", a->kernel->name, i + 1,
      p->name[0] != '\0' ? " '" : "", p->name, p->name[0] != '\0' ? "'" : "",
      spaced ? clsh_kernel_spacename(p->space) : "", spaced ? " " : "",
      p->known ? p->type : "type unknown", text);
  clsh_error_push(L, CL_SUCCESS, NULL, lua_tostring(L, -1));
  clsh_field_string(L, "kernel", a->kernel->name);
  clsh_field_integer(L, "arg", i + 1);
  return lua_error(L);
}

static void setarg(lua_State *L, const Args *a, int i, size_t size,
                   const void *p) {
  cl_int err = clSetKernelArg(a->kernel->handle, (cl_uint)i, size, p);
  if (err != CL_SUCCESS)
    badarg(L, a, i, "clSetKernelArg: %s (%d), %I bytes", clsh_error_name(err),
           (int)err, (LUAI_UACINT)size);
}

/* The buffer at `idx`, itself or inside cl.any(); NULL: no buffer. */
static Buffer *tobuffer(lua_State *L, const Args *a, int i, int idx,
                        const Any **how) {
  const Any *wrapped = clsh_class_test(L, idx, &any_class);
  Buffer *b = wrapped != NULL ? wrapped->buffer : clsh_buffer_test(L, idx);
  *how = wrapped;
  bool closed = b != NULL ? ((Object *)b)->closed
                          : strcmp(clsh_class_name(L, idx), "Buffer") == 0;
  if (closed)
    badarg(L, a, i, "this Buffer is closed");
  return b;
}

static void checkconstant(lua_State *L, Args *a, int i, size_t bytes) {
  const Limits *l = &a->kernel->context->limits;
  if (bytes > l->constant_mem)
    badarg(L, a, i, "%I bytes; the device's constant memory takes %I",
           (LUAI_UACINT)bytes, (LUAI_UACINT)l->constant_mem);
  if (++a->constants > l->constant_args)
    badarg(L, a, i, "the device takes %d constant arguments",
           (int)l->constant_args);
}

/*
** Raises where a pointer cannot be one to `bytes` bytes of elements `t`. A
** vector and its components are the same memory, if they come out even, and so
** are a struct and its bytes. Kernels take raw memory as char or uchar, and
** elements that OpenCL C has no type for as bits, ushort or uchar.
*/
static void checkelements(lua_State *L, const Args *a, int i, const Param *p,
                          const Type *t, size_t bytes, const char *what) {
  const Type *v = p->value;
  bool raw = v != NULL && v->size == 1 && p->space != 'l';
  if (!p->known || p->anything || v == t || raw)
    return;
  if (v == NULL && p->size != 0 && t->kind == 'u' && t->size == 1 &&
      bytes % p->size == 0)
    return;
  bool bits = v != NULL && v->kind == 'u' && v->unit == t->unit &&
              clsh_type_isstored(t);
  if (v == NULL || !(bits || clsh_type_alike(v, t)) || v->width == 3 ||
      t->width == 3)
    badarg(L, a, i, "%s%s%sgot %s of %s%s", v != NULL ? "must hold " : "",
           v != NULL ? v->name : "", v != NULL ? "; " : "", what, t->name,
           p->space != 'l' ? "; to pass it anyway, write cl.any(b)" : "");
  if (bytes % v->size != 0)
    badarg(L, a, i, "got %s of %I %s, which are no whole number of %s", what,
           (LUAI_UACINT)(bytes / t->size), t->name, v->name);
}

static void setmem(lua_State *L, Args *a, int i, const Param *p, Buffer *b,
                   const Any *how) {
  bool base = how != NULL && how->base;
  if (how == NULL || base)
    checkelements(L, a, i, p, b->type, b->bytes, "a Buffer");
  if (!clsh_context_shares(b->context, a->kernel->context))
    badarg(L, a, i, "the Buffer is of another context (device)");
  if (p->space == 'c')
    checkconstant(L, a, i, base ? b->shift + b->reach : b->bytes);
  cl_mem handle = base ? b->handle : clsh_buffer_handle(L, b);
  if (handle == NULL)
    badarg(L, a, i,
           "this view begins %I elements into its memory, where the device "
           "lets no pointer begin; pass cl.base(b) and skip b.start elements "
           "in the kernel",
           (LUAI_UACINT)clsh_buffer_start(b));
  setarg(L, a, i, sizeof handle, &handle);
  clsh_buffer_use(b, a->queue);
  clsh_flight_arg(p->name, 'b', b->type, &b->shape, NULL);
}

/*
** Whether a parameter of unknown type is a pointer: a driver takes NULL for
** pointers alone. Bytes passed for a pointer would be used as an address.
*/
static bool ispointer(const Args *a, int i, size_t size) {
  return size == sizeof(cl_mem) &&
         clSetKernelArg(a->kernel->handle, (cl_uint)i, size, NULL) ==
             CL_SUCCESS;
}

/* Whether a value is cl.null. */
static bool isnull(lua_State *L, int idx) {
  return lua_islightuserdata(L, idx) && lua_touserdata(L, idx) == NULL;
}

static void setnull(lua_State *L, const Args *a, int i, const Param *p) {
  if (p->known && p->space == 'l')
    badarg(L, a, i, "must be cl.localmem(type, n); got cl.null");
  if (!p->known && !ispointer(a, i, sizeof(cl_mem)))
    badarg(L, a, i, "the parameter is no pointer; got cl.null");
  setarg(L, a, i, sizeof(cl_mem), NULL);
  clsh_flight_arg(p->name, 'n', NULL, NULL, NULL);
}

static void setlocal(lua_State *L, Args *a, int i, const Param *p,
                     const Local *l) {
  if (p->value != NULL)
    checkelements(L, a, i, p, l->type, l->bytes, "local memory");
  a->local += l->bytes;
  const Context *c = a->kernel->context;
  cl_ulong own = clsh_kernel_local(a->kernel);
  if (a->local + own > clsh_context_localroom(c, own, 0))
    badarg(L, a, i, "%I bytes of local memory in all; the device has %I",
           (LUAI_UACINT)(a->local + own), (LUAI_UACINT)c->limits.local_mem);
  setarg(L, a, i, l->bytes, NULL);
  clsh_flight_arg(p->name, 'l', l->type, &(Shape){1, {l->count}, l->count},
                  NULL);
}

static const char *badpointer(lua_State *L, const Param *p, int idx) {
  if (p->space == 'l')
    return lua_pushfstring(L, "must be cl.localmem(\"%s\", n); got %s",
                           p->value != NULL ? p->value->name : "float",
                           clsh_class_name(L, idx));
  return lua_pushfstring(L, "must be a Buffer%s; got %s",
                         lua_isnil(L, idx) ? ", or cl.null for NULL" : "",
                         clsh_class_name(L, idx));
}

/* Sets a parameter by value; an unknown type needs cl.T(x). */
static void setvalue(lua_State *L, Args *a, int i, const Param *p, int idx) {
  char data[128];
  const Value *v = clsh_class_test(L, idx, &value_class);
  if (v != NULL) {
    if (p->value != NULL && v->type != NULL && p->value != v->type)
      badarg(L, a, i, "must be %s; got cl.%s", p->value->name, v->type->name);
    if (!p->known && ispointer(a, i, v->size))
      badarg(L, a, i,
             "must be a Buffer or local memory: the parameter is a pointer");
    size_t size = p->value != NULL ? p->value->size : p->size;
    if (size != 0 && v->size != size)
      badarg(L, a, i, "must have %I bytes; got %I", (LUAI_UACINT)size,
             (LUAI_UACINT)v->size);
    setarg(L, a, i, v->size, v->data);
    clsh_flight_arg(p->name, 'v', v->type, NULL, v->data);
    return;
  }
  if (p->size != 0 && p->value == NULL)
    badarg(L, a, i,
           "must be cl.bytes(s), or prog:struct \"name\"{field = ...}, a "
           "struct of %I bytes; got %s",
           (LUAI_UACINT)p->size, clsh_class_name(L, idx));
  if (p->value == NULL)
    badarg(L, a, i,
           "the type is unknown: pass cl.int(x), cl.float(x) ... or "
           "cl.bytes(s); got %s",
           clsh_class_name(L, idx));
  const char *wrong = clsh_type_convert(L, idx, p->value, data);
  if (wrong != NULL)
    badarg(L, a, i, "%s", wrong);
  setarg(L, a, i, p->value->size, data);
  clsh_flight_arg(p->name, 'v', p->value, NULL, data);
}

/* Raises unless the value is an open object of a class of images. */
static void checkobject(lua_State *L, const Args *a, int i, int idx,
                        const char *class, const Context *c) {
  if (c == NULL && strcmp(clsh_class_name(L, idx), class) == 0)
    badarg(L, a, i, "this %s is closed", class);
  if (c != NULL && !clsh_context_shares(c, a->kernel->context))
    badarg(L, a, i, "the %s is of another context (device)", class);
}

static void setimage(lua_State *L, const Args *a, int i, const Param *p,
                     int idx) {
  Shape s;
  const Image *img = clsh_image_test(L, idx);
  const Kind *kind = clsh_image_kind(p->type);
  if (p->known && kind == NULL)
    badarg(L, a, i, "there are no such images here; use a Buffer");
  checkobject(L, a, i, idx, "Image", img != NULL ? img->context : NULL);
  if (img == NULL || (p->known && img->kind != kind))
    badarg(L, a, i, "must be an Image of kind %s, by cl.image; got %s%s",
           kind->name, clsh_class_name(L, idx),
           img != NULL ? lua_pushfstring(L, " %s", img->kind->name) : "");
  if (p->writes && img->access == CL_MEM_READ_ONLY)
    badarg(L, a, i, "the Image was made with access = \"read_only\"");
  if (p->reads && img->access == CL_MEM_WRITE_ONLY)
    badarg(L, a, i, "the Image was made with access = \"write_only\"");
  setarg(L, a, i, sizeof img->handle, &img->handle);
  clsh_image_shape(img, img->size, &s);
  clsh_flight_arg(p->name, 'i', img->format.type, &s, NULL);
}

static void setsampler(lua_State *L, const Args *a, int i, const Param *p,
                       int idx) {
  const Sampler *s = clsh_image_sampler(L, idx);
  checkobject(L, a, i, idx, "Sampler", s != NULL ? s->context : NULL);
  if (s == NULL)
    badarg(L, a, i, "must be a Sampler, by cl.sampler; got %s",
           clsh_class_name(L, idx));
  setarg(L, a, i, sizeof s->handle, &s->handle);
  clsh_flight_arg(p->name, 's', NULL, NULL, NULL);
}

static void setone(lua_State *L, Args *a, int i, const Param *p, int idx) {
  const Any *how;
  if (p->object == 'i' || (!p->known && clsh_image_test(L, idx) != NULL)) {
    setimage(L, a, i, p, idx);
    return;
  }
  if (p->object == 's' || (!p->known && clsh_image_sampler(L, idx) != NULL)) {
    setsampler(L, a, i, p, idx);
    return;
  }
  if (p->known && !p->pointer) {
    setvalue(L, a, i, p, idx);
    return;
  }
  Buffer *b = tobuffer(L, a, i, idx, &how);
  const Local *l = clsh_class_test(L, idx, &local_class);
  if (isnull(L, idx))
    setnull(L, a, i, p);
  else if (b != NULL && (!p->known || p->space != 'l'))
    setmem(L, a, i, p, b, how);
  else if (l != NULL && (!p->known || p->space == 'l'))
    setlocal(L, a, i, p, l);
  else if (p->known)
    badarg(L, a, i, "%s", badpointer(L, p, idx));
  else
    setvalue(L, a, i, p, idx);
}

/*
** The object of a set argument at `idx`, which the kernel needs open; of
** cl.any(b) the Buffer. NULL: the kernel got a copy.
*/
const Object *clsh_arg_object(lua_State *L, int idx) {
  const Any *wrapped = clsh_class_test(L, idx, &any_class);
  if (wrapped != NULL)
    return &wrapped->buffer->head;
  if (lua_type(L, idx) != LUA_TUSERDATA ||
      clsh_class_test(L, idx, &value_class) != NULL ||
      clsh_class_test(L, idx, &local_class) != NULL)
    return NULL;
  return lua_touserdata(L, idx);
}

/*
** Sets all arguments of a kernel from the n values at `first`, for a launch on
** a queue (NULL: on any), and notes them in the launch's flight. The next
** launch sets all of them anew, so none needs anchoring.
*/
void clsh_arg_set(lua_State *L, const Kernel *k, const Queue *q, int first,
                  int n) {
  Args a = {k, q, 0, 0};
  if (n < k->nparams)
    badarg(L, &a, n, "missing: got %d of %d values", n, k->nparams);
  if (n > k->nparams)
    clsh_error(L, "%s: takes %d values; got %d", k->name, k->nparams, n);
  for (int i = 0; i < n; i++)
    setone(L, &a, i, &k->params[i], first + i);
}

/* Adds cl.char ... cl.double16 to the module table at the top. */
static void addtyped(lua_State *L) {
  for (const Type *t = clsh_type_all; t->name != NULL; t++) {
    if (clsh_type_isstored(t))
      continue;
    lua_pushlightuserdata(L, (void *)t);
    lua_pushcclosure(L, cl_typed, 1);
    lua_setfield(L, -2, t->name);
  }
}

void clsh_arg_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"any", cl_any},
                                       {"base", cl_base},
                                       {"bytes", cl_bytes},
                                       {"localmem", cl_localmem},
                                       {NULL, NULL}};
  clsh_class_define(L, &value_class);
  clsh_class_define(L, &local_class);
  clsh_class_define(L, &any_class);
  clsh_class_addfields(L, &value_class, value_plain);
  clsh_class_addfields(L, &local_class, local_plain);
  clsh_class_addfields(L, &any_class, any_plain);
  luaL_setfuncs(L, functions, 0);
  addtyped(L);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
