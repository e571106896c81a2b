/*
** buffer.c - class Buffer: typed device memory. Other files add methods:
** transfer.c, view.c.
** SPDX-License-Identifier: MIT
*/
#include "buffer.h"
#include "context.h"
#include "object.h"
#include "process.h"
#include "type.h"

static void buffer_release(Object *o) {
  Buffer *b = (Buffer *)o;
  if (b->handle == NULL)
    return;
  if (!clsh_fork_handsoff()) {
    if (b->part != NULL)
      clReleaseMemObject(b->part);
    clReleaseMemObject(b->handle);
  }
  if (!b->view)
    clsh_context_freebytes(b->context, b->bytes);
  b->handle = b->part = NULL;
}

static const Class class;

Buffer *clsh_buffer_check(lua_State *L, int arg) {
  return clsh_class_check(L, arg, &class);
}

Buffer *clsh_buffer_test(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class);
}

/*
** The memory object that begins with the buffer's first element. NULL where
** the device has none, for a view that begins between its alignments.
*/
cl_mem clsh_buffer_handle(lua_State *L, Buffer *b) {
  cl_int err;
  if (b->shift == 0 || b->part != NULL)
    return b->part != NULL ? b->part : b->handle;
  if (b->offset % clsh_context_limits(b->context)->align != 0)
    return NULL;
  cl_buffer_region region = {b->offset, b->bytes};
  b->part = clCreateSubBuffer(b->root, 0, CL_BUFFER_CREATE_TYPE_REGION,
                              &region, &err);
  clsh_error_check(L, err, "clCreateSubBuffer");
  return b->part;
}

/* The elements from the handle's beginning to the buffer's first one. */
size_t clsh_buffer_start(const Buffer *b) {
  return b->shift / b->type->size;
}

/* Pushes a buffer without memory of the context at `ctx`. */
Buffer *clsh_buffer_new(lua_State *L, int ctx) {
  Context *c = clsh_context_check(L, ctx);
  Buffer *b = clsh_class_new(L, &class, 2);
  b->context = c;
  lua_pushvalue(L, ctx);
  lua_setiuservalue(L, -2, 1);
  return b;
}

/*
** Pushes a view of the buffer at `of`, a copy of it but for the handles, which
** the caller sets when no more script code can run.
*/
Buffer *clsh_buffer_newview(lua_State *L, int of) {
  const Buffer *b = clsh_buffer_check(L, of);
  Buffer *v = clsh_class_new(L, &class, 2);
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
    clsh_error_arg(L, of, "this Buffer is closed");
  return v;
}

static int buffer_type(lua_State *L) {
  lua_pushstring(L, clsh_buffer_check(L, 1)->type->name);
  return 1;
}

static int buffer_shape(lua_State *L) {
  clsh_shape_push(L, &clsh_buffer_check(L, 1)->shape);
  return 1;
}

static int buffer_rows(lua_State *L) {
  return clsh_shape_pushextent(L, &clsh_buffer_check(L, 1)->shape, 0);
}

static int buffer_cols(lua_State *L) {
  return clsh_shape_pushextent(L, &clsh_buffer_check(L, 1)->shape, 1);
}

static int buffer_ld(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_check(L, 1)->ld);
  return 1;
}

static int buffer_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_check(L, 1)->bytes);
  return 1;
}

static int buffer_offset(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_check(L, 1)->offset);
  return 1;
}

static int buffer_start(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_start(clsh_buffer_check(L, 1)));
  return 1;
}

static int buffer_context(lua_State *L) {
  clsh_buffer_check(L, 1);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_check(L, 1)->shape.count);
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
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; names[i] != NULL; i++) {
    lua_getfield(L, 1, names[i]);
    lua_setfield(L, 2, names[i]);
  }
  lua_pushboolean(L, b->view);
  lua_setfield(L, 2, "view");
  clsh_context_setdevice(L);
  return 1;
}

static int buffer_tostring(lua_State *L) {
  Buffer *b = clsh_class_any(L, 1, &class);
  const char *shape = clsh_shape_string(L, &b->shape);
  lua_pushfstring(L, "Buffer %s%s%s%s", b->type->name, shape,
                  b->view ? " view" : "", b->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg methods[] = {{"info", buffer_info}, {NULL, NULL}};
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

void clsh_buffer_open(lua_State *L) {
  clsh_class_define(L, &class);
}
