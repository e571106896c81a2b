/*
** bufferinit.c - cl.buffer: new device memory and its first content.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>

#include "buffer.h"
#include "cl.h"
#include "context.h"
#include "object.h"
#include "type.h"

/*
** Refuses sizes that the device cannot hold. Drivers promise more memory than
** there is and fail later, or not at all, so the sum is kept here.
*/
static void checkbudget(lua_State *L, Context *c, size_t bytes) {
  const Limits *l = clsh_context_limits(c);
  if (bytes > l->max_alloc)
    clsh_error_call(L, CL_INVALID_BUFFER_SIZE, "clCreateBuffer",
                    "asked for %I bytes in one buffer, the device allows %I",
                    (LUAI_UACINT)bytes, (LUAI_UACINT)l->max_alloc);
  if (clsh_context_usedbytes(c) + bytes > l->global_mem)
    lua_gc(L, LUA_GCCOLLECT);
  if (clsh_context_usedbytes(c) + bytes > l->global_mem)
    clsh_error_call(L, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer",
                    "asked for %I bytes, %I of the device's %I are in buffers "
                    "already; close some with b:close()",
                    (LUAI_UACINT)bytes, (LUAI_UACINT)clsh_context_usedbytes(c),
                    (LUAI_UACINT)l->global_mem);
}

/* The leading dimension {ld = n} of options at `arg`: cols by default. */
static size_t checkld(lua_State *L, int arg, const Shape *s) {
  size_t cols = s->dim[s->ndims - 1];
  if (clsh_option_push(L, arg, "ld") == LUA_TNIL)
    return cols;
  if (s->ndims != 2)
    clsh_error(L, "ld: a leading dimension needs two dimensions, not %d",
               s->ndims);
  size_t ld = clsh_option_count(L, -1, "ld");
  if (ld < cols)
    clsh_error(L, "ld: %I is less than the %I columns", (LUAI_UACINT)ld,
               (LUAI_UACINT)cols);
  return ld;
}

static cl_mem_flags checkaccess(lua_State *L, int arg) {
  static const char *const names[] = {"read_write", "read_only", "write_only",
                                      NULL};
  static const cl_mem_flags flags[] = {CL_MEM_READ_WRITE, CL_MEM_READ_ONLY,
                                       CL_MEM_WRITE_ONLY};
  clsh_option_push(L, arg, "access");
  int i = clsh_option_word(L, -1, names, "access");
  clsh_option_push(L, arg, "host");
  return flags[i] | (lua_toboolean(L, -1) ? CL_MEM_ALLOC_HOST_PTR : 0);
}

/* Makes the memory of a buffer whose other fields are set. */
static void allocate(lua_State *L, Buffer *b, cl_mem_flags flags) {
  int tries = 0;
  cl_int err;
  checkbudget(L, b->context, b->bytes);
  clsh_class_pressure(L, b->bytes);
  do
    b->handle = clCreateBuffer(clsh_context_handle(L, b->context), flags,
                               b->bytes, NULL, &err);
  while (clsh_error_retry(L, err, &tries));
  if (err != CL_SUCCESS)
    clsh_error_call(L, err, "clCreateBuffer", "asked for %I bytes",
                    (LUAI_UACINT)b->bytes);
  b->root = b->handle;
  clsh_context_usebytes(b->context, b->bytes);
}

/*
** Sets all of the new buffer at `buf` to the value at `init`, by the method
** fill or write.
*/
static void writeinit(lua_State *L, int buf, int init) {
  bool number = lua_type(L, init) == LUA_TNUMBER;
  lua_getfield(L, buf, number ? "fill" : "write");
  lua_pushvalue(L, buf);
  lua_pushvalue(L, init);
  lua_call(L, 2, 0);
}

static const char *const buffer_options[] = {"ld", "access", "host", "context",
                                             NULL};

/** cl.buffer(type, shape [, init [, opts]]) -> Buffer
 * Typed memory on the device. `type` is an OpenCL C name ("float", "int",
 * "float4"), `shape` a number of elements or a list of 1 to 4 dimensions,
 * row-major. `init`: a number (fills), an Array, a nested table, or a
 * function of the indexes; without it the content is undefined. `b.type`,
 * `b.shape`, `b.rows`, `b.cols`, `b.ld`, `b.bytes`, `#b` (elements).
 * Larger than the device allows, or than what is left of its memory: an
 * error with the numbers.
 * Options:
 *   ld       columns     elements from row to row of two dimensions
 *   access   read_write  "read_only" or "write_only": what kernels do
 *   host     false       true: memory that maps fast
 *   context  session's   the Context of another device
 */
static int cl_buffer(lua_State *L) {
  lua_settop(L, 4);
  const Type *t = clsh_type_check(L, 1);
  Shape s;
  clsh_shape_check(L, 2, t, &s);
  clsh_option_check(L, 4, buffer_options, "cl.buffer");
  size_t ld = checkld(L, 4, &s);
  size_t rows = s.count / s.dim[s.ndims - 1];
  if (ld > SIZE_MAX / 2 / t->size / rows)
    clsh_error(L, "ld: %I elements in %I rows are too many", (LUAI_UACINT)ld,
               (LUAI_UACINT)rows);
  cl_mem_flags flags = checkaccess(L, 4);
  lua_settop(L, 4);
  clsh_option_push(L, 4, "context");
  clsh_context_push(L, 5);
  Buffer *b = clsh_buffer_new(L, 6);
  b->type = t;
  b->shape = s;
  b->ld = ld;
  b->bytes = b->reach = rows * ld * t->size;
  allocate(L, b, flags);
  if (!lua_isnil(L, 3))
    writeinit(L, 7, 3);
  lua_settop(L, 7);
  return 1;
}

void clsh_bufferinit_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"buffer", cl_buffer}, {NULL, NULL}};
  clsh_option_declare(L, "cl.buffer", buffer_options);
  luaL_setfuncs(L, functions, 0);
}
