/*
** kernel.c - class Kernel: a kernel function, its parameters and limits.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "driver.h"
#include "flight.h"
#include "kernel.h"
#include "program.h"

#define MAXPARAMS 65536 /* a driver that tells of more is wrong */

#define SIZE_FOR_NDRANGE 0x2033 /* of cl_kernel_sub_group_info */
#define COUNT_FOR_NDRANGE 0x2034
#define COMPILE_COUNT 0x11BA

typedef cl_int(CL_API_CALL *Getter)(cl_kernel, cl_device_id, cl_uint, size_t,
                                    const void *, size_t, void *, size_t *);

#define SVM_PTRS 0x11B6 /* CL_KERNEL_EXEC_INFO_SVM_PTRS */

typedef cl_int(CL_API_CALL *UsesSetter)(cl_kernel, cl_uint, size_t,
                                        const void *);

static void kernel_release(Object *o) {
  Kernel *k = (Kernel *)o;
  if (k->handle != NULL && !clsh_driver_handsoff())
    clReleaseKernel(k->handle);
  k->handle = NULL;
}

static const Class class;

Kernel *clsh_kernel_check(lua_State *L, int arg) {
  Kernel *k = clsh_class_check(L, arg, &class);
  clsh_context_alive(L, k->context);
  if (k->handle == NULL)
    clsh_error(L, "the file of this program has no kernel '%s' any more",
               k->name);
  return k;
}

/*
** The most work-items of a group. A kernel that requires a group size runs in
** it, whatever limit the driver tells: NVIDIA's tells 256 for 1024.
*/
static size_t grouplimit(const Kernel *k) {
  size_t required = k->required[0] * k->required[1] * k->required[2];
  return required > k->group ? required : k->group;
}

static void groupinfo(const Kernel *k, cl_kernel_work_group_info what,
                      size_t size, void *p) {
  clGetKernelWorkGroupInfo(k->handle, k->context->device, what, size, p,
                           NULL); /* p keeps its default */
}

/* NVIDIA's driver counts a byte of its own; a kernel without any has that. */
cl_ulong clsh_kernel_local(const Kernel *k) {
  cl_ulong bytes = 0;
  groupinfo(k, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes);
  return bytes == 1 && k->context->limits.reserve > 0 ? 0 : bytes;
}

static bool isnamechar(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Removes a whole word wherever it stands in a type; false: nowhere. */
static bool dropword(char *type, const char *word) {
  size_t n = strlen(word);
  bool found = false;
  for (char *p = strstr(type, word); p != NULL; p = strstr(p, word)) {
    if ((p == type || !isnamechar(p[-1])) && !isnamechar(p[n])) {
      memmove(p, p + n, strlen(p + n) + 1);
      found = true;
    } else {
      p += n;
    }
  }
  return found;
}

/* Pushes a declared type without its qualifiers: "T *" for "const T *". */
const char *clsh_kernel_pushtype(lua_State *L, const Param *p) {
  static const char *const noise[] = {"const",    "volatile",   "restrict",
                                      "__global", "__constant", "__local",
                                      "global",   "constant",   "local"};
  char text[sizeof p->type];
  snprintf(text, sizeof text, "%s", p->type);
  for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
    dropword(text, noise[i]);
  return lua_pushstring(L, text);
}

/*
** Finds the element type in a declared type: drivers write "float*" or
** "const float *", "unsigned int" or "uint".
*/
static void parsetype(lua_State *L, Param *p) {
  char text[sizeof p->type], word[sizeof p->type];
  size_t n = 0;
  strcpy(text, clsh_kernel_pushtype(L, p));
  lua_pop(L, 1);
  if (dropword(text, "unsigned")) /* longer than the 'u' for it */
    word[n++] = 'u';
  dropword(text, "signed");
  for (const char *s = text; *s != '\0'; s++) {
    if (*s == '*')
      p->pointer = true;
    else if (!isspace((unsigned char)*s))
      word[n++] = *s;
  }
  assert(n < sizeof word);
  word[n] = '\0';
  if (strcmp(word, "u") == 0)
    strcpy(word, "uint");
  p->value = clsh_type_find(word, strlen(word));
  p->anything = p->pointer && strcmp(word, "void") == 0;
}

/*
** Finds images and samplers, which drivers tell as global or private. The type
** of an image gets its access as the first word.
*/
static void parseobject(lua_State *L, const Kernel *k, cl_uint i, Param *p) {
  static const char *const words[] = {"read_only", "write_only", "read_write"};
  char text[sizeof p->type], word[sizeof p->type];
  cl_kernel_arg_access_qualifier access = 0;
  snprintf(text, sizeof text, "%s", clsh_kernel_pushtype(L, p));
  lua_pop(L, 1);
  for (int w = 0; w < 3; w++) {
    snprintf(word, sizeof word, "__%s", words[w]);
    dropword(text, word);
    dropword(text, words[w]);
  }
  if (sscanf(text, "%63s", word) != 1 || p->pointer)
    return;
  size_t n = strlen(word);
  if (strcmp(word, "sampler_t") == 0)
    p->object = 's';
  else if (strncmp(word, "image", 5) == 0 && n > 8 && word[6] == 'd' &&
           strcmp(word + n - 2, "_t") == 0)
    p->object = 'i';
  else
    return;
  p->space = 'p';
  clGetKernelArgInfo(k->handle, i, CL_KERNEL_ARG_ACCESS_QUALIFIER,
                     sizeof access, &access, NULL);
  bool both = access == CL_KERNEL_ARG_ACCESS_READ_WRITE;
  p->reads = both || access == CL_KERNEL_ARG_ACCESS_READ_ONLY;
  p->writes = both || access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
  snprintf(p->type, sizeof p->type, "%s%.40s",
           both        ? "read_write "
           : p->writes ? "write_only "
           : p->reads  ? "read_only "
                       : "",
           word);
}

static void getparam(lua_State *L, const Kernel *k, cl_uint i, Param *p) {
  cl_kernel_arg_address_qualifier space = 0;
  p->known = clGetKernelArgInfo(k->handle, i, CL_KERNEL_ARG_TYPE_NAME,
                                sizeof p->type, p->type, NULL) == CL_SUCCESS &&
             p->type[0] != '\0';
  if (clGetKernelArgInfo(k->handle, i, CL_KERNEL_ARG_NAME, sizeof p->name,
                         p->name, NULL) != CL_SUCCESS)
    p->name[0] = '\0';
  p->type[sizeof p->type - 1] = p->name[sizeof p->name - 1] = '\0';
  if (clGetKernelArgInfo(k->handle, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                         sizeof space, &space, NULL) != CL_SUCCESS)
    p->known = false;
  cl_kernel_arg_type_qualifier qualifier = 0;
  clGetKernelArgInfo(k->handle, i, CL_KERNEL_ARG_TYPE_QUALIFIER,
                     sizeof qualifier, &qualifier, NULL);
  p->constant = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
  p->space = space == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? 'g'
             : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? 'c'
             : space == CL_KERNEL_ARG_ADDRESS_LOCAL    ? 'l'
                                                       : 'p';
  if (p->known) {
    parsetype(L, p);
    parseobject(L, k, i, p);
  }
  p->pointer = p->pointer || p->space != 'p'; /* a typedef hides the star */
}

/* Whether the program of the kernel was built as OpenCL C 2.0 or later. */
static bool built2(lua_State *L, int program) {
  lua_getfield(L, program, "options");
  const char *s = strstr(luaL_optstring(L, -1, ""), "-cl-std=CL");
  lua_pop(L, 1);
  return s != NULL && s[10] >= '2';
}

/* Whether the program's own source calls printf. */
static bool prints(lua_State *L, int program) {
  lua_getiuservalue(L, program, PROGRAM_SOURCE);
  const char *s = lua_tostring(L, -1);
  bool found = s != NULL && strstr(s, "printf") != NULL;
  lua_pop(L, 1);
  return found;
}

/*
** Pushes the kernel `name` of the Program at `program`, whose handle is
** `handle`; NULL, with nothing pushed, if it has no kernel of that name.
*/
Kernel *clsh_kernel_new(lua_State *L, int program, cl_program handle,
                        const char *name) {
  program = lua_absindex(L, program);
  cl_uint n = 0;
  cl_int err;
  Kernel *k = clsh_class_newowned(L, &class, KERNEL_MARKED, program);
  lua_getfield(L, program, "context");
  k->context = clsh_context_check(L, -1);
  lua_setiuservalue(L, -2, KERNEL_CONTEXT);
  snprintf(k->name, sizeof k->name, "%s", name);
  k->handle = clCreateKernel(handle, name, &err);
  if (err == CL_INVALID_KERNEL_NAME) {
    lua_pop(L, 1);
    return NULL;
  }
  clsh_error_check(L, err, "clCreateKernel");
  if (strlen(name) > MAXKERNELNAME)
    clsh_error(L, "a kernel's name may have %d letters; got %d in '%s'",
               MAXKERNELNAME, (int)strlen(name), name);
  err = clGetKernelInfo(k->handle, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
  clsh_error_check(L, err, "clGetKernelInfo");
  if (n > MAXPARAMS)
    clsh_error(L,
               "%s: the driver tells of %I arguments; a kernel has at most "
               "%d",
               name, (LUAI_UACINT)n, MAXPARAMS);
  k->params = lua_newuserdatauv(L, (n + 1) * sizeof *k->params, 0);
  memset(k->params, 0, (n + 1) * sizeof *k->params);
  lua_setiuservalue(L, -2, KERNEL_PARAMS);
  for (cl_uint i = 0; i < n; i++)
    getparam(L, k, i, &k->params[i]);
  k->nparams = (int)n;
  k->group = k->context->limits.group;
  groupinfo(k, CL_KERNEL_WORK_GROUP_SIZE, sizeof k->group, &k->group);
  groupinfo(k, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof k->required,
            k->required);
  k->group = grouplimit(k);
  if (k->context->limits.pretended && k->group > k->context->limits.group)
    k->group = k->context->limits.group;
  k->nonuniform = built2(L, program);
  k->prints = prints(L, program);
  return k;
}

/*
** Makes the open Kernel at `old` the kernel of its program's new build: the
** two exchange all they hold. No Kernel at `new`: the program has no kernel of
** this name any more. Allocates nothing.
*/
void clsh_kernel_renew(lua_State *L, int old, int new) {
  Kernel *k = lua_touserdata(L, old);
  Kernel *n = clsh_class_test(L, new, &class);
  assert(k->head.class == &class && !k->head.closed);
  int revision = k->revision + 1;
  lua_pushnil(L);
  lua_setiuservalue(L, old, KERNEL_MARKED);
  if (n == NULL) {
    kernel_release(&k->head);
  } else {
    Kernel before = *k;
    *k = *n;
    *n = before;
    n->head = k->head;
    k->head = before.head;
    lua_getiuservalue(L, old, KERNEL_PARAMS);
    lua_getiuservalue(L, new, KERNEL_PARAMS);
    lua_setiuservalue(L, old, KERNEL_PARAMS);
    lua_setiuservalue(L, new, KERNEL_PARAMS);
  }
  k->revision = revision;
}

/*
** Enqueues a kernel object, whose arguments are set, over a range. Held memory
** goes back where the driver has too little.
*/
cl_int clsh_kernel_enqueue(cl_kernel handle, const Range *r,
                           cl_command_queue q, const After *after,
                           cl_event *slot) {
  const size_t *offset = r->hasoffset ? r->offset : NULL;
  const size_t *local = r->haslocal ? r->local : NULL;
  cl_int err;
  for (cl_uint i = 0; i < r->dims; i++)
    if (r->global[i] == 0) /* OpenCL before 2.1 refuses it */
      return clEnqueueMarkerWithWaitList(q, after->n, after->list, slot);
  do
    err = clEnqueueNDRangeKernel(q, handle, r->dims, offset, r->global, local,
                                 after->n, after->list, slot);
  while (clsh_heldmemory_retry(err));
  return err;
}

/* Adds the range to the note of a launch, and returns the note's number. */
unsigned clsh_kernel_note(const Range *r) {
  return clsh_flight_launch(r->dims, r->global, r->haslocal ? r->local : NULL,
                            r->hasoffset ? r->offset : NULL);
}

/* The word of a parameter's address space. */
const char *clsh_kernel_spacename(char space) {
  return space == 'g'   ? "global"
         : space == 'c' ? "constant"
         : space == 'l' ? "local"
                        : "private";
}

static int kernel_args(lua_State *L) {
  Kernel *k = clsh_kernel_check(L, 1);
  lua_createtable(L, k->nparams, 0);
  for (int i = 0; i < k->nparams; i++) {
    const Param *p = &k->params[i];
    lua_createtable(L, 0, 4);
    clsh_field_string(L, "name", p->name);
    clsh_field_string(L, "type", p->known ? p->type : "?");
    clsh_field_string(L, "space",
                      p->known ? clsh_kernel_spacename(p->space) : "?");
    if (p->constant)
      clsh_field_boolean(L, "const", 1);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int kernel_multiple(lua_State *L) {
  size_t n = 1;
  groupinfo(clsh_kernel_check(L, 1),
            CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof n, &n);
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

/* The largest global size of the kernel, where the driver tells it. */
static cl_int globalsize(const Kernel *k, size_t sizes[3]) {
  return clGetKernelWorkGroupInfo(k->handle, k->context->device,
                                  CL_KERNEL_GLOBAL_WORK_SIZE,
                                  3 * sizeof *sizes, sizes, NULL);
}

/*
** k.global_work_size: drivers refuse the question for kernels that run over
** any range.
*/
static int kernel_global(lua_State *L) {
  size_t sizes[3];
  const Kernel *k = clsh_kernel_check(L, 1);
  cl_int err = globalsize(k, sizes);
  if (err == CL_INVALID_VALUE)
    return clsh_error_call(L, err, "clGetKernelWorkGroupInfo",
                           "%s: only built-in kernels and kernels of custom "
                           "devices have a global_work_size; this kernel "
                           "runs over any range",
                           k->name);
  clsh_error_check(L, err, "clGetKernelWorkGroupInfo");
  clsh_shape_pushsizes(L, sizes, 3);
  return 1;
}

static int kernel_localmem(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)clsh_kernel_local(clsh_kernel_check(L, 1)));
  return 1;
}

static int kernel_privatemem(lua_State *L) {
  cl_ulong bytes = 0;
  groupinfo(clsh_kernel_check(L, 1), CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes,
            &bytes);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 1;
}

static int kernel_required(lua_State *L) {
  Kernel *k = clsh_kernel_check(L, 1);
  if (k->required[0] == 0)
    return 0;
  clsh_shape_pushsizes(L, k->required, 3);
  return 1;
}

static const luaL_Reg fields[] = {
    {"args", kernel_args},
    {"global_work_size", kernel_global},
    {"local_mem_size", kernel_localmem},
    {"preferred_multiple", kernel_multiple},
    {"private_mem_size", kernel_privatemem},
    {"required_work_group_size", kernel_required},
    {NULL, NULL}};
static const Field plain[] = {
    {"name", 's', offsetof(Kernel, name)},
    {"program", 'u', KERNEL_PROGRAM},
    {"work_group_size", 'n', offsetof(Kernel, group)},
    {0}};

/** Kernel:info() -> table
 * name, args (list of {name, type, space, const}), work_group_size (work-items
 * in a group at most, for this kernel), required_work_group_size (of its
 * attribute, or nil), preferred_multiple (of the local size), local_mem_size
 * (bytes, without local arguments), private_mem_size (bytes a work-item),
 * global_work_size (the largest range, of built-in kernels and on custom
 * devices; nil for other kernels, whose field raises). Each is a field of the
 * kernel too: `k.args`.
 * Example:
 * local k = cl.kernel "kernel void f(global float *x, int n) { x[n] = 0; }"
 * print(k.args[2].name, k.args[2].type) --> n int
 * print(k.work_group_size >= 1, k.preferred_multiple >= 1) --> true true
 */
static int kernel_info(lua_State *L) {
  size_t sizes[3];
  const Kernel *k = clsh_kernel_check(L, 1);
  bool limited = globalsize(k, sizes) == CL_SUCCESS;
  lua_settop(L, 1);
  clsh_class_pushfields(L, "name work_group_size");
  for (const luaL_Reg *f = fields; f->name != NULL; f++)
    if (limited || f->func != kernel_global) {
      lua_getfield(L, 1, f->name);
      lua_setfield(L, 2, f->name);
    }
  return 1;
}

/** Kernel:sub_groups(local) -> table
 * How a work-group of a local size (as Kernel:range takes it) falls into
 * sub-groups, NVIDIA's warps: `size`, the work-items of the largest, `count`,
 * and `required`, the count of the kernel's attribute, or nil. A device needs
 * OpenCL 2.1 and sub-groups; elsewhere `k.preferred_multiple` is the width
 * that the device works in.
 * Example:
 * local k = cl.kernel "kernel void one(global int *x) { x[0] = 1; }"
 * local fine, groups = pcall(k.sub_groups, k, {16, 16})
 * print(fine and groups.size or k.preferred_multiple) -- 32, say
 */
static int kernel_subgroups(lua_State *L) {
  static const char *const instead =
      "k.preferred_multiple is the width that it works in";
  size_t local[3] = {1, 1, 1}, size = 0, count = 0, required = 0;
  Getter get;
  Kernel *k = clsh_kernel_check(L, 1);
  int dims = clsh_shape_sizes(L, 2, "local", 3, 1, local);
  clsh_context_function(L, k->context, 210, "clGetKernelSubGroupInfo", instead,
                        &get);
  cl_device_id d = k->context->device;
  size_t bytes = (size_t)dims * sizeof *local;
  cl_int err = get(k->handle, d, SIZE_FOR_NDRANGE, bytes, local, sizeof size,
                   &size, NULL);
  if (err == CL_SUCCESS)
    err = get(k->handle, d, COUNT_FOR_NDRANGE, bytes, local, sizeof count,
              &count, NULL);
  if (err == CL_INVALID_OPERATION || (err == CL_SUCCESS && size == 0))
    clsh_error_call(L, CL_INVALID_OPERATION, "clGetKernelSubGroupInfo",
                    "the device has no sub-groups; %s", instead);
  clsh_error_check(L, err, "clGetKernelSubGroupInfo");
  get(k->handle, d, COMPILE_COUNT, 0, NULL, sizeof required, &required, NULL);
  lua_createtable(L, 0, 3);
  clsh_field_integer(L, "size", size);
  clsh_field_integer(L, "count", count);
  if (required > 0)
    clsh_field_integer(L, "required", required);
  return 1;
}

/* Tells the driver the Buffers in the table at `list`. */
static void telluses(lua_State *L, const Kernel *k, cl_kernel handle,
                     int list) {
  UsesSetter set;
  size_t n = lua_rawlen(L, list);
  clsh_context_function(L, k->context, 200, "clSetKernelExecInfo",
                        "pass the Buffers as arguments", &set);
  const void **p = lua_newuserdatauv(L, (n + 1) * sizeof *p, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    p[i] = ((const Buffer *)lua_touserdata(L, -1))->address;
    lua_pop(L, 1);
  }
  cl_int err =
      set(handle, SVM_PTRS, n * sizeof *p, n > 0 ? (const void *)p : NULL);
  if (n == 0 && err == CL_INVALID_VALUE)
    err = CL_SUCCESS; /* NVIDIA's driver keeps the earlier pointers */
  clsh_error_check(L, err, "clSetKernelExecInfo");
  lua_pop(L, 1);
}

/* Tells the driver the uses of the Kernel at `kernel` for another handle too;
** pushes their list, or nil. */
void clsh_kernel_copyuses(lua_State *L, int kernel, cl_kernel handle) {
  const Kernel *k = clsh_kernel_check(L, kernel);
  if (lua_getiuservalue(L, kernel, KERNEL_USES) != LUA_TNIL)
    telluses(L, k, handle, lua_gettop(L));
}

/*
** The Kernel at `kernel` with marks, which take two arguments behind its own;
** NULL where its source has none. The hook `marked` builds it once.
*/
Kernel *clsh_kernel_marked(lua_State *L, int kernel) {
  const Kernel *k = clsh_kernel_check(L, kernel);
  int top = lua_gettop(L);
  if (lua_getiuservalue(L, kernel, KERNEL_MARKED) == LUA_TNIL &&
      clsh_hook_push(L, "marked") == LUA_TFUNCTION) {
    lua_pushvalue(L, kernel);
    lua_call(L, 1, 1);
    const Kernel *n = clsh_class_test(L, -1, &class);
    if (n == NULL || n->nparams != k->nparams + 2)
      lua_pushboolean(L, 0);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, kernel, KERNEL_MARKED);
  }
  Kernel *marked = clsh_class_test(L, -1, &class);
  if (marked != NULL) {
    marked->params = k->params;
    marked->nparams = k->nparams;
    clsh_kernel_copyuses(L, kernel, marked->handle);
  }
  lua_settop(L, top);
  return marked;
}

/** Kernel:uses(list) -> Kernel
 * Tells the driver which Buffers of shared virtual memory (svm = true) the
 * kernel reaches by addresses in its data, not by its parameters; {} for none.
 * The kernel keeps them from being collected. It must not reach closed Buffers
 * any more. After Program:rebuild the kernel needs this call again.
 * Example:
 * if cl.device().svm_capabilities then
 *   local node = cl.struct "struct node {global struct node *next; int x;};"
 *   local b = cl.buffer("uchar", {2, node.size}, 0, {svm = true})
 *   node:write(b, {{next = b.address + node.size, x = 1}, {x = 2}})
 *   local k = cl.kernel(node.source .. [[
 *     kernel void last(global struct node *n, global int *x) {
 *       while (n->next != 0) n = n->next;
 *       *x = n->x;
 *     }]])
 *   local x = cl.buffer("int", 1)
 *   k:uses{b}:range(1)(b, x)
 *   print(x:read()[1]) -- 2
 * end
 */
static int kernel_uses(lua_State *L) {
  Kernel *k = clsh_kernel_check(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  size_t n = lua_rawlen(L, 2);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    const Buffer *b = clsh_buffer_test(L, -1);
    if (b == NULL || b->address == NULL)
      clsh_error_arg(L, 2, "element %d must be a Buffer made with svm = true",
                     (int)i + 1);
    if (!clsh_context_shares(b->context, k->context))
      clsh_error_arg(L, 2, "Buffer %d is of another context (device)",
                     (int)i + 1);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 1, KERNEL_USES);
  telluses(L, k, k->handle, 3);
  lua_settop(L, 1);
  return 1;
}

/* kernel axpy(float a, global const float* x) */
static int kernel_tostring(lua_State *L) {
  Kernel *k = clsh_class_any(L, 1, &class);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "kernel ");
  luaL_addstring(&b, k->name);
  luaL_addchar(&b, '(');
  for (int i = 0; i < k->nparams; i++) {
    const Param *p = &k->params[i];
    luaL_addstring(&b, i > 0 ? ", " : "");
    if (p->known && p->space != 'p') {
      luaL_addstring(&b, clsh_kernel_spacename(p->space));
      bool told = p->space != 'g' || strstr(p->type, "const") != NULL;
      luaL_addstring(&b, p->constant && !told ? " const " : " ");
    }
    luaL_addstring(&b, p->known ? p->type : "?");
    luaL_addstring(&b, p->name[0] != '\0' ? " " : "");
    luaL_addstring(&b, p->name);
  }
  luaL_addstring(&b, k->head.closed ? ") (closed)" : ")");
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = {{"info", kernel_info},
                                   {"sub_groups", kernel_subgroups},
                                   {"uses", kernel_uses},
                                   {NULL, NULL}};
/* k(x, y): the range is missing. */
static int kernel_call(lua_State *L) {
  const Kernel *k = clsh_kernel_check(L, 1);
  return clsh_error(L,
                    "%s: a Kernel is called over a range of work-items: "
                    "k:range(n)(%s)",
                    k->name, k->nparams > 0 ? "..." : "");
}

static const luaL_Reg meta[] = {
    {"__call", kernel_call}, {"__tostring", kernel_tostring}, {NULL, NULL}};
static const Class class = {"Kernel", sizeof(Kernel), methods,       fields,
                            meta,     NULL,           kernel_release};

void clsh_kernel_open(lua_State *L) {
  clsh_class_define(L, &class);
  clsh_class_addfields(L, &class, plain);
}
