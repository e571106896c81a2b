/*
** remote.c - the functions of the driver, those that module cl calls, and its
** way into the OpenCL loader.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "remote.h"

#define MAXPLATFORMS 32

static Platform platforms[MAXPLATFORMS];
static cl_uint nplatforms;

/* Asks for all platforms and their devices, once. */
static bool getplatforms(void) {
  static bool done;
  uint32_t id = 1;
  if (done)
    return true;
  if (clsh_heap_wire == NULL && !clsh_heap_open())
    return false;
  clsh_command_open();
  if (!clsh_channel_start())
    return false;
  Message *in = wire_in(clsh_heap_wire);
  uint64_t n = wire_getn(in);
  for (uint64_t i = 0; i < n && i < MAXPLATFORMS; i++) {
    Platform *p = &platforms[nplatforms++];
    uint32_t count = (uint32_t)wire_getn(in);
    *p = (Platform){&clsh_thing_dispatch, id++, count, NULL};
    p->devices = calloc(count + 1, sizeof *p->devices);
    if (p->devices == NULL)
      return false;
    for (uint32_t j = 0; j < count; j++) {
      cl_device_type type = wire_getn(in);
      p->devices[j] =
          (Device){&clsh_thing_dispatch, p, id++, type, wire_getn(in) != 0};
    }
  }
  done = true;
  return true;
}

/* Takes the lock; false: there is no worker to be had. */
static bool enter(void) {
  clsh_channel_lock();
  if (clsh_channel_usable() && getplatforms() && clsh_channel_start()) {
    clsh_command_sweep();
    if (clsh_channel_start()) /* a fault may have ended it */
      return true;
  }
  clsh_channel_unlock();
  return false;
}

static cl_int leave(cl_int err) {
  clsh_channel_unlock();
  return err;
}

static void *leavewith(void *p, cl_int err, cl_int *errp) {
  clsh_channel_unlock();
  if (errp != NULL)
    *errp = err;
  return err == CL_SUCCESS ? p : NULL;
}

#define SVM_CAPABILITIES 0x1053 /* CL_DEVICE_... of OpenCL 2.0 */
#define IL_VERSION 0x105B       /* and 2.1 */
#define NOWORKER CL_DEVICE_NOT_AVAILABLE

/* Platforms and devices */

static cl_int CL_API_CALL getplatformids(cl_uint room, cl_platform_id *list,
                                         cl_uint *n) {
  if (!enter())
    return -1001;
  for (cl_uint i = 0; list != NULL && i < room && i < nplatforms; i++)
    list[i] = (cl_platform_id)&platforms[i];
  if (n != NULL)
    *n = nplatforms;
  return leave(nplatforms > 0 ? CL_SUCCESS : -1001);
}

/* Hands out a value of our own. */
static cl_int give(const void *value, size_t n, size_t size, void *p,
                   size_t *real) {
  if (real != NULL)
    *real = n;
  if (p != NULL && size < n)
    return CL_INVALID_VALUE;
  if (p != NULL)
    memcpy(p, value, n);
  return CL_SUCCESS;
}

/* Asks for a value. A worker that a kernel has ended meanwhile is replaced. */
static cl_int getinfo(int kind, void *thing, uint32_t id, uint64_t other,
                      cl_uint what, size_t size, void *p, size_t *real) {
  if (!enter())
    return NOWORKER;
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = thing != NULL          ? clsh_thing_ensure(thing)
          : clsh_channel_start() ? CL_SUCCESS
                                 : NOWORKER;
    if (err == CL_SUCCESS)
      err = clsh_thing_info(kind, id, other, what, size, p, real);
  }
  return leave(err);
}

/* The loader trusts that texts end: they do, whatever the driver gives. */
static cl_int CL_API_CALL getplatforminfo(cl_platform_id platform,
                                          cl_platform_info what, size_t size,
                                          void *p, size_t *real) {
  const Platform *o = (const Platform *)platform;
  cl_int err = getinfo('p', NULL, o->id, 0, what, size, p, real);
  if (err == CL_SUCCESS && p != NULL && size > 0)
    ((char *)p)[size - 1] = '\0';
  if (err == CL_SUCCESS && real != NULL && *real == 0)
    *real = 1;
  return err;
}

static cl_int CL_API_CALL getdeviceids(cl_platform_id platform,
                                       cl_device_type type, cl_uint room,
                                       cl_device_id *list, cl_uint *n) {
  Platform *o = (Platform *)platform;
  cl_uint found = 0;
  for (uint32_t i = 0; i < o->ndevices; i++) {
    if (type != CL_DEVICE_TYPE_ALL && (o->devices[i].type & type) == 0)
      continue;
    if (list != NULL && found < room)
      list[found] = (cl_device_id)&o->devices[i];
    found++;
  }
  if (n != NULL)
    *n = found;
  return found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL getdeviceinfo(cl_device_id device,
                                        cl_device_info what, size_t size,
                                        void *p, size_t *real) {
  const Device *d = (const Device *)device;
  if (what == SVM_CAPABILITIES || what == IL_VERSION) { /* it has neither */
    const cl_bitfield none = 0;                         /* or an empty text */
    return give(&none, what == IL_VERSION ? 1 : sizeof none, size, p, real);
  }
  cl_int err = getinfo('d', NULL, d->id, 0, what, size, p, real);
  if (err == CL_SUCCESS && what == CL_DEVICE_PLATFORM && p != NULL)
    memcpy(p, &d->platform, sizeof d->platform);
  return err;
}

/* Contexts, queues and memory */

/* Has the worker make a new object; one that it refuses goes. */
static void *made(void *thing, cl_int *errp) {
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++)
    err = clsh_thing_ensure(thing);
  if (err != CL_SUCCESS)
    clsh_thing_release(thing);
  return leavewith(thing, err, errp);
}

static cl_context CL_API_CALL createcontext(
    const cl_context_properties *properties, cl_uint n,
    const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
    void *user, cl_int *errp) {
  (void)properties;
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Context *c = n == 1 ? clsh_thing_new('c', sizeof *c, NULL) : NULL;
  if (c == NULL)
    return leavewith(NULL, n == 1 ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_VALUE,
                     errp);
  c->device = (Device *)devices[0];
  c->notify = notify;
  c->user = user;
  return made(c, errp);
}

static cl_command_queue CL_API_CALL
createqueue(cl_context context, cl_device_id device,
            cl_command_queue_properties properties, cl_int *errp) {
  (void)device; /* that of the context */
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Queue *q = clsh_thing_new('q', sizeof *q, context);
  if (q == NULL)
    return leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  q->properties = properties;
  return made(q, errp);
}

static cl_mem CL_API_CALL createbuffer(cl_context context, cl_mem_flags flags,
                                       size_t size, void *host, cl_int *errp) {
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = host == NULL ? clsh_thing_new('m', sizeof *m, context) : NULL;
  if (m == NULL)
    return leavewith(
        NULL, host != NULL ? CL_INVALID_OPERATION : CL_OUT_OF_HOST_MEMORY,
        errp);
  m->root = m;
  m->size = size;
  m->shared = ((Context *)context)->device->shared;
  m->flags = flags;
  if (m->shared) {
    m->flags &= ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR;
    m->block = clsh_heap_takeguarded(size, &m->content, &m->guard);
  }
  if (m->shared && m->block == 0) {
    clsh_thing_release(m);
    return leavewith(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errp);
  }
  return made(m, errp);
}

static cl_mem CL_API_CALL createsubbuffer(cl_mem root, cl_mem_flags flags,
                                          cl_buffer_create_type type,
                                          const void *info, cl_int *errp) {
  const cl_buffer_region *r = info;
  (void)type; /* there is but one */
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = clsh_thing_new('m', sizeof *m, root);
  if (m == NULL)
    return leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  m->root = (Memory *)root;
  m->shared = m->root->shared;
  m->flags = flags;
  m->origin = r->origin;
  m->size = r->size;
  return made(m, errp);
}

static cl_int retain(void *thing) {
  clsh_channel_lock();
  clsh_thing_retain(thing);
  return leave(CL_SUCCESS);
}

static cl_int release(void *thing) {
  clsh_channel_lock();
  if (clsh_channel_usable()) {
    clsh_command_sweep();
    clsh_thing_release(thing);
  }
  return leave(CL_SUCCESS);
}

static cl_int CL_API_CALL retainqueue(cl_command_queue q) {
  return retain(q);
}

static cl_int CL_API_CALL retainmemory(cl_mem m) {
  return retain(m);
}

static cl_int CL_API_CALL retainprogram(cl_program p) {
  return retain(p);
}

static cl_int CL_API_CALL releasecontext(cl_context c) {
  return release(c);
}

static cl_int CL_API_CALL releasequeue(cl_command_queue q) {
  return release(q);
}

static cl_int CL_API_CALL releasememory(cl_mem m) {
  return release(m);
}

static cl_int CL_API_CALL releaseprogram(cl_program p) {
  return release(p);
}

static cl_int CL_API_CALL releasekernel(cl_kernel k) {
  return release(k);
}

/* Programs and kernels */

static Program *newprogram(cl_context context, bool source, size_t size,
                           cl_int *errp) {
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Program *p = clsh_thing_new('P', sizeof *p + size + 1, context);
  if (p == NULL)
    return leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  p->device = ((Context *)context)->device;
  p->source = source;
  p->size = size;
  return p;
}

static cl_program CL_API_CALL createwithsource(cl_context context, cl_uint n,
                                               const char **strings,
                                               const size_t *lengths,
                                               cl_int *errp) {
  size_t size = 0;
  for (cl_uint i = 0; i < n; i++)
    size +=
        lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(strings[i]);
  Program *p = newprogram(context, true, size, errp);
  if (p == NULL)
    return NULL;
  size = 0;
  for (cl_uint i = 0; i < n; i++) {
    size_t len =
        lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(strings[i]);
    memcpy(p->text + size, strings[i], len);
    size += len;
  }
  return made(p, errp);
}

static cl_program CL_API_CALL createwithbinary(cl_context context, cl_uint n,
                                               const cl_device_id *devices,
                                               const size_t *lengths,
                                               const unsigned char **binaries,
                                               cl_int *status, cl_int *errp) {
  (void)devices;
  if (n != 1) {
    *errp = CL_INVALID_VALUE;
    return NULL;
  }
  Program *p = newprogram(context, false, lengths[0], errp);
  if (p == NULL)
    return NULL;
  memcpy(p->text, binaries[0], lengths[0]);
  cl_program result = made(p, errp);
  if (status != NULL)
    *status = *errp;
  return result;
}

static cl_int CL_API_CALL
buildprogram(cl_program program, cl_uint n, const cl_device_id *devices,
             const char *options,
             void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
  Program *p = (Program *)program;
  (void)n, (void)devices, (void)notify, (void)user;
  options = options != NULL ? options : "";
  if (!enter())
    return NOWORKER;
  cl_int err = WORKER_DIED;
  p->built = false;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = clsh_thing_ensure(p);
    if (err == CL_SUCCESS)
      err = clsh_thing_build(p, options, true);
  }
  free(p->options);
  p->options = strdup(options);
  p->built = err == CL_SUCCESS && p->options != NULL;
  return leave(err);
}

static cl_int CL_API_CALL getprograminfo(cl_program program,
                                         cl_program_info what, size_t size,
                                         void *p, size_t *real) {
  Program *o = (Program *)program;
  if (what != CL_PROGRAM_BINARIES)
    return getinfo('P', o, o->head.id, 0, what, size, p, real);
  if (!enter())
    return NOWORKER;
  cl_int err = clsh_thing_ensure(o);
  Message *m = clsh_channel_begin(OP_GETBINARY);
  wire_putn(m, o->head.id);
  if (err == CL_SUCCESS)
    err = clsh_channel_call();
  if (err == CL_SUCCESS) {
    size_t n = (size_t)wire_getn(wire_in(clsh_heap_wire));
    const void *bytes = wire_get(wire_in(clsh_heap_wire), n);
    if (bytes != NULL)
      memcpy(*(void **)p, bytes, n);
    else
      err = CL_OUT_OF_HOST_MEMORY;
  }
  return leave(err);
}

static cl_int CL_API_CALL getbuildinfo(cl_program program, cl_device_id device,
                                       cl_program_build_info what, size_t size,
                                       void *p, size_t *real) {
  Program *o = (Program *)program;
  return getinfo('b', o, o->head.id, ((Device *)device)->id, what, size, p,
                 real);
}

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
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Kernel *k = clsh_thing_new('k', sizeof *k + strlen(name) + 1, program);
  if (k == NULL)
    return leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  strcpy(k->name, name);
  cl_int err = WORKER_DIED;
  for (int i = 0; i < 2 && err == WORKER_DIED; i++) {
    err = clsh_thing_ensure(k);
    if (err == CL_SUCCESS)
      err = getfacts(k);
  }
  if (err != CL_SUCCESS)
    clsh_thing_release(k);
  return leavewith(k, err, errp);
}

static cl_int CL_API_CALL getkernelinfo(cl_kernel kernel, cl_kernel_info what,
                                        size_t size, void *p, size_t *real) {
  Kernel *k = (Kernel *)kernel;
  return getinfo('k', k, k->head.id, 0, what, size, p, real);
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
  return getinfo('w', k, k->head.id, ((Device *)device)->id, what, size, p,
                 real);
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
  if (!enter())
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
      return leave(CL_OUT_OF_HOST_MEMORY);
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
  return leave(err);
}

/* Commands */

/*
** Begins the message of a command: queue, slot, the commands to wait for. One
** that failed fails this one.
*/
static Message *begin(uint32_t op, const Event *e, cl_uint n,
                      const cl_event *list, cl_int *err) {
  Message *m = clsh_channel_begin(op);
  wire_putn(m, e->queue->head.id);
  wire_putn(m, e->slot);
  wire_putn(m, n);
  for (cl_uint i = 0; i < n; i++) {
    const Event *w = (const Event *)list[i];
    wire_putn(m, w->slot);
    if (clsh_heap_status(w->slot) < 0)
      *err = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return m;
}

/*
** Sends the message of a command, whose Event is new. A command that the
** driver is known to accept is posted. It may end the worker before that
** answers: then it was under way, and its Event tells.
*/
static cl_int send(Event *e, bool known, cl_int err, cl_event *result) {
  if (err == CL_SUCCESS) {
    clsh_command_add(e);
    e->queue->dirty = true;
    err = known ? clsh_channel_post() : clsh_channel_call();
    if (err == WORKER_DIED)
      err = CL_SUCCESS;
    if (err != CL_SUCCESS)
      clsh_command_refuse(e);
  }
  if (err == CL_SUCCESS && result != NULL)
    *result = (cl_event)e;
  else
    clsh_command_release(e);
  return err;
}

/* Has the worker hold a queue and memory; says when that was lost. */
static cl_int prepare(Queue *q, Memory *m, bool reads) {
  cl_int err = q != NULL ? clsh_thing_ensure(q) : CL_SUCCESS;
  if (err == CL_SUCCESS && m != NULL)
    err = clsh_thing_ensure(m);
  if (err == CL_SUCCESS && reads && m->root->state == 'l') {
    char text[160];
    snprintf(text, sizeof text,
             WORKER_NOTICE
             "the content of this %s of %zu bytes was lost with a "
             "worker\nwrite all of it before it is read",
             m->root->image ? "Image" : "Buffer", m->root->size);
    clsh_thing_tell(text);
    err = CONTENT_LOST;
  }
  return err;
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
  if (!enter())
    return NOWORKER;
  cl_int err = prepare(q, NULL, false);
  if (err == CL_SUCCESS)
    err = clsh_thing_ensure(k);
  for (cl_uint i = 0; i < k->nargs && err == CL_SUCCESS; i++)
    if (k->args[i].kind == 'm')
      err = prepare(NULL, k->args[i].memory, true);
    else if (k->args[i].kind == 's')
      err = clsh_thing_ensure(k->args[i].sampler);
  if (err != CL_SUCCESS)
    return leave(err);
  Event *e = clsh_command_new(q, CL_COMMAND_NDRANGE_KERNEL, (int)k->nargs);
  Launch *l = e != NULL ? clsh_command_launch(e, k) : NULL;
  if (l == NULL) {
    if (e != NULL)
      clsh_command_release(e);
    return leave(CL_OUT_OF_HOST_MEMORY);
  }
  l->shape = newshape(q, dims, offset, global, local);
  Shape s = l->shape; /* the event may go as it is sent */
  bool known = memcmp(&s, &k->accepted, sizeof s) == 0;
  putlaunch(begin(OP_LAUNCH, e, n, list, &err), k, &s);
  for (cl_uint i = 0; i < k->nargs; i++)
    if (k->args[i].kind == 'm')
      clsh_command_hold(e, k->args[i].memory);
  err = send(e, known, err, result);
  if (err == CL_SUCCESS)
    k->accepted = s;
  for (cl_uint i = 0; i < k->nargs && err == CL_SUCCESS; i++) {
    k->args[i].dirty = false;
    if (k->args[i].kind == 'm' && writes(&k->args[i]))
      clsh_thing_keep(k->args[i].memory, 0);
  }
  return leave(err);
}

/* A part of a buffer: rows, `pitch` bytes apart, 0: one row; in slices. */
typedef struct Rows {
  size_t origin[3], region[3], pitch, slice;
} Rows;

/*
** Enqueues a read into, or a write from, a staging block in the heap. A write
** has its bytes at once; `target` gets those of a read at its end.
*/
static cl_int transfer(cl_command_queue queue, cl_mem memory, const Rows *r,
                       cl_command_type type, size_t staging, const void *from,
                       void *target, cl_uint n, const cl_event *list,
                       cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *b = (Memory *)memory;
  bool write = type == CL_COMMAND_WRITE_BUFFER ||
               type == CL_COMMAND_WRITE_BUFFER_RECT ||
               type == CL_COMMAND_UNMAP_MEM_OBJECT;
  size_t bytes = r->region[0] * r->region[1] * r->region[2];
  bool whole = b->root == b && r->pitch == 0 && bytes == b->size;
  cl_int err = prepare(q, b, !(write && whole));
  if (err != CL_SUCCESS)
    return err;
  Event *e = clsh_command_new(q, type, 1);
  if (e == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  clsh_command_hold(e, b);
  e->staging = staging != 0 ? staging : clsh_heap_take(bytes);
  if (e->staging == 0) {
    clsh_command_release(e);
    return CL_OUT_OF_HOST_MEMORY;
  }
  if (from != NULL)
    memcpy(wire_at(clsh_heap_wire, e->staging), from, bytes);
  Message *m = begin(write ? OP_WRITE : OP_READ, e, n, list, &err);
  wire_putn(m, b->head.id);
  for (int i = 0; i < 3; i++)
    wire_putn(m, r->origin[i]);
  for (int i = 0; i < 3; i++)
    wire_putn(m, r->region[i]);
  wire_putn(m, r->pitch);
  wire_putn(m, r->slice);
  wire_putn(m, e->staging);
  e->target = target;
  e->bytes = bytes;
  if (write)
    clsh_thing_keep(b, 0);
  e->whole = whole && type != CL_COMMAND_MAP_BUFFER;
  e->version = b->root->version;
  if (type == CL_COMMAND_MAP_BUFFER) /* the mapping's, until it is unmapped */
    e->staging = 0;
  return send(e, false, err, result);
}

static cl_int CL_API_CALL enqueueread(cl_command_queue queue, cl_mem memory,
                                      cl_bool blocking, size_t offset,
                                      size_t size, void *p, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  if (blocking)
    return CL_INVALID_OPERATION;
  if (!enter())
    return NOWORKER;
  return leave(transfer(queue, memory, &r, CL_COMMAND_READ_BUFFER, 0, NULL, p,
                        n, list, result));
}

/* A blocking write may return at once: the bytes are copied. */
static cl_int CL_API_CALL enqueuewrite(cl_command_queue queue, cl_mem memory,
                                       cl_bool blocking, size_t offset,
                                       size_t size, const void *p, cl_uint n,
                                       const cl_event *list,
                                       cl_event *result) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  (void)blocking;
  if (!enter())
    return NOWORKER;
  return leave(transfer(queue, memory, &r, CL_COMMAND_WRITE_BUFFER, 0, p, NULL,
                        n, list, result));
}

/* Rows that are dense on the host: all that module cl has. */
static bool isdense(const size_t *origin, const size_t *region, size_t pitch,
                    size_t slice) {
  return origin[0] == 0 && origin[1] == 0 && origin[2] == 0 && slice == 0 &&
         (pitch == 0 || pitch == region[0]);
}

static cl_int CL_API_CALL enqueuereadrect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking,
    const size_t *origin, const size_t *hostorigin, const size_t *region,
    size_t pitch, size_t slice, size_t hostpitch, size_t hostslice, void *p,
    cl_uint n, const cl_event *list, cl_event *result) {
  const Rows r = {{origin[0], origin[1], origin[2]},
                  {region[0], region[1], region[2]},
                  pitch,
                  slice};
  if (blocking || !isdense(hostorigin, region, hostpitch, hostslice))
    return CL_INVALID_OPERATION;
  if (!enter())
    return NOWORKER;
  return leave(transfer(queue, memory, &r, CL_COMMAND_READ_BUFFER_RECT, 0,
                        NULL, p, n, list, result));
}

static cl_int CL_API_CALL enqueuewriterect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking,
    const size_t *origin, const size_t *hostorigin, const size_t *region,
    size_t pitch, size_t slice, size_t hostpitch, size_t hostslice,
    const void *p, cl_uint n, const cl_event *list, cl_event *result) {
  const Rows r = {{origin[0], origin[1], origin[2]},
                  {region[0], region[1], region[2]},
                  pitch,
                  slice};
  (void)blocking;
  if (!isdense(hostorigin, region, hostpitch, hostslice))
    return CL_INVALID_OPERATION;
  if (!enter())
    return NOWORKER;
  return leave(transfer(queue, memory, &r, CL_COMMAND_WRITE_BUFFER_RECT, 0, p,
                        NULL, n, list, result));
}

/* Enqueues a copy of `bytes`, or of rows where `region` is more. */
static cl_int copy(Queue *q, Memory *from, Memory *to, cl_command_type type,
                   const size_t n[13], cl_uint nwaits, const cl_event *list,
                   cl_event *result) {
  if (!enter())
    return NOWORKER;
  bool rows = type == CL_COMMAND_COPY_BUFFER_RECT;
  bool whole = !rows && to->root == to && n[6] == to->size;
  cl_int err = prepare(q, from, true);
  if (err == CL_SUCCESS)
    err = prepare(NULL, to, !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, type, 2) : NULL;
  if (e == NULL)
    return leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  clsh_command_hold(e, from);
  clsh_command_hold(e, to);
  Message *m = begin(OP_COPY, e, nwaits, list, &err);
  wire_putn(m, from->head.id);
  wire_putn(m, to->head.id);
  wire_putn(m, rows);
  for (int i = 0; i < 13; i++)
    wire_putn(m, n[i]);
  clsh_thing_keep(to, 0);
  return leave(send(e, false, err, result));
}

static cl_int CL_API_CALL enqueuecopy(cl_command_queue queue, cl_mem from,
                                      cl_mem to, size_t at, size_t toat,
                                      size_t size, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  const size_t sizes[13] = {at, 0, 0, toat, 0, 0, size};
  return copy((Queue *)queue, (Memory *)from, (Memory *)to,
              CL_COMMAND_COPY_BUFFER, sizes, n, list, result);
}

static cl_int CL_API_CALL
enqueuecopyrect(cl_command_queue queue, cl_mem from, cl_mem to,
                const size_t *at, const size_t *toat, const size_t *region,
                size_t pitch, size_t slice, size_t topitch, size_t toslice,
                cl_uint n, const cl_event *list, cl_event *result) {
  const size_t sizes[13] = {at[0],   at[1],     at[2],     toat[0],   toat[1],
                            toat[2], region[0], region[1], region[2], pitch,
                            slice,   topitch,   toslice};
  return copy((Queue *)queue, (Memory *)from, (Memory *)to,
              CL_COMMAND_COPY_BUFFER_RECT, sizes, n, list, result);
}

static cl_int CL_API_CALL enqueuefill(cl_command_queue queue, cl_mem memory,
                                      const void *pattern, size_t npattern,
                                      size_t offset, size_t size, cl_uint n,
                                      const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *b = (Memory *)memory;
  if (!enter())
    return NOWORKER;
  bool whole = b->root == b && size == b->size;
  cl_int err = prepare(q, b, !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, CL_COMMAND_FILL_BUFFER, 1)
                               : NULL;
  if (e == NULL)
    return leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  clsh_command_hold(e, b);
  Message *m = begin(OP_FILL, e, n, list, &err);
  wire_putn(m, b->head.id);
  wire_putn(m, offset);
  wire_putn(m, size);
  wire_putn(m, npattern);
  wire_put(m, pattern, npattern);
  err = send(e, false, err, result);
  if (err == CL_SUCCESS)
    clsh_thing_keep(b, 0);
  if (err == CL_SUCCESS && whole && npattern <= sizeof b->pattern) {
    memcpy(b->pattern, pattern, npattern);
    b->npattern = npattern;
    b->state = 'h';
  }
  return leave(err);
}

/* Images and samplers */

static cl_int CL_API_CALL getimageformats(cl_context context,
                                          cl_mem_flags flags,
                                          cl_mem_object_type what,
                                          cl_uint room, cl_image_format *list,
                                          cl_uint *n) {
  Context *c = (Context *)context;
  size_t bytes = 0;
  cl_int err = getinfo('f', c, c->head.id, flags, what, room * sizeof *list,
                       list, &bytes);
  if (n != NULL)
    *n = (cl_uint)(bytes / sizeof *list);
  return err;
}

static cl_int CL_API_CALL getimageinfo(cl_mem memory, cl_image_info what,
                                       size_t size, void *p, size_t *real) {
  Memory *m = (Memory *)memory;
  return getinfo('i', m, m->head.id, 0, what, size, p, real);
}

/* The bytes of an image as the host has it; no driver is asked. */
static size_t imagebytes(const cl_image_desc *d, size_t pixel) {
  size_t height = d->image_height > 0 ? d->image_height : 1;
  size_t depth = d->image_depth > 0 ? d->image_depth : 1;
  size_t count = d->image_array_size > 0 ? d->image_array_size : 1;
  return d->image_width * height * depth * count * pixel;
}

static cl_mem CL_API_CALL createimage(cl_context context, cl_mem_flags flags,
                                      const cl_image_format *format,
                                      const cl_image_desc *desc, void *host,
                                      cl_int *errp) {
  Memory *buffer = (Memory *)desc->buffer;
  size_t pixel = 0;
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Memory *m = host == NULL ? clsh_thing_new('m', sizeof *m,
                                            buffer != NULL ? (void *)buffer
                                                           : (void *)context)
                           : NULL;
  if (m == NULL)
    return leavewith(
        NULL, host != NULL ? CL_INVALID_OPERATION : CL_OUT_OF_HOST_MEMORY,
        errp);
  m->root = buffer != NULL ? buffer->root : m;
  m->shared = m->root->shared;
  m->flags = flags;
  m->image = true;
  m->format = *format;
  m->desc = *desc;
  m->desc.buffer = NULL;
  m = made(m, errp);
  cl_int err = m != NULL ? getimageinfo((cl_mem)m, CL_IMAGE_ELEMENT_SIZE,
                                        sizeof pixel, &pixel, NULL)
                         : CL_SUCCESS;
  if (err != CL_SUCCESS) {
    release(m);
    *errp = err;
    return NULL;
  }
  if (m != NULL)
    m->size = imagebytes(desc, pixel);
  return (cl_mem)m;
}

static cl_sampler CL_API_CALL createsampler(cl_context context,
                                            cl_bool normalized,
                                            cl_addressing_mode address,
                                            cl_filter_mode filter,
                                            cl_int *errp) {
  if (!enter()) {
    *errp = NOWORKER;
    return NULL;
  }
  Sampler *s = clsh_thing_new('s', sizeof *s, context);
  if (s == NULL)
    return leavewith(NULL, CL_OUT_OF_HOST_MEMORY, errp);
  s->normalized = normalized;
  s->address = address;
  s->filter = filter;
  return made(s, errp);
}

static cl_int CL_API_CALL releasesampler(cl_sampler s) {
  return release(s);
}

#define COLOR 16 /* bytes of the one that fills */

/* What moves pixels: between two objects, or one and the host. */
typedef struct Pixels {
  cl_command_type type;
  Memory *from, *to; /* NULL: the host */
  const size_t *at, *toat, *region;
  size_t offset;     /* in a buffer */
  const void *bytes; /* written or filled with */
  void *target;      /* read into */
} Pixels;

static cl_int move(cl_command_queue queue, const Pixels *p, cl_uint n,
                   const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  Memory *image = p->from != NULL && p->from->image ? p->from : p->to;
  bool fill = p->type == CL_COMMAND_FILL_IMAGE;
  size_t pixel = image->size / imagebytes(&image->desc, 1);
  size_t bytes = p->region[0] * p->region[1] * p->region[2] * pixel;
  bool whole = p->to != NULL && p->to->image && bytes == p->to->size;
  if (!enter())
    return NOWORKER;
  cl_int err = prepare(q, p->from, p->from != NULL);
  if (err == CL_SUCCESS)
    err = prepare(NULL, p->to, p->to != NULL && !whole);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, p->type, 2) : NULL;
  if (e == NULL)
    return leave(err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY);
  if (p->from != NULL)
    clsh_command_hold(e, p->from);
  if (p->to != NULL)
    clsh_command_hold(e, p->to);
  bool hosted = p->from == NULL || p->to == NULL;
  size_t room = fill ? COLOR : bytes;
  if (hosted && (e->staging = clsh_heap_take(room)) == 0) {
    clsh_command_release(e);
    return leave(CL_OUT_OF_HOST_MEMORY);
  }
  if (p->bytes != NULL)
    memcpy(wire_at(clsh_heap_wire, e->staging), p->bytes, room);
  Message *m = begin(OP_PIXELS, e, n, list, &err);
  wire_putn(m, p->type);
  wire_putn(m, p->from != NULL ? p->from->head.id : 0);
  wire_putn(m, p->to != NULL ? p->to->head.id : 0);
  for (int i = 0; i < 3; i++) {
    wire_putn(m, p->at[i]);
    wire_putn(m, p->toat[i]);
    wire_putn(m, p->region[i]);
  }
  wire_putn(m, p->offset);
  wire_putn(m, e->staging);
  e->target = p->target;
  e->bytes = bytes;
  if (p->to != NULL)
    clsh_thing_keep(p->to, 0);
  e->whole = hosted && !fill && image->root == image && bytes == image->size;
  e->version = image->root->version;
  return leave(send(e, false, err, result));
}

static cl_int CL_API_CALL enqueuereadimage(
    cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *at,
    const size_t *region, size_t pitch, size_t slice, void *p, cl_uint n,
    const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_READ_IMAGE,
                    .from = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .target = p};
  if (blocking || pitch != 0 || slice != 0)
    return CL_INVALID_OPERATION;
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuewriteimage(
    cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *at,
    const size_t *region, size_t pitch, size_t slice, const void *p, cl_uint n,
    const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_WRITE_IMAGE,
                    .to = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .bytes = p};
  if (blocking || pitch != 0 || slice != 0)
    return CL_INVALID_OPERATION;
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuefillimage(
    cl_command_queue queue, cl_mem image, const void *color, const size_t *at,
    const size_t *region, cl_uint n, const cl_event *list, cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_FILL_IMAGE,
                    .to = (Memory *)image,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .bytes = color};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuecopyimage(cl_command_queue queue, cl_mem from,
                                           cl_mem to, const size_t *at,
                                           const size_t *toat,
                                           const size_t *region, cl_uint n,
                                           const cl_event *list,
                                           cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_IMAGE,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = toat,
                    .region = region};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuetobuffer(cl_command_queue queue, cl_mem from,
                                          cl_mem to, const size_t *at,
                                          const size_t *region, size_t offset,
                                          cl_uint n, const cl_event *list,
                                          cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_IMAGE_TO_BUFFER,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .offset = offset};
  return move(queue, &o, n, list, result);
}

static cl_int CL_API_CALL enqueuefrombuffer(cl_command_queue queue,
                                            cl_mem from, cl_mem to,
                                            size_t offset, const size_t *at,
                                            const size_t *region, cl_uint n,
                                            const cl_event *list,
                                            cl_event *result) {
  const Pixels o = {.type = CL_COMMAND_COPY_BUFFER_TO_IMAGE,
                    .from = (Memory *)from,
                    .to = (Memory *)to,
                    .at = at,
                    .toat = at,
                    .region = region,
                    .offset = offset};
  return move(queue, &o, n, list, result);
}

/* A mapping: a copy in the heap, which unmapping writes back. */
typedef struct Mapping {
  struct Mapping *next;
  Memory *memory;
  size_t staging, offset, size;
  bool writes;
} Mapping;

static Mapping *mappings;

static void *CL_API_CALL enqueuemap(cl_command_queue queue, cl_mem memory,
                                    cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint n,
                                    const cl_event *list, cl_event *result,
                                    cl_int *errp) {
  const Rows r = {{offset, 0, 0}, {size, 1, 1}, 0, 0};
  if (blocking || !enter()) {
    *errp = blocking ? CL_INVALID_OPERATION : NOWORKER;
    return NULL;
  }
  Mapping *p = malloc(sizeof *p);
  size_t staging = clsh_heap_take(size);
  cl_int err = CL_OUT_OF_HOST_MEMORY;
  if (p != NULL && staging != 0)
    err = transfer(queue, memory, &r, CL_COMMAND_MAP_BUFFER, staging, NULL,
                   NULL, n, list, result);
  if (err != CL_SUCCESS) {
    clsh_heap_give(staging);
    free(p);
    return leavewith(NULL, err, errp);
  }
  *p = (Mapping){mappings, clsh_thing_retain(memory),
                 staging,  offset,
                 size,     (flags & ~(cl_map_flags)CL_MAP_READ) != 0};
  mappings = p;
  return leavewith(wire_at(clsh_heap_wire, staging), CL_SUCCESS, errp);
}

static cl_int mark(cl_command_queue queue, uint32_t op, cl_command_type type,
                   cl_uint n, const cl_event *list, cl_event *result) {
  Queue *q = (Queue *)queue;
  cl_int err = prepare(q, NULL, false);
  Event *e = err == CL_SUCCESS ? clsh_command_new(q, type, 0) : NULL;
  if (e == NULL)
    return err != CL_SUCCESS ? err : CL_OUT_OF_HOST_MEMORY;
  begin(op, e, n, list, &err);
  return send(e, true, err, result);
}

static cl_int CL_API_CALL enqueueunmap(cl_command_queue queue, cl_mem memory,
                                       void *mapped, cl_uint n,
                                       const cl_event *list,
                                       cl_event *result) {
  Mapping **at = &mappings;
  if (!enter())
    return NOWORKER;
  while (*at != NULL && wire_at(clsh_heap_wire, (*at)->staging) != mapped)
    at = &(*at)->next;
  Mapping *p = *at;
  if (p == NULL)
    return leave(CL_INVALID_VALUE);
  const Rows r = {{p->offset, 0, 0}, {p->size, 1, 1}, 0, 0};
  *at = p->next;
  cl_int err;
  if (p->writes)
    err = transfer(queue, memory, &r, CL_COMMAND_UNMAP_MEM_OBJECT, p->staging,
                   NULL, NULL, n, list, result);
  else {
    clsh_heap_give(p->staging);
    err = mark(queue, OP_MARKER, CL_COMMAND_UNMAP_MEM_OBJECT, n, list, result);
  }
  clsh_thing_release(p->memory);
  free(p);
  return leave(err);
}

static cl_int CL_API_CALL enqueuemarker(cl_command_queue queue, cl_uint n,
                                        const cl_event *list,
                                        cl_event *result) {
  if (!enter())
    return NOWORKER;
  return leave(mark(queue, OP_MARKER, CL_COMMAND_MARKER, n, list, result));
}

static cl_int CL_API_CALL enqueuebarrier(cl_command_queue queue, cl_uint n,
                                         const cl_event *list,
                                         cl_event *result) {
  if (!enter())
    return NOWORKER;
  return leave(mark(queue, OP_BARRIER, CL_COMMAND_BARRIER, n, list, result));
}

static cl_int CL_API_CALL flush(cl_command_queue queue) {
  Queue *q = (Queue *)queue;
  if (!enter())
    return NOWORKER;
  if (q->dirty && q->head.generation == clsh_channel.generation) {
    Message *m = clsh_channel_begin(OP_FLUSH);
    wire_putn(m, q->head.id);
    clsh_channel_post();
  }
  q->dirty = false;
  return leave(CL_SUCCESS);
}

/* Events */

static cl_int eventstatus(Event *e) {
  clsh_channel_lock();
  return leave(clsh_channel_usable() ? clsh_command_status(e) : WORKER_DIED);
}

static cl_int await(Event *e) {
  const struct timespec nap = {0, 50 * 1000};
  cl_int status;
  while ((status = eventstatus(e)) > CL_COMPLETE)
    nanosleep(&nap, NULL);
  return status;
}

static cl_int CL_API_CALL waitforevents(cl_uint n, const cl_event *list) {
  cl_int err = CL_SUCCESS;
  for (cl_uint i = 0; i < n; i++)
    if (await((Event *)list[i]) < 0)
      err = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return err;
}

static cl_int CL_API_CALL retainevent(cl_event e) {
  return retain(e);
}

static cl_int CL_API_CALL releaseevent(cl_event e) {
  clsh_channel_lock();
  clsh_command_release((Event *)e);
  return leave(CL_SUCCESS);
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
  cl_event marker = NULL;
  cl_int err = enqueuemarker(queue, 0, NULL, &marker);
  if (err != CL_SUCCESS)
    return err;
  flush(queue);
  waitforevents(1, &marker);
  return releaseevent(marker);
}

static cl_int CL_API_CALL geteventinfo(cl_event event, cl_event_info what,
                                       size_t size, void *p, size_t *real) {
  Event *e = (Event *)event;
  if (what == CL_EVENT_COMMAND_TYPE)
    return give(&e->type, sizeof e->type, size, p, real);
  if (what != CL_EVENT_COMMAND_EXECUTION_STATUS)
    return CL_INVALID_VALUE;
  cl_int status = eventstatus(e);
  return give(&status, sizeof status, size, p, real);
}

static cl_int CL_API_CALL getprofilinginfo(cl_event event,
                                           cl_profiling_info what, size_t size,
                                           void *p, size_t *real) {
  const Event *e = (const Event *)event;
  if (what < CL_PROFILING_COMMAND_QUEUED || what > CL_PROFILING_COMMAND_END)
    return CL_INVALID_VALUE;
  cl_ulong t =
      clsh_heap_wire->slot[e->slot].stamp[what - CL_PROFILING_COMMAND_QUEUED];
  if (clsh_heap_status(e->slot) != CL_COMPLETE || t == UINT64_MAX)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  return give(&t, sizeof t, size, p, real);
}

/* The way into the loader */

static cl_int CL_API_CALL unsupported(void) {
  return WORKER_LACKS;
}

/* Fills the table of functions; those that module cl never calls say so. */
static void filldispatch(void) {
  cl_icd_dispatch d = {.clGetPlatformIDs = getplatformids,
                       .clGetPlatformInfo = getplatforminfo,
                       .clGetDeviceIDs = getdeviceids,
                       .clGetDeviceInfo = getdeviceinfo,
                       .clCreateContext = createcontext,
                       .clReleaseContext = releasecontext,
                       .clCreateCommandQueue = createqueue,
                       .clRetainCommandQueue = retainqueue,
                       .clReleaseCommandQueue = releasequeue,
                       .clCreateBuffer = createbuffer,
                       .clCreateSubBuffer = createsubbuffer,
                       .clRetainMemObject = retainmemory,
                       .clReleaseMemObject = releasememory,
                       .clCreateProgramWithSource = createwithsource,
                       .clCreateProgramWithBinary = createwithbinary,
                       .clGetSupportedImageFormats = getimageformats,
                       .clGetImageInfo = getimageinfo,
                       .clCreateImage = createimage,
                       .clCreateSampler = createsampler,
                       .clReleaseSampler = releasesampler,
                       .clEnqueueReadImage = enqueuereadimage,
                       .clEnqueueWriteImage = enqueuewriteimage,
                       .clEnqueueFillImage = enqueuefillimage,
                       .clEnqueueCopyImage = enqueuecopyimage,
                       .clEnqueueCopyImageToBuffer = enqueuetobuffer,
                       .clEnqueueCopyBufferToImage = enqueuefrombuffer,
                       .clRetainProgram = retainprogram,
                       .clReleaseProgram = releaseprogram,
                       .clBuildProgram = buildprogram,
                       .clGetProgramInfo = getprograminfo,
                       .clGetProgramBuildInfo = getbuildinfo,
                       .clCreateKernel = createkernel,
                       .clReleaseKernel = releasekernel,
                       .clSetKernelArg = setkernelarg,
                       .clGetKernelInfo = getkernelinfo,
                       .clGetKernelArgInfo = getarginfo,
                       .clGetKernelWorkGroupInfo = getworkgroupinfo,
                       .clEnqueueNDRangeKernel = enqueuekernel,
                       .clEnqueueReadBuffer = enqueueread,
                       .clEnqueueWriteBuffer = enqueuewrite,
                       .clEnqueueReadBufferRect = enqueuereadrect,
                       .clEnqueueWriteBufferRect = enqueuewriterect,
                       .clEnqueueCopyBuffer = enqueuecopy,
                       .clEnqueueCopyBufferRect = enqueuecopyrect,
                       .clEnqueueFillBuffer = enqueuefill,
                       .clEnqueueMapBuffer = enqueuemap,
                       .clEnqueueUnmapMemObject = enqueueunmap,
                       .clEnqueueMarkerWithWaitList = enqueuemarker,
                       .clEnqueueBarrierWithWaitList = enqueuebarrier,
                       .clFlush = flush,
                       .clFinish = finish,
                       .clWaitForEvents = waitforevents,
                       .clRetainEvent = retainevent,
                       .clReleaseEvent = releaseevent,
                       .clGetEventInfo = geteventinfo,
                       .clGetEventProfilingInfo = getprofilinginfo};
  void *none = (void *)(uintptr_t)unsupported;
  for (size_t i = 0; i < sizeof d; i += sizeof none) {
    void *f;
    memcpy(&f, (char *)&d + i, sizeof f);
    if (f == NULL)
      memcpy((char *)&d + i, &none, sizeof none);
  }
  clsh_thing_dispatch = d;
}

static cl_int CL_API_CALL icdplatforms(cl_uint room, cl_platform_id *list,
                                       cl_uint *n) {
  filldispatch();
  return getplatformids(room, list, n);
}

/* For the program that the driver is loaded in: ends what is under way. */
__attribute__((visibility("default"))) void clsh_remote_kill(void);

void clsh_remote_kill(void) {
  clsh_channel_lock();
  if (clsh_channel_usable())
    clsh_channel_end();
  clsh_channel_unlock();
}

/* Where the loader finds this driver's functions. */
__attribute__((visibility("default"))) void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name) {
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
    return (void *)(uintptr_t)icdplatforms;
  if (strcmp(name, "clGetPlatformInfo") == 0)
    return (void *)(uintptr_t)getplatforminfo;
  return NULL;
}
