/*
** buffer.c - class Buffer: typed device memory.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>

#include "buffer.h"

static void buffer_release(Object *o) {
  Buffer *b = (Buffer *)o;
  if (b->handle == NULL)
    return;
  if (!clsh_forked()) {
    if (b->part != NULL)
      clReleaseMemObject(b->part);
    clReleaseMemObject(b->handle);
  }
  if (!b->view)
    clsh_freebytes(b->context, b->bytes);
  b->handle = b->part = NULL;
}

static const Class class;

Buffer *clsh_checkbuffer(lua_State *L, int arg) {
  return clsh_checkobject(L, arg, &class);
}

Buffer *clsh_testbuffer(lua_State *L, int arg) {
  return clsh_testobject(L, arg, &class);
}

/*
** The memory object that begins with the buffer's first element. NULL where
** the device has none, for a view that begins between its alignments.
*/
cl_mem clsh_bufferhandle(lua_State *L, Buffer *b) {
  cl_int err;
  if (b->shift == 0 || b->part != NULL)
    return b->part != NULL ? b->part : b->handle;
  if (b->offset % clsh_limits(b->context)->align != 0)
    return NULL;
  cl_buffer_region region = {b->offset, b->bytes};
  b->part = clCreateSubBuffer(b->root, 0, CL_BUFFER_CREATE_TYPE_REGION,
                              &region, &err);
  clsh_check(L, err, "clCreateSubBuffer");
  return b->part;
}

/* The memory object that the buffer lies in, clsh_bufferstart behind it. */
cl_mem clsh_bufferbase(const Buffer *b) {
  return b->handle;
}

size_t clsh_basebytes(const Buffer *b) {
  return b->shift + b->reach;
}

size_t clsh_bufferstart(const Buffer *b) {
  return b->shift / b->type->size;
}

Context *clsh_buffercontext(const Buffer *b) {
  return b->context;
}

const Type *clsh_buffertype(const Buffer *b) {
  return b->type;
}

size_t clsh_bufferbytes(const Buffer *b) {
  return b->bytes;
}

/*
** Refuses what the device cannot hold. Drivers promise more memory than
** there is and fail later, or not at all, so the sum is kept here.
*/
static void checkbudget(lua_State *L, Context *c, size_t bytes) {
  const Limits *l = clsh_limits(c);
  if (bytes > l->max_alloc)
    clsh_fail(L, CL_INVALID_BUFFER_SIZE, "clCreateBuffer",
              "asked for %I bytes in one buffer, the device allows %I",
              (LUAI_UACINT)bytes, (LUAI_UACINT)l->max_alloc);
  if (clsh_usedbytes(c) + bytes > l->global_mem)
    lua_gc(L, LUA_GCCOLLECT);
  if (clsh_usedbytes(c) + bytes > l->global_mem)
    clsh_fail(L, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer",
              "asked for %I bytes, %I of the device's %I are in buffers "
              "already; close some with b:close()",
              (LUAI_UACINT)bytes, (LUAI_UACINT)clsh_usedbytes(c),
              (LUAI_UACINT)l->global_mem);
}

/* The leading dimension {ld = n} of options at `arg`: cols by default. */
static size_t checkld(lua_State *L, int arg, const Shape *s) {
  size_t cols = s->dim[s->ndims - 1];
  if (lua_isnil(L, arg) || lua_getfield(L, arg, "ld") == LUA_TNIL)
    return cols;
  if (s->ndims != 2)
    clsh_error(L, "ld: a leading dimension needs two dimensions, not %d",
               s->ndims);
  size_t ld = clsh_countoption(L, -1, "ld");
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
  if (lua_isnil(L, arg))
    return CL_MEM_READ_WRITE;
  lua_getfield(L, arg, "access");
  int i = clsh_checkword(L, -1, names, "access");
  lua_getfield(L, arg, "host");
  return flags[i] | (lua_toboolean(L, -1) ? CL_MEM_ALLOC_HOST_PTR : 0);
}

/* Makes the memory of a buffer whose other fields are set. */
static void allocate(lua_State *L, Buffer *b, cl_mem_flags flags) {
  int tries = 0;
  cl_int err;
  checkbudget(L, b->context, b->bytes);
  clsh_pressure(L, b->bytes);
  do
    b->handle = clCreateBuffer(clsh_contexthandle(L, b->context), flags,
                               b->bytes, NULL, &err);
  while (clsh_retry(L, err, &tries));
  if (err != CL_SUCCESS)
    clsh_fail(L, err, "clCreateBuffer", "asked for %I bytes",
              (LUAI_UACINT)b->bytes);
  clsh_usebytes(b->context, b->bytes);
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
  const Type *t = clsh_checktype(L, 1);
  Shape s;
  clsh_checkshape(L, 2, t, &s);
  clsh_checkoptions(L, 4, buffer_options, "cl.buffer");
  size_t ld = checkld(L, 4, &s);
  size_t rows = s.count / s.dim[s.ndims - 1];
  if (ld > SIZE_MAX / 2 / t->size / rows)
    clsh_error(L, "ld: %I elements in %I rows are too many", (LUAI_UACINT)ld,
               (LUAI_UACINT)rows);
  cl_mem_flags flags = checkaccess(L, 4);
  lua_settop(L, 4);
  if (lua_isnil(L, 4))
    lua_pushnil(L);
  else
    lua_getfield(L, 4, "context");
  Context *c = clsh_pushcontext(L, 5);
  Buffer *b = clsh_newobject(L, &class, 2);
  *b = (Buffer){.head = b->head,
                .context = c,
                .type = t,
                .shape = s,
                .ld = ld,
                .bytes = rows * ld * t->size,
                .reach = rows * ld * t->size};
  lua_pushvalue(L, 6);
  lua_setiuservalue(L, 7, 1);
  allocate(L, b, flags);
  b->root = b->handle;
  if (!lua_isnil(L, 3))
    clsh_writeinit(L, 7, 3);
  lua_settop(L, 7);
  return 1;
}

/*
** Pushes a view of the buffer at `of`, a copy of it but for the handles, which
** the caller sets after what may run script code.
*/
Buffer *clsh_newview(lua_State *L, int of) {
  const Buffer *b = clsh_checkbuffer(L, of);
  Buffer *v = clsh_newobject(L, &class, 2);
  Object head = v->head;
  *v = *b;
  v->head = head;
  v->handle = v->part = NULL;
  v->view = true;
  lua_getiuservalue(L, of, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, of); /* keeps the root: sub-buffers have no sub-buffers */
  lua_setiuservalue(L, -2, 2);
  if (b->head.closed) /* by a finalizer, meanwhile */
    clsh_argerror(L, of, "this Buffer is closed");
  return v;
}

static int buffer_type(lua_State *L) {
  lua_pushstring(L, clsh_checkbuffer(L, 1)->type->name);
  return 1;
}

static int buffer_shape(lua_State *L) {
  clsh_pushshape(L, &clsh_checkbuffer(L, 1)->shape);
  return 1;
}

static int pushdim(lua_State *L, int i) {
  Buffer *b = clsh_checkbuffer(L, 1);
  if (b->shape.ndims == 2)
    lua_pushinteger(L, (lua_Integer)b->shape.dim[i]);
  else
    lua_pushnil(L);
  return 1;
}

static int buffer_rows(lua_State *L) {
  return pushdim(L, 0);
}

static int buffer_cols(lua_State *L) {
  return pushdim(L, 1);
}

static int buffer_ld(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_checkbuffer(L, 1)->ld);
  return 1;
}

static int buffer_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_checkbuffer(L, 1)->bytes);
  return 1;
}

static int buffer_offset(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_checkbuffer(L, 1)->offset);
  return 1;
}

static int buffer_start(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_bufferstart(clsh_checkbuffer(L, 1)));
  return 1;
}

static int buffer_context(lua_State *L) {
  clsh_checkbuffer(L, 1);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_checkbuffer(L, 1)->shape.count);
  return 1;
}

/** Buffer:info() -> table
 * type, shape, ld, bytes (gaps between rows included), offset (bytes, of a
 * view in its buffer), start (elements behind the memory that cl.base
 * passes), view (whether it is one), device (its name).
 */
static int buffer_info(lua_State *L) {
  static const char *const names[] = {"type",   "shape", "ld", "bytes",
                                      "offset", "start", NULL};
  Buffer *b = clsh_checkbuffer(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; names[i] != NULL; i++) {
    lua_getfield(L, 1, names[i]);
    lua_setfield(L, 2, names[i]);
  }
  lua_pushboolean(L, b->view);
  lua_setfield(L, 2, "view");
  lua_getiuservalue(L, 1, 1);
  lua_getfield(L, 3, "device");
  lua_getfield(L, 4, "name");
  lua_setfield(L, 2, "device");
  lua_settop(L, 2);
  return 1;
}

static int buffer_tostring(lua_State *L) {
  Buffer *b = clsh_anyobject(L, 1, &class);
  const char *shape = clsh_shapestring(L, &b->shape);
  lua_pushfstring(L, "Buffer %s%s%s%s", b->type->name, shape,
                  b->view ? " view" : "", b->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"info", buffer_info},
                                   {"view", clsh_bufferview},
                                   {"copy", clsh_buffercopy},
                                   {"fill", clsh_bufferfill},
                                   {"map", clsh_buffermap},
                                   {"overlaps", clsh_bufferoverlaps},
                                   {"read", clsh_bufferread},
                                   {"unmap", clsh_bufferunmap},
                                   {"write", clsh_bufferwrite},
                                   {"matrix", clsh_buffermatrix},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"bytes", buffer_bytes},     {"cols", buffer_cols},
    {"context", buffer_context}, {"ld", buffer_ld},
    {"offset", buffer_offset},   {"rows", buffer_rows},
    {"shape", buffer_shape},     {"start", buffer_start},
    {"type", buffer_type},       {NULL, NULL}};
static const luaL_Reg meta[] = {
    {"__len", buffer_len}, {"__tostring", buffer_tostring}, {NULL, NULL}};
static const Class class = {"Buffer", sizeof(Buffer), methods,       fields,
                            meta,     NULL,           buffer_release};

void clsh_openbuffer(lua_State *L) {
  static const luaL_Reg functions[] = {{"buffer", cl_buffer}, {NULL, NULL}};
  clsh_newclass(L, &class);
  clsh_declare(L, "cl.buffer", buffer_options);
  clsh_declaretransfers(L);
  luaL_setfuncs(L, functions, 0);
}
