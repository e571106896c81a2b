/*
** buffer.c - class Buffer: typed device memory, its first content, and views
** of it. transfer.c adds the methods that move data.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "buffer.h"
#include "driver.h"

#define CAPABILITIES 0x1053 /* CL_DEVICE_SVM_CAPABILITIES */
#define COARSE 1
#define FINE 2
#define FLAG_FINE ((cl_mem_flags)1 << 10) /* CL_MEM_SVM_FINE_GRAIN_BUFFER */

/*
** The bytes of the buffer's memory object. OpenCL has none of 0 bytes: behind
** a buffer without elements is room for one, so that kernels get a pointer,
** and views, mappings and waits a handle, as of any buffer.
*/
static size_t heldbytes(const Buffer *b) {
  return b->bytes > 0 ? b->bytes : b->type->size;
}

/* The bytes that the buffer takes of the device's memory. */
static size_t ownbytes(const Buffer *b) {
  return b->hosted && b->context->limits.shared ? 0 : heldbytes(b);
}

static void buffer_release(Object *o) {
  Buffer *b = (Buffer *)o;
  if (b->owner != NULL)
    b->owner->views--;
  if (b->handle == NULL)
    return;
  if (b->kept && b->views == 0 && b->order == b->context->order &&
      clsh_context_keep(b->context, b->handle, heldbytes(b))) {
    b->handle = NULL;
    return;
  }
  if (!clsh_driver_handsoff()) {
    if (b->part != NULL)
      clReleaseMemObject(b->part);
    clReleaseMemObject(b->handle);
  }
  if (!b->view)
    clsh_context_give(b->context, ownbytes(b));
  if (b->hosted)
    clsh_array_sweep();
  b->handle = b->part = NULL;
}

/*
** The memory object that begins with the buffer's first element; NULL for a
** view that begins between the device's alignments.
*/
cl_mem clsh_buffer_handle(lua_State *L, Buffer *b) {
  cl_int err;
  if (b->shift == 0 || b->bytes == 0 || b->part != NULL)
    return b->part != NULL ? b->part : b->handle;
  if (b->offset % b->context->limits.align != 0)
    return NULL;
  cl_buffer_region region = {b->offset, b->bytes};
  b->part = clCreateSubBuffer(b->root, 0, CL_BUFFER_CREATE_TYPE_REGION,
                              &region, &err);
  clsh_error_check(L, err, "clCreateSubBuffer");
  return b->part;
}

/* The elements from the handle's beginning to the buffer's first element. */
size_t clsh_buffer_start(const Buffer *b) {
  return b->shift / b->type->size;
}

/*
** Notes a command on a queue, NULL: on any. Memory that a queue other than the
** default queue of its context uses is not kept.
*/
void clsh_buffer_use(Buffer *b, const Queue *q) {
  if (q == NULL || !q->standard || q->context != b->context)
    clsh_buffer_dontkeep(b);
}

/* Has the memory of a buffer, or of a view, go back to the driver. */
void clsh_buffer_dontkeep(Buffer *b) {
  (b->owner != NULL ? b->owner : b)->kept = false;
}

/* Pushes a buffer without memory of the context at `ctx`. */
static Buffer *newbuffer(lua_State *L, int ctx) {
  Context *c = clsh_context_check(L, ctx);
  Buffer *b = clsh_class_newowned(L, &clsh_buffer_class, 2, ctx);
  b->context = c;
  return b;
}

/*
** Pushes a view of the buffer at `of`, a copy without the handles, which the
** caller sets when no more script code can run.
*/
static Buffer *newview(lua_State *L, int of) {
  Buffer *b = clsh_buffer_check(L, of);
  clsh_context_alive(L, b->context);
  Buffer *v = clsh_class_new(L, &clsh_buffer_class, 2);
  Object head = v->head;
  *v = *b;
  v->head = head;
  v->handle = v->part = NULL;
  v->view = true;
  v->kept = false;
  v->views = 0;
  v->owner = b->view ? b->owner : b;
  v->owner->views++;
  lua_getiuservalue(L, of, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, of); /* keeps the root: sub-buffers have no sub-buffers */
  lua_setiuservalue(L, -2, 2);
  if (b->head.closed) /* by a finalizer, meanwhile */
    clsh_error_arg(L, of, "this Buffer is closed");
  return v;
}

/* The bytes from a buffer's first element to its last. */
static size_t span(const Buffer *b) {
  size_t cols = b->shape.dim[b->shape.ndims - 1];
  if (b->shape.count == 0)
    return 0;
  return ((b->shape.count / cols - 1) * b->ld + cols) * b->type->size;
}

/* Has view `v`, which is pushed, use the handle of `b`. */
static int sharehandle(Buffer *v, const Buffer *b) {
  clRetainMemObject(b->handle);
  v->handle = b->handle;
  return 1;
}

/* The distance of elements at which views may begin. */
static size_t viewstep(const Buffer *b) {
  size_t align = b->context->limits.align;
  size_t step = align;
  while (step % b->type->size != 0)
    step += align;
  return step / b->type->size;
}

/** Buffer:view(first, last) -> Buffer
 * Elements `first` to `last` (from 1, in memory order) as a one-dimensional
 * buffer that shares memory. The device sets where a view may begin: a
 * wrong start is refused with the nearest starts that work. The view keeps
 * the buffer's memory alive, and is empty if `last` is first - 1.
 * Example:
 * local b = cl.buffer("float", 4096, 1)
 * local front = b:view(1, 1024)
 * front:fill(2)
 * print(b:read()[1024], b:read()[1025]) --> 2.0 1.0
 */
static int buffer_view(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  size_t n = b->bytes / b->type->size;
  size_t first = clsh_shape_count(L, 2, "first", 1);
  size_t last = clsh_shape_count(L, 3, "last", 0);
  size_t count = last - first + 1, bytes = count * b->type->size;
  if (last + 1 < first || last > n)
    return clsh_error(L, "view: %I..%I leaves the elements 1..%I",
                      (LUAI_UACINT)first, (LUAI_UACINT)last, (LUAI_UACINT)n);
  size_t step = viewstep(b);
  if (count > 0 &&
      ((first - 1) * b->type->size + b->offset) % b->context->limits.align !=
          0)
    return clsh_error(L,
                      "view: a view must start at element 1, %I, %I, ... "
                      "(%I bytes apart), not at %I; nearest: %I or %I",
                      (LUAI_UACINT)(1 + step), (LUAI_UACINT)(1 + 2 * step),
                      (LUAI_UACINT)(step * b->type->size), (LUAI_UACINT)first,
                      (LUAI_UACINT)((first - 1) / step * step + 1),
                      (LUAI_UACINT)(((first - 1) / step + 1) * step + 1));
  Buffer *v = newview(L, 1);
  cl_buffer_region region = {b->offset + (first - 1) * b->type->size, bytes};
  v->shape = (Shape){1, {count}, count};
  v->ld = count;
  v->bytes = v->reach = bytes;
  if (count == 0) /* nowhere */
    return sharehandle(v, b);
  v->offset = region.origin;
  v->shift = 0;
  cl_int err;
  v->handle = clCreateSubBuffer(b->root, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                &region, &err);
  clsh_error_check(L, err, "clCreateSubBuffer");
  return 1;
}

/** Buffer:matrix(first, rows, cols [, ld]) -> Buffer
 * A matrix in the memory of a buffer: its rows begin at elements first,
 * first + ld, ... (from 1, in memory order; ld is cols by default). It shares
 * memory and may begin at any element. A matrix that begins between the
 * device's alignments serves reads, writes, fills, copies and gemm; kernels
 * take it by way of cl.base. A matrix of a view may reach beyond the view, to
 * the end of the buffer. See also A:sub.
 * Example:
 * local b = cl.buffer("float", 100, function(i) return i end)
 * local m = b:matrix(1, 3, 4, 10) -- 3 x 4, rows 10 elements apart
 * print(m:read():at(2, 1)) --> 11.0
 */
static int buffer_matrix(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  size_t first = clsh_shape_count(L, 2, "first", 1);
  size_t rows = clsh_shape_count(L, 3, "rows", 0);
  size_t cols = clsh_shape_count(L, 4, "cols", 0);
  size_t ld = lua_isnoneornil(L, 5) ? cols : clsh_shape_count(L, 5, "ld", 0);
  size_t size = b->type->size, n = b->reach / size;
  if (ld < cols)
    return clsh_error(L, "matrix: ld = %I is less than the %I columns",
                      (LUAI_UACINT)ld, (LUAI_UACINT)cols);
  bool some = rows > 0 && cols > 0;
  if (first > n + 1 || (some && (cols > n - first + 1 ||
                                 rows - 1 > (n - first + 1 - cols) / ld)))
    return clsh_error(L,
                      "matrix: %I rows of %I elements, %I apart, from element "
                      "%I on leave the buffer's 1..%I",
                      (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)ld,
                      (LUAI_UACINT)first, (LUAI_UACINT)n);
  Buffer *v = newview(L, 1);
  v->shape = (Shape){2, {rows, cols}, rows * cols};
  v->ld = ld;
  v->bytes = span(v);
  v->offset += (first - 1) * size;
  v->shift += (first - 1) * size;
  v->reach -= (first - 1) * size;
  return sharehandle(v, b);
}

/** Buffer:as(type) -> Buffer
 * The same memory as elements of another type, `b:as "float4"`: a view, and
 * writing one of the two shows in the other. The last dimension changes: 8 x
 * 16 float are 8 x 4 float4. The bytes of a row, of `b.ld` and in front of a
 * view must be a whole number of elements.
 * Example:
 * local b = cl.buffer("float", {2, 8}, 1)
 * local quads = b:as "float4" -- 2 x 4 becomes 2 x 2 vectors, the same memory
 * quads:fill(3)
 * print(quads.shape[2], b:read():at(2, 8)) --> 2 3.0
 */
static int buffer_as(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  const Type *t = clsh_type_check(L, 2);
  Shape s = b->shape;
  clsh_shape_retype(L, &s, b->type, t);
  if (b->ld * b->type->size % t->size != 0 || b->shift % t->size != 0)
    return clsh_error_arg(L, 2,
                          "this view, or a row of it, begins between "
                          "elements of %s",
                          t->name);
  Buffer *v = newview(L, 1);
  v->type = t;
  v->shape = s;
  v->ld = b->ld * b->type->size / t->size;
  return sharehandle(v, b);
}

/** Buffer:reshape(shape) -> Buffer
 * The same memory under another shape with equally many elements: a view. A
 * matrix with gaps between its rows has no other shape. A size -1 stands for
 * what the others leave: x:reshape{-1, 4} has rows of 4.
 * Example:
 * local A = cl.arange(1, 6):reshape{2, 3}
 * print(A, A:read():at(2, 1)) --> Buffer int[2][3] view 4
 */
static int buffer_reshape(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  Shape s;
  clsh_shape_other(L, b->type, b->shape.count, &s);
  if (s.count != b->shape.count)
    return clsh_error_arg(L, 2, "the Buffer has %I elements, %s has %I",
                          (LUAI_UACINT)b->shape.count,
                          clsh_shape_string(L, &s), (LUAI_UACINT)s.count);
  if (b->ld != b->shape.dim[b->shape.ndims - 1])
    return clsh_error(L,
                      "reshape: the rows have gaps (ld = %I); take a "
                      "b:clone() first",
                      (LUAI_UACINT)b->ld);
  Buffer *v = newview(L, 1);
  v->shape = s;
  v->ld = s.dim[s.ndims - 1];
  return sharehandle(v, b);
}

/* Rows, columns and distance of rows, in bytes; a vector is one row. */
typedef struct Extent {
  size_t rows, width, pitch;
} Extent;

static Extent extent(const Buffer *b) {
  if (b->shape.ndims != 2 || b->ld == b->shape.dim[1])
    return (Extent){1, b->bytes, b->bytes};
  size_t size = b->type->size;
  return (Extent){b->shape.dim[0], b->shape.dim[1] * size, b->ld * size};
}

/*
** Whether `d`, which begins `ahead` bytes behind `b` and has rows as far
** apart, shares an element with it. Its rows may run past the end of a row of
** `b` and on at the beginning of the next row.
*/
static bool interleave(const Extent *b, const Extent *d, size_t ahead) {
  size_t row = ahead / b->pitch, col = ahead % b->pitch;
  return (row < b->rows && col < b->width) ||
         (row + 1 < b->rows && col + d->width > b->pitch);
}

/** Buffer:overlaps(other) -> boolean
 * Whether two buffers have elements in common: the same buffer, or views that
 * meet. Matrices of one leading dimension may lie side by side; for other
 * matrices the gaps between rows count as their elements.
 * Example:
 * local b = cl.buffer("int", 4096)
 * print(b:overlaps(b:view(1, 1024))) --> true
 */
static int buffer_overlaps(lua_State *L) {
  const Buffer *b = clsh_buffer_check(L, 1);
  const Buffer *d = clsh_buffer_check(L, 2);
  if (b->offset > d->offset) {
    const Buffer *swap = b;
    b = d;
    d = swap;
  }
  bool meet = b->root == d->root && b->bytes > 0 && d->bytes > 0 &&
              d->offset < b->offset + b->bytes;
  Extent eb = extent(b), ed = extent(d);
  if (meet && eb.pitch == ed.pitch)
    meet = interleave(&eb, &ed, d->offset - b->offset);
  lua_pushboolean(L, meet);
  return 1;
}

static int buffer_shape(lua_State *L) {
  clsh_shape_push(L, &clsh_buffer_check(L, 1)->shape);
  return 1;
}

/* b.rows, b.cols */
static int buffer_extent(lua_State *L) {
  const Shape *s = &clsh_buffer_check(L, 1)->shape;
  return clsh_shape_pushextent(L, s, clsh_class_field(L));
}

static int buffer_start(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_start(clsh_buffer_check(L, 1)));
  return 1;
}

/* b.address: nil but in shared virtual memory */
static int buffer_address(lua_State *L) {
  const Buffer *b = clsh_buffer_check(L, 1);
  if (b->address == NULL)
    return 0;
  lua_pushinteger(L,
                  (lua_Integer)(uintptr_t)b->address + (lua_Integer)b->offset);
  return 1;
}

/* b[i], pairs(b) */
static int buffer_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING)
    return 0;
  return clsh_error(L, "the elements of a Buffer are on the device; read them "
                       "first: b:read()[1], ipairs(b:read())");
}

/* b[i] = x */
static int buffer_newindex(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING)
    return clsh_error(L, "a Buffer has no field '%s' to set",
                      lua_tostring(L, 2));
  return clsh_error(L,
                    "the elements of a Buffer are on the device; change them "
                    "there: b:write(list), b:fill(x)");
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_buffer_check(L, 1)->shape.count);
  return 1;
}

/** Buffer:info() -> table
 * type, shape, ld, bytes (gaps between rows included), offset (bytes of a view
 * in its buffer), start (elements in front of it in the memory that cl.base
 * passes), view (whether it is a view), access (what kernels may do, see
 * cl.buffer), device (its name).
 * Example:
 * local b = cl.buffer("float", {4, 4}, 0)
 * print(b:info().bytes, b:info().view) --> 64 false
 */
static int buffer_info(lua_State *L) {
  Buffer *b = clsh_buffer_check(L, 1);
  lua_settop(L, 1);
  clsh_class_pushfields(L, "type shape ld bytes offset start");
  lua_pushboolean(L, b->view);
  lua_setfield(L, 2, "view");
  cl_mem_flags flags = 0;
  clGetMemObjectInfo(b->handle, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
  lua_pushstring(L, flags & CL_MEM_READ_ONLY    ? "read_only"
                    : flags & CL_MEM_WRITE_ONLY ? "write_only"
                                                : "read_write");
  lua_setfield(L, 2, "access");
  clsh_context_setdevice(L);
  return 1;
}

static int buffer_tostring(lua_State *L) {
  Buffer *b = clsh_class_any(L, 1, &clsh_buffer_class);
  const char *shape = clsh_shape_string(L, &b->shape);
  lua_pushfstring(L, "Buffer %s%s%s%s", b->type->name, shape,
                  b->view ? " view" : "", b->head.closed ? " (closed)" : "");
  return 1;
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

/* The flags that the options access and host at `arg` ask for. */
cl_mem_flags clsh_buffer_flags(lua_State *L, int arg) {
  static const char *const names[] = {"read_write", "read_only", "write_only",
                                      NULL};
  static const cl_mem_flags flags[] = {CL_MEM_READ_WRITE, CL_MEM_READ_ONLY,
                                       CL_MEM_WRITE_ONLY};
  clsh_option_push(L, arg, "access");
  int i = clsh_option_word(L, -1, names, "access");
  bool host = clsh_option_flag(L, arg, "host", false);
  return flags[i] | (host ? CL_MEM_ALLOC_HOST_PTR : 0);
}

/* The option svm, at the top: 0 none, 1 coarse-grained, 2 fine-grained. */
static int checksvm(lua_State *L, cl_mem_flags flags) {
  static const char *const words[] = {"coarse", "fine", NULL};
  int type = lua_type(L, -1);
  if (type == LUA_TNIL || (type == LUA_TBOOLEAN && !lua_toboolean(L, -1)))
    return 0;
  if ((flags & CL_MEM_ALLOC_HOST_PTR) != 0)
    clsh_error(L, "svm and host name two kinds of memory; give one");
  return type == LUA_TBOOLEAN ? 1 : 1 + clsh_option_word(L, -1, words, "svm");
}

typedef void *(CL_API_CALL *Allocator)(cl_context, cl_mem_flags, size_t,
                                       cl_uint);
typedef void(CL_API_CALL *Freer)(cl_context, void *);

/* Shared virtual memory: one address for the host and for kernels. */
typedef struct Svm {
  cl_context context;
  void *address;
  Freer free;
} Svm;

/*
** Memory of `bytes` bytes for the context, which may end before it; NULL:
** there is too little. Raises where the device has no memory of the kind.
*/
static Svm *newsvm(lua_State *L, Context *c, bool fine, size_t bytes) {
  static const char *const instead =
      "pass Buffers, and indexes in place of pointers";
  cl_bitfield has = 0;
  Allocator alloc;
  Freer release;
  clGetDeviceInfo(c->device, CAPABILITIES, sizeof has, &has, NULL);
  if ((has & (fine ? FINE : COARSE)) == 0)
    clsh_error_call(L, CL_INVALID_OPERATION, "clSVMAlloc",
                    "the device has no %sshared virtual memory; %s",
                    fine ? "fine-grained " : "",
                    fine && has != 0 ? "svm = true serves here" : instead);
  clsh_context_function(L, c, 200, "clSVMAlloc", instead, &alloc);
  clsh_context_function(L, c, 200, "clSVMFree", instead, &release);
  cl_context handle = clsh_context_handle(L, c);
  Svm *s = malloc(sizeof *s);
  if (s == NULL)
    return NULL;
  *s = (Svm){handle, NULL, release};
  s->address =
      alloc(handle, CL_MEM_READ_WRITE | (fine ? FLAG_FINE : 0), bytes, 0);
  if (s->address == NULL) {
    free(s);
    return NULL;
  }
  clRetainContext(handle);
  return s;
}

static void freesvm(Svm *s) {
  s->free(s->context, s->address);
  clReleaseContext(s->context);
  free(s);
}

/* On a driver's thread: no command uses the memory any more. */
static void CL_CALLBACK onsvmend(cl_mem mem, void *svm) {
  (void)mem;
  freesvm(svm);
}

/* Has the memory freed at the end of a buffer that uses it. */
static cl_int givesvm(Svm *s, cl_mem mem) {
  return clSetMemObjectDestructorCallback(mem, onsvmend, s);
}

/* A memory object over shared virtual memory, which the object's end frees. */
static cl_mem newshared(lua_State *L, Buffer *b, int svm, cl_mem_flags flags,
                        cl_int *err) {
  Svm *s = newsvm(L, b->context, svm == 2, heldbytes(b));
  *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (s == NULL)
    return NULL;
  b->address = s->address;
  cl_mem mem = clCreateBuffer(b->context->handle, flags | CL_MEM_USE_HOST_PTR,
                              heldbytes(b), b->address, err);
  if (*err == CL_SUCCESS && (*err = givesvm(s, mem)) == CL_SUCCESS)
    return mem;
  if (mem != NULL)
    clReleaseMemObject(mem);
  freesvm(s);
  return NULL;
}

/* Raises unless the value at 3 can be the memory of the Buffer at 7. */
static void checkhosted(lua_State *L, const Buffer *b, cl_mem_flags flags,
                        int svm) {
  if ((flags & CL_MEM_ALLOC_HOST_PTR) != 0 || svm != 0)
    clsh_error(L, "use_host_ptr, host and svm name kinds of memory; give one");
  const Array *a = clsh_array_test(L, 3);
  if (a == NULL)
    clsh_error_arg(L, 3, "use_host_ptr: must be an open Array; got %s",
                   clsh_class_name(L, 3));
  else if (a->type != b->type || clsh_array_bytes(a) != b->bytes)
    clsh_error_arg(L, 3,
                   "use_host_ptr: the Array is %s; a Buffer %s%s needs %I "
                   "bytes of that type",
                   clsh_array_name(L, a), b->type->name,
                   clsh_shape_string(L, &b->shape), (LUAI_UACINT)b->bytes);
}

/* On a driver's thread: no command uses the memory any more. */
static void CL_CALLBACK onend(cl_mem mem, void *block) {
  (void)mem;
  clsh_array_giveback(block);
}

/* A memory object over the memory of the Array at 3. */
static cl_mem newhosted(lua_State *L, Buffer *b, cl_mem_flags flags,
                        cl_int *err) {
  cl_context context = clsh_context_handle(L, b->context);
  Block *block = clsh_array_lend(L, 3);
  cl_mem mem = clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR,
                              heldbytes(b), block->data, err);
  if (*err == CL_SUCCESS)
    *err = clSetMemObjectDestructorCallback(mem, onend, block);
  if (*err == CL_SUCCESS)
    return mem;
  if (mem != NULL)
    clReleaseMemObject(mem);
  clsh_array_giveback(block);
  if (*err == CL_INVALID_OPERATION)
    clsh_error_call(L, *err, "clCreateBuffer",
                    "the driver takes no memory of an Array; leave "
                    "use_host_ptr out, which copies it");
  return NULL;
}

/*
** Takes held memory for the buffer; false: no memory of its size may be taken.
** `behind`: its first command is on its context's default queue.
*/
static bool takeheld(lua_State *L, Buffer *b, bool behind) {
  Context *c = b->context;
  if (!b->kept || clsh_event_recording() || /* a run may be on any queue */
      !clsh_heldmemory_has(&c->hold, heldbytes(b)))
    return false;
  lua_getiuservalue(L, -1, 1);
  Queue *q = clsh_queue_push(L, -1);
  if (behind || clsh_event_none(L, q))
    b->handle = b->root = clsh_context_takeheld(c, heldbytes(b));
  lua_pop(L, 2);
  return b->handle != NULL;
}

/*
** Makes the memory of the buffer at the top, whose other fields are set; see
** takeheld.
*/
static void allocate(lua_State *L, Buffer *b, cl_mem_flags flags, int svm,
                     bool behind) {
  int tries = 0;
  cl_int err;
  if (takeheld(L, b, behind))
    return;
  clsh_context_reserve(L, b->context, ownbytes(b), "clCreateBuffer", "buffer");
  if (takeheld(L, b, behind)) /* garbage was collected */
    return;
  do
    b->handle = svm != 0 ? newshared(L, b, svm, flags, &err)
                : b->hosted
                    ? newhosted(L, b, flags, &err)
                    : clCreateBuffer(clsh_context_handle(L, b->context), flags,
                                     heldbytes(b), NULL, &err);
  while (clsh_error_retry(L, err, &tries));
  if (err != CL_SUCCESS)
    clsh_error_call(L, err, "clCreateBuffer", "asked for %I bytes",
                    (LUAI_UACINT)b->bytes);
  b->root = b->handle;
  clsh_context_take(b->context, ownbytes(b));
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

/** cl.buffer(type, shape [, init [, opts]]) -> Buffer
 * Typed memory on the device. `type` is an OpenCL C name ("float", "int",
 * "float4"), `shape` a number of elements or a list of 1 to 4 dimensions,
 * row-major; a size may be 0. `init`: a number (fills), an Array, a nested
 * table, or a function of the indexes; without it the content is undefined.
 * `b.type`, `b.shape`, `b.rows`, `b.cols`, `b.ld`, `b.bytes`, `#b` (elements).
 * A size beyond the device's limit, or beyond the rest of its memory, raises
 * with the numbers.
 * Options:
 *   ld            columns     elements from row to row of two dimensions
 *   access        read_write  "read_only" or "write_only": what kernels do
 *   host          false       true: memory that maps fast
 *   use_host_ptr  false       true: the memory of `init`, an Array, itself
 *   svm           false       true or "fine": shared virtual memory: see ?svm
 *   context       session's   the Context of another device
 * Example:
 * local b = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
 * print(b.bytes, b:read():at(2, 3)) --> 24 6.0
 * local padded = cl.buffer("float", {2, 3}, 0, {ld = 16})
 * print(padded.ld, padded.bytes) --> 16 128
 */
static int cl_buffer(lua_State *L) {
  char element[128];
  lua_settop(L, 4);
  const Type *t = clsh_type_check(L, 1);
  Shape s;
  clsh_shape_check(L, 2, t, &s);
  if (lua_type(L, 3) == LUA_TNUMBER)
    clsh_type_element(L, 3, t, element);
  clsh_option_check(L, 4, "ld access host use_host_ptr svm context",
                    "cl.buffer");
  size_t ld = checkld(L, 4, &s);
  size_t cols = s.dim[s.ndims - 1], rows = cols > 0 ? s.count / cols : 0;
  if (rows > 0 && ld > SIZE_MAX / 2 / t->size / rows)
    clsh_error(L, "ld: %I elements in %I rows are too many", (LUAI_UACINT)ld,
               (LUAI_UACINT)rows);
  cl_mem_flags flags = clsh_buffer_flags(L, 4);
  clsh_option_push(L, 4, "svm");
  int svm = checksvm(L, flags);
  lua_settop(L, 4);
  clsh_option_push(L, 4, "context");
  clsh_context_push(L, 5);
  Buffer *b = newbuffer(L, 6);
  b->type = t;
  b->shape = s;
  b->ld = ld;
  b->bytes = b->reach = rows * ld * t->size;
  b->hosted = clsh_option_flag(L, 4, "use_host_ptr", false);
  if (b->hosted)
    checkhosted(L, b, flags, svm);
  b->kept = flags == CL_MEM_READ_WRITE && svm == 0 && !b->hosted;
  b->order = b->context->order > 0 ? b->context->order : 1; /* the first */
  allocate(L, b, flags, svm, !lua_isnil(L, 3));
  if (!lua_isnil(L, 3) && !b->hosted)
    writeinit(L, 7, 3);
  lua_settop(L, 7);
  return 1;
}

/* The hook result. */
static int hook_result(lua_State *L) {
  const Type *t = clsh_type_check(L, 1);
  Shape s;
  lua_settop(L, 3);
  clsh_shape_check(L, 2, t, &s);
  Buffer *b = newbuffer(L, 3);
  b->type = t;
  b->shape = s;
  b->ld = s.dim[s.ndims - 1];
  b->bytes = b->reach = s.count * t->size;
  clsh_queue_push(L, 3); /* a new queue may use no memory of the last */
  lua_pop(L, 1);
  b->kept = true;
  b->order = b->context->order;
  allocate(L, b, CL_MEM_READ_WRITE, 0, true);
  clsh_context_press(L, b->context, b->bytes); /* held memory counts as well */
  return 1;
}

/* The text of a key that is being made; `fits` is false once it is full. */
typedef struct Key {
  char text[512];
  size_t length;
  bool fits;
} Key;

static void addtokey(Key *k, char kind, const void *bytes, size_t n) {
  if (n > 255 || k->length + n + 2 > sizeof k->text) {
    k->fits = false;
    return;
  }
  k->text[k->length++] = kind;
  k->text[k->length++] = (char)n;
  memcpy(k->text + k->length, bytes, n);
  k->length += n;
}

/* Whether the value at `i` is an open object of the class Packed of Lua, whose
** metatable is at 1. */
static bool ispacked(lua_State *L, int i) {
  if (!lua_istable(L, i) || !lua_getmetatable(L, i))
    return false;
  bool is = lua_rawequal(L, -1, 1);
  lua_pushliteral(L, "closed");
  lua_rawget(L, i);
  is = is && !lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

/* Adds the value at `i`, of an option if `option`. */
static void addvalue(lua_State *L, Key *k, int i, bool option) {
  int type = option ? lua_type(L, i) : LUA_TNONE;
  if (clsh_buffer_test(L, i) != NULL || ispacked(L, i)) {
    const void *address = lua_topointer(L, i);
    addtokey(k, 'o', &address, sizeof address);
  } else if (type == LUA_TSTRING) {
    size_t n;
    const char *s = lua_tolstring(L, i, &n);
    addtokey(k, 's', s, n);
  } else if (type == LUA_TNUMBER && lua_isinteger(L, i)) {
    lua_Integer x = lua_tointeger(L, i);
    addtokey(k, 'i', &x, sizeof x);
  } else if (type == LUA_TNUMBER) {
    lua_Number x = lua_tonumber(L, i);
    addtokey(k, 'n', &x, sizeof x);
  } else if (type == LUA_TBOOLEAN) {
    addtokey(k, lua_toboolean(L, i) ? 't' : 'f', "", 0);
  } else {
    k->fits = false;
  }
}

/*
** The hook call_key: (metatable of packed operands, n, n operands [, table of
** options, or the Event of the call that gave the last operand]).
*/
static int hook_callkey(lua_State *L) {
  Key k = {.fits = true};
  int opts = 3 + (int)lua_tointeger(L, 2);
  k.fits = lua_gettop(L) <= opts;
  lua_settop(L, opts);
  for (int i = 3; i < opts; i++)
    addvalue(L, &k, i, false);
  if (luaL_getmetafield(L, opts, "__name") != LUA_TNIL) {
    const char *name = lua_tostring(L, -1);
    k.fits = k.fits && name != NULL && strncmp(name, "Event", 5) == 0;
  } else if (lua_istable(L, opts)) {
    bool plain = !lua_getmetatable(L, opts);
    lua_settop(L, opts);
    k.fits = k.fits && plain;
    for (lua_pushnil(L); k.fits && lua_next(L, opts) != 0; lua_pop(L, 1)) {
      addvalue(L, &k, opts + 1, true);
      addvalue(L, &k, opts + 2, true);
    }
  } else if (!lua_isnil(L, opts)) {
    k.fits = false;
  }
  if (!k.fits)
    return 0;
  lua_pushlstring(L, k.text, k.length);
  return 1;
}

static const luaL_Reg methods[] = {{"as", buffer_as},
                                   {"info", buffer_info},
                                   {"matrix", buffer_matrix},
                                   {"overlaps", buffer_overlaps},
                                   {"reshape", buffer_reshape},
                                   {"view", buffer_view},
                                   {NULL, NULL}};
static const luaL_Reg fields[] = {
    {"address", buffer_address}, {"cols", buffer_extent},
    {"rows", buffer_extent},     {"shape", buffer_shape},
    {"start", buffer_start},     {NULL, NULL}};
static const Field plain[] = {{"bytes", 'n', offsetof(Buffer, bytes)},
                              {"context", 'u', 1},
                              {"ld", 'n', offsetof(Buffer, ld)},
                              {"offset", 'n', offsetof(Buffer, offset)},
                              {"type", 't', offsetof(Buffer, type)},
                              {0}};
static const luaL_Reg meta[] = {{"__len", buffer_len},
                                {"__newindex", buffer_newindex},
                                {"__pairs", buffer_index},
                                {"__tostring", buffer_tostring},
                                {NULL, NULL}};
const Class clsh_buffer_class = {"Buffer",      sizeof(Buffer), methods,
                                 fields,        meta,           buffer_index,
                                 buffer_release};

void clsh_buffer_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"buffer", cl_buffer}, {NULL, NULL}};
  clsh_class_define(L, &clsh_buffer_class);
  clsh_class_addfields(L, &clsh_buffer_class, plain);
  luaL_setfuncs(L, functions, 0);
  lua_pushcfunction(L, hook_result);
  clsh_hook_set(L, "result");
  lua_pushcfunction(L, hook_callkey);
  clsh_hook_set(L, "call_key");
}
