/*
** kernelcalls.c - the functions of the driver about kernels, their arguments
** and launches
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "remote.h"

#define MAXARGS 65536 /* a driver that tells of more is wrong */

/* Asks what the driver tells of the arguments: launches go by it. */
static cl_int getfacts(Kernel *k) {
  static const cl_kernel_arg_info what[FACTS] = {
      CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_NAME,
      CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_ACCESS_QUALIFIER,
      CL_KERNEL_ARG_TYPE_QUALIFIER};
  cl_uint n = 0;
  cl_int err = clsh_thing_info('k', k->head.id, 0, CL_KERNEL_NUM_ARGS,
                               sizeof n, &n, NULL);
  if (err != CL_SUCCESS)
    return err;
  if (n > MAXARGS)
    n = 0; /* module cl refuses such a kernel */
  k->args = calloc(n + 1, sizeof *k->args);
  k->nargs = k->args != NULL ? n : 0;
  for (cl_uint i = 0; i < k->nargs; i++)
    for (int j = 0; j < FACTS; j++) {
      Fact *f = &k->args[i].fact[j];
      f->err = clsh_thing_info('a', k->head.id, i, what[j],
                               sizeof f->value - 1, f->value, &f->size);
      if (f->err == WORKER_DIED)
        return WORKER_DIED;
    }
  return k->args != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static cl_kernel CL_API_CALL createkernel(cl_program program, const char *name,
                                          cl_int *errp) {
  if (!clsh_calls_enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Kernel *k = clsh_thing_new('k', sizeof *k + strlen(name) + 1, program);
  if (k == NULL)
    return clsh_calls_leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  strcpy(k->name, name);
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = clsh_thing_ensure(k);
    if (err == CL_SUCCESS)
      err = getfacts(k);
  }
  if (err != CL_SUCCESS)
    clsh_thing_release(k);
  return clsh_calls_leavewith(k, err, errp);
}

static cl_int CL_API_CALL getkernelinfo(cl_kernel kernel, cl_kernel_info what,
                                        size_t size, void *p, size_t *real) {
  Kernel *k = (Kernel *)kernel;
  return clsh_calls_info('k', k, k->head.id, 0, what, size, p, real);
}

static cl_int CL_API_CALL getarginfo(cl_kernel kernel, cl_uint i,
                                     cl_kernel_arg_info what, size_t size,
                                     void *p, size_t *real) {
  static const int places[] = {FACT_SPACE, FACT_ACCESS, FACT_TYPE,
                               FACT_QUALIFIER, FACT_NAME};
  const Kernel *k = (const Kernel *)kernel;
  int j = what >= CL_KERNEL_ARG_ADDRESS_QUALIFIER && what <= CL_KERNEL_ARG_NAME
              ? places[what - CL_KERNEL_ARG_ADDRESS_QUALIFIER]
              : -1;
  if (i >= k->nargs || j < 0)
    return i >= k->nargs ? CL_INVALID_ARG_INDEX : CL_INVALID_VALUE;
  const Fact *f = &k->args[i].fact[j];
  if (f->err != CL_SUCCESS)
    return f->err;
  if (real != NULL)
    *real = f->size;
  if (p != NULL && size < f->size)
    return CL_INVALID_VALUE;
  if (p != NULL)
    memcpy(p, f->value, f->size);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL getworkgroupinfo(cl_kernel kernel,
                                           cl_device_id device,
                                           cl_kernel_work_group_info what,
                                           size_t size, void *p,
                                           size_t *real) {
  Kernel *k = (Kernel *)kernel;
  return clsh_calls_info('w', k, k->head.id, ((Device *)device)->id, what,
                         size, p, real);
}

static cl_ulong factnumber(const Arg *a, int which, cl_ulong unknown) {
  const Fact *f = &a->fact[which];
  cl_uint narrow;
  cl_ulong n;
  if (f->err != CL_SUCCESS)
    return unknown;
  if (f->size == sizeof narrow) {
    memcpy(&narrow, f->value, sizeof narrow);
    return narrow;
  }
  memcpy(&n, f->value, sizeof n);
  return n;
}

/* Whether the type of an argument, as the driver tells it, begins so. */
static bool hastype(const Arg *a, const char *word) {
  const Fact *f = &a->fact[FACT_TYPE];
  return f->err == CL_SUCCESS && strncmp(f->value, word, strlen(word)) == 0;
}

/* What the value of an argument is: a kind of Arg. */
static char kindof(const Arg *a, size_t size, const void *p) {
  cl_ulong space = factnumber(a, FACT_SPACE, 0);
  const void *m;
  if (p == NULL)
    return 'n';
  if (size != sizeof m)
    return 'v';
  memcpy(&m, p, sizeof m);
  if (hastype(a, "sampler_t"))
    return 's';
  return space == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                 space == CL_KERNEL_ARG_ADDRESS_CONSTANT ||
                 ((space == 0 || hastype(a, "image")) &&
                  clsh_thing_ismemory(m))
             ? 'm'
             : 'v';
}

/* Whether a kernel may write to the memory of an argument. */
static bool writes(const Arg *a) {
  return factnumber(a, FACT_SPACE, 0) != CL_KERNEL_ARG_ADDRESS_CONSTANT &&
         factnumber(a, FACT_ACCESS, 0) != CL_KERNEL_ARG_ACCESS_READ_ONLY &&
         (factnumber(a, FACT_QUALIFIER, 0) & CL_KERNEL_ARG_TYPE_CONST) == 0;
}

static void putarg(Message *m, cl_uint i, const Arg *a) {
  wire_putn(m, i);
  wire_putn(m, a->size);
  wire_putn(m, (uint64_t)a->kind);
  if (a->kind == 'm')
    wire_putn(m, a->memory->head.id);
  else if (a->kind == 's')
    wire_putn(m, a->sampler->head.id);
  else if (a->kind == 'v')
    wire_put(m, a->data, a->size);
}

/* Has the driver look at an argument of a new kind or size. */
static cl_int tryarg(Kernel *k, cl_uint i, const Arg *a) {
  cl_int err = clsh_thing_ensure(k);
  if (err == CL_SUCCESS && a->kind == 'm')
    err = clsh_thing_ensure(a->memory);
  if (err == CL_SUCCESS && a->kind == 's')
    err = clsh_thing_ensure(a->sampler);
  if (err != CL_SUCCESS)
    return err;
  Message *m = clsh_channel_begin(OP_ARG);
  wire_putn(m, k->head.id);
  putarg(m, i, a);
  return clsh_channel_call();
}

/*
** Keeps an argument for the next launch. The driver is asked only when its
** kind or size is another than that of the one before.
*/
static cl_int CL_API_CALL setkernelarg(cl_kernel kernel, cl_uint i,
                                       size_t size, const void *p) {
  Kernel *k = (Kernel *)kernel;
  if (i >= k->nargs)
    return CL_INVALID_ARG_INDEX;
  Arg *a = &k->args[i];
  if (!clsh_calls_enter())
    return NOWORKER;
  char kind = kindof(a, size, p);
  Arg n = *a;
  n.kind = kind;
  n.size = size;
  n.dirty = a->dirty || kind != 'v' || a->kind != 'v' || a->size != size ||
            memcmp(a->data, p, size) != 0;
  if (kind == 'm')
    memcpy(&n.memory, p, sizeof n.memory);
  if (kind == 's')
    memcpy(&n.sampler, p, sizeof n.sampler);
  if (kind == 'v' && size > n.room) {
    n.data = malloc(size);
    n.room = size;
    if (n.data == NULL)
      return clsh_calls_leave(CL_OUT_OF_HOST_MEMORY);
  }
  if (kind == 'v' && n.dirty)
    memcpy(n.data, p, size);
  cl_int err = CL_SUCCESS;
  if (a->kind != kind || a->size != size) {
    k->accepted.generation = 0;
    err = WORKER_DIED;
    for (int t = 0; t < 2 && err == WORKER_DIED; t++)
      err = tryarg(k, i, &n);
  }
  if (n.data != a->data)
    free(err == CL_SUCCESS ? a->data : n.data);
  if (err == CL_SUCCESS)
    *a = n;
  else
    a->dirty = true;
  return clsh_calls_leave(err);
}

static cl_int CL_API_CALL releasekernel(cl_kernel k) {
  return clsh_calls_release(k);
}

static Shape newshape(Queue *q, cl_uint dims, const size_t *offset,
                      const size_t *global, const size_t *local) {
  Shape s;
  memset(&s, 0, sizeof s); /* shapes are compared with their gaps */
  s.generation = clsh_channel.generation;
  s.queue = q;
  s.dims = dims;
  s.hasoffset = offset != NULL;
  s.haslocal = local != NULL;
  for (cl_uint i = 0; i < dims && i < 3; i++) {
    s.size[i] = offset != NULL ? offset[i] : 0;
    s.size[3 + i] = global[i];
    s.size[6 + i] = local != NULL ? local[i] : 0;
  }
  return s;
}

/* Fills in the message of a launch: its sizes and the arguments that are new.
 */
static void putlaunch(Message *m, const Kernel *k, const Shape *s) {
  uint64_t dirty = 0;
  wire_putn(m, k->head.id);
  wire_putn(m, s->dims);
  wire_putn(m, s->hasoffset);
  wire_putn(m, s->haslocal);
  for (int i = 0; i < 9; i++)
    wire_putn(m, s->size[i]);
  for (cl_uint i = 0; i < k->nargs; i++)
    dirty += k->args[i].dirty;
  wire_putn(m, dirty);
  for (cl_uint i = 0; i < k->nargs; i++)
    if (k->args[i].dirty)
      putarg(m, i, &k->args[i]);
}

static cl_int CL_API_CALL
enqueuekernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
              const size_t *offset, const size_t *global, const size_t *local,
              cl_uint n, const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  Kernel *k = (Kernel *)kernel;
  if (!clsh_calls_enter())
    return NOWORKER;
  cl_int err = clsh_enqueue_prepare(q, NULL, false);
  if (err == CL_SUCCESS)
    err = clsh_thing_ensure(k);
  for (cl_uint i = 0; i < k->nargs && err == CL_SUCCESS; i++)
    if (k->args[i].kind == 'm')
      err = clsh_enqueue_prepare(NULL, k->args[i].memory, true);
    else if (k->args[i].kind == 's')
      err = clsh_thing_ensure(k->args[i].sampler);
  if (err != CL_SUCCESS)
    return clsh_calls_leave(err);
  Event *e = clsh_command_new(q, CL_COMMAND_NDRANGE_KERNEL, (int)k->nargs);
  Launch *l = e != NULL ? clsh_command_launch(e, k) : NULL;
  if (l == NULL) {
    if (e != NULL)
      clsh_command_release(e);
    return clsh_calls_leave(CL_OUT_OF_HOST_MEMORY);
  }
  l->shape = newshape(q, dims, offset, global, local);
  Shape s = l->shape; /* the event may go as it is sent */
  bool known = memcmp(&s, &k->accepted, sizeof s) == 0;
  putlaunch(clsh_enqueue_begin(OP_LAUNCH, e, n, list, &err), k, &s);
  for (cl_uint i = 0; i < k->nargs; i++)
    if (k->args[i].kind == 'm')
      clsh_command_hold(e, k->args[i].memory);
  err = clsh_enqueue_send(e, known, err, result);
  if (err == CL_SUCCESS)
    k->accepted = s;
  for (cl_uint i = 0; i < k->nargs && err == CL_SUCCESS; i++) {
    k->args[i].dirty = false;
    if (k->args[i].kind == 'm' && writes(&k->args[i]))
      clsh_thing_keep(k->args[i].memory, 0);
  }
  return clsh_calls_leave(err);
}

void clsh_kernelcalls_fill(cl_icd_dispatch *d) {
  d->clCreateKernel = createkernel;
  d->clReleaseKernel = releasekernel;
  d->clSetKernelArg = setkernelarg;
  d->clGetKernelInfo = getkernelinfo;
  d->clGetKernelArgInfo = getarginfo;
  d->clGetKernelWorkGroupInfo = getworkgroupinfo;
  d->clEnqueueNDRangeKernel = enqueuekernel;
}
