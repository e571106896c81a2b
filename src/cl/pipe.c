/*
** pipe.c - class Pipe: a queue of packets that kernels write and read.
** SPDX-License-Identifier: MIT
*/
#include "pipe.h"
#include "process.h"

#define HOST_NO_ACCESS (1 << 9) /* CL_MEM_... */

typedef cl_mem(CL_API_CALL *Creator)(cl_context, cl_mem_flags, cl_uint,
                                     cl_uint, const void *, cl_int *);

static size_t pipebytes(const Pipe *p) {
  return p->shape.count * p->type->size;
}

static void pipe_release(Object *o) {
  Pipe *p = (Pipe *)o;
  if (p->handle == NULL)
    return;
  if (!clsh_process_handsoff())
    clReleaseMemObject(p->handle);
  clsh_context_give(p->context, pipebytes(p));
  p->handle = NULL;
}

static const Class class;

Pipe *clsh_pipe_test(lua_State *L, int arg) {
  return clsh_class_test(L, arg, &class);
}

static const char *const instead =
    "use a Buffer with an index that atomic_inc moves";

/* Raises where the device of the Context at `ctx` has no pipes. */
static void checkdevice(lua_State *L, const Context *c, int ctx) {
  lua_getfield(L, ctx, "device");
  lua_getfield(L, -1, "pipe_support"); /* of OpenCL 3.0; 2.0 has pipes */
  if (c->limits.version >= 300 && !lua_toboolean(L, -1))
    clsh_error_call(L, CL_INVALID_OPERATION, "clCreatePipe",
                    "the device has no pipes (pipe_support is false); %s",
                    instead);
  lua_pop(L, 2);
}

/* Makes the pipe's memory. */
static void allocate(lua_State *L, Pipe *p) {
  int tries = 0;
  cl_int err;
  Creator create;
  clsh_later_find(L, p->context, 200, "clCreatePipe", instead, &create);
  clsh_context_reserve(L, p->context, pipebytes(p), "clCreatePipe", "pipe");
  do {
    cl_context context = clsh_context_handle(L, p->context);
    err = CL_INVALID_OPERATION;
    cl_mem mem =
        create(context, CL_MEM_READ_WRITE | HOST_NO_ACCESS,
               (cl_uint)p->type->size, (cl_uint)p->shape.count, NULL, &err);
    if (err == CL_SUCCESS)
      p->handle = mem;
  } while (clsh_error_retry(L, err, &tries));
  if (err == CL_INVALID_OPERATION)
    clsh_error_call(L, err, "clCreatePipe", "the driver makes no pipes; %s",
                    instead);
  clsh_error_check(L, err, "clCreatePipe");
  clsh_context_take(p->context, pipebytes(p));
}

static const char *const pipe_options[] = {"context", NULL};

/** cl.pipe(type, n [, opts]) -> Pipe
 * A queue of up to n packets between kernels: an argument for parameters such
 * as `write_only pipe int p` and `read_only pipe int p`, where `type` is
 * "int". Kernels write and read it by write_pipe and read_pipe; packets stay
 * from launch to launch, and the host sees none. The program needs {options =
 * "-cl-std=CL3.0"} or CL2.0; a device without pipes raises. `p.type`, `#p`.
 * Options:
 *   context  session's  the Context of another device
 * Example:
 * if cl.device().pipe_support then
 *   local p = cl.build([[
 *     kernel void put(write_only pipe int p) { int i = 7; write_pipe(p, &i); }
 * kernel void get(read_only pipe int p, global int *x) { read_pipe(p, x); }
 *   ]], {options = "-cl-std=CL3.0"})
 *   local pipe, x = cl.pipe("int", 16), cl.buffer("int", 1, 0)
 *   p.put:range(1)(pipe)
 *   p.get:range(1)(pipe, x)
 *   print(x:read()[1]) -- 7
 * end
 */
static int cl_pipe(lua_State *L) {
  lua_settop(L, 3);
  const Type *t = clsh_type_check(L, 1);
  size_t n = clsh_shape_count(L, 2, "n");
  clsh_option_check(L, 3, pipe_options, "cl.pipe");
  clsh_option_push(L, 3, "context");
  Context *c = clsh_context_push(L, 4);
  if (n > UINT32_MAX)
    return clsh_error_arg(L, 2, "a pipe holds less than 2^32 packets; got %I",
                          (LUAI_UACINT)n);
  checkdevice(L, c, 5);
  Pipe *p = clsh_class_new(L, &class, 1);
  p->context = c;
  p->type = t;
  p->shape = (Shape){1, {n}, n};
  lua_pushvalue(L, 5);
  lua_setiuservalue(L, -2, 1);
  allocate(L, p);
  return 1;
}

static int pipe_type(lua_State *L) {
  const Pipe *p = clsh_class_check(L, 1, &class);
  lua_pushstring(L, p->type->name);
  return 1;
}

static int pipe_context(lua_State *L) {
  clsh_class_check(L, 1, &class);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int pipe_len(lua_State *L) {
  const Pipe *p = clsh_class_check(L, 1, &class);
  lua_pushinteger(L, (lua_Integer)p->shape.count);
  return 1;
}

static int pipe_tostring(lua_State *L) {
  const Pipe *p = clsh_class_any(L, 1, &class);
  lua_pushfstring(L, "Pipe %s%s%s", p->type->name,
                  clsh_shape_string(L, &p->shape),
                  p->head.closed ? " (closed)" : "");
  return 1;
}

static const luaL_Reg fields[] = {
    {"context", pipe_context}, {"type", pipe_type}, {NULL, NULL}};
static const luaL_Reg meta[] = {
    {"__len", pipe_len}, {"__tostring", pipe_tostring}, {NULL, NULL}};
static const Class class = {"Pipe", sizeof(Pipe), NULL,        fields,
                            meta,   NULL,         pipe_release};

void clsh_pipe_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"pipe", cl_pipe}, {NULL, NULL}};
  clsh_class_define(L, &class);
  clsh_option_declare(L, "cl.pipe", pipe_options);
  luaL_setfuncs(L, functions, 0);
}
