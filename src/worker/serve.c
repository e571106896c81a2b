/*
** serve.c - the worker: does the OpenCL calls of the program that has started
** it, and ends with it. It trusts the messages and keeps nothing but the
** handles of objects, by the ids that the program gives them.
** SPDX-License-Identifier: MIT
*/
#include "serve.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "wake.h"

#define MAXPLATFORMS 32
#define MAXDEVICES 64

static Wire *wire;
static Message *in, *out; /* what is asked, what is answered */

static void **objects; /* handles by id */
static size_t nobjects;

static void **place(uint64_t id) {
  if (id >= nobjects) {
    size_t n = (size_t)id * 2 + 64;
    void **list = realloc(objects, n * sizeof *list);
    if (list == NULL)
      abort();
    memset(list + nobjects, 0, (n - nobjects) * sizeof *list);
    objects = list;
    nobjects = n;
  }
  return &objects[id];
}

static void *getobject(void) {
  return *place(wire_getn(in));
}

#define VENDOR (-2000) /* codes below are a vendor's own */

/* The running command of each slot, under the lock. */
static cl_event events[WIRE_SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes the times of a command that has ended and lets go of it. */
static void CL_CALLBACK onend(cl_event e, cl_int status, void *arg) {
  static const cl_profiling_info what[] = {
      CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
      CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
  Slot *s = arg;
  cl_ulong t = 0;
  for (int i = 0; i < 4; i++)
    s->stamp[i] =
        clGetEventProfilingInfo(e, what[i], sizeof t, &t, NULL) == CL_SUCCESS
            ? t
            : UINT64_MAX;
  pthread_mutex_lock(&lock);
  events[s - wire->slot] = NULL;
  pthread_mutex_unlock(&lock);
  clReleaseEvent(e);
  atomic_store(&s->status, status < 0 ? status : CL_COMPLETE);
}

/* The events of a wait list that have not ended, one more reference each. */
static cl_uint getwaits(cl_event list[], cl_uint room) {
  cl_uint n = 0;
  uint64_t count = wire_getn(in);
  pthread_mutex_lock(&lock);
  for (uint64_t i = 0; i < count; i++) {
    cl_event e = events[wire_getn(in) % WIRE_SLOTS];
    if (e != NULL && n < room && clRetainEvent(e) == CL_SUCCESS)
      list[n++] = e;
  }
  pthread_mutex_unlock(&lock);
  return n;
}

static void platforms(void) {
  cl_platform_id list[MAXPLATFORMS] = {NULL};
  cl_uint told = 0, n = 0;
  uint64_t id = 1;
  if (clGetPlatformIDs(MAXPLATFORMS, list, &told) != CL_SUCCESS)
    told = 0;
  while (n < told && n < MAXPLATFORMS && list[n] != NULL)
    n++;
  wire_putn(out, n);
  for (cl_uint i = 0; i < n; i++) {
    cl_device_id devices[MAXDEVICES] = {NULL};
    cl_uint count = 0;
    *place(id++) = list[i];
    if (clGetDeviceIDs(list[i], CL_DEVICE_TYPE_ALL, MAXDEVICES, devices,
                       &told) != CL_SUCCESS)
      told = 0;
    while (count < told && count < MAXDEVICES && devices[count] != NULL)
      count++;
    wire_putn(out, count);
    for (cl_uint j = 0; j < count; j++) {
      cl_device_type type = 0;
      char version[256] = "";
      clGetDeviceInfo(devices[j], CL_DEVICE_TYPE, sizeof type, &type, NULL);
      clGetDeviceInfo(devices[j], CL_DEVICE_VERSION, sizeof version - 1,
                      version, NULL);
      *place(id++) = devices[j];
      wire_putn(out, type);
      /* Oclgrind keeps a copy of the memory that it is told to use */
      wire_putn(out, type == CL_DEVICE_TYPE_CPU &&
                         strstr(version, "Oclgrind") == NULL);
    }
  }
}

/* The formats of images; their list is cut where there is no room. */
static cl_int getformats(cl_context c, cl_mem_flags flags,
                         cl_mem_object_type what, size_t size, void *p,
                         size_t *real) {
  cl_uint n = 0;
  cl_uint room = (cl_uint)(size / sizeof(cl_image_format));
  cl_int err = clGetSupportedImageFormats(c, flags, what, room,
                                          room > 0 ? p : NULL, &n);
  *real = n * sizeof(cl_image_format);
  return err;
}

/* clGet*Info: kind, object, device or index, parameter, size. */
static void info(void) {
  uint64_t kind = wire_getn(in);
  void *o = getobject();
  uint64_t other = wire_getn(in);
  cl_uint what = (cl_uint)wire_getn(in);
  size_t size = (size_t)wire_getn(in), real = 0;
  void *p = size > 0 ? calloc(1, size) : NULL;
  cl_int err = CL_INVALID_VALUE;
  switch (kind) {
  case 'p':
    err = clGetPlatformInfo(o, what, size, p, &real);
    break;
  case 'd':
    err = clGetDeviceInfo(o, what, size, p, &real);
    break;
  case 'P':
    err = clGetProgramInfo(o, what, size, p, &real);
    break;
  case 'b':
    err = clGetProgramBuildInfo(o, *place(other), what, size, p, &real);
    break;
  case 'k':
    err = clGetKernelInfo(o, what, size, p, &real);
    break;
  case 'a':
    err = clGetKernelArgInfo(o, (cl_uint)other, what, size, p, &real);
    break;
  case 'w':
    err = clGetKernelWorkGroupInfo(o, *place(other), what, size, p, &real);
    break;
  case 'i':
    err = clGetImageInfo(o, what, size, p, &real);
    break;
  case 'f':
    err = getformats(o, other, what, size, p, &real);
    break;
  }
  out->err = err;
  wire_putn(out, real);
  if (err == CL_SUCCESS && p != NULL)
    wire_put(out, p, real < size ? real : size);
  free(p);
}

static cl_device_id used[MAXDEVICES]; /* those that have had a context */

/*
** Ends the worker where an error may tell that a device has failed for good,
** and none can be had again in this process: NVIDIA's after a wild access.
*/
static void examine(cl_int err) {
  if (err != CL_OUT_OF_RESOURCES && err > VENDOR)
    return;
  for (int i = 0; i < MAXDEVICES && used[i] != NULL; i++) {
    cl_context c = clCreateContext(NULL, 1, &used[i], NULL, NULL, &err);
    if (c != NULL)
      clReleaseContext(c);
    else if (err != CL_OUT_OF_HOST_MEMORY)
      _exit(WIRE_LOST);
  }
}

static void newcontext(void) {
  void **o = place(wire_getn(in));
  cl_device_id d = getobject();
  int i = 0;
  *o = clCreateContext(NULL, 1, &d, NULL, NULL, &out->err);
  while (i < MAXDEVICES - 1 && used[i] != NULL && used[i] != d)
    i++;
  if (*o != NULL)
    used[i] = d;
}

static void newqueue(void) {
  void **o = place(wire_getn(in));
  cl_context c = getobject();
  cl_device_id d = getobject();
  *o = clCreateCommandQueue(c, d, wire_getn(in), &out->err);
}

/* Opens or closes the page behind a buffer, in this process; 0: none. */
static void guard(size_t page, int protection) {
  if (page != 0 && sysconf(_SC_PAGESIZE) == (long)WIRE_PAGE)
    mprotect(wire_at(wire, page), WIRE_PAGE, protection);
}

/* A buffer in the shared heap, with content from there, or neither (0). */
static void newbuffer(void) {
  void **o = place(wire_getn(in));
  cl_context c = getobject();
  cl_mem_flags flags = wire_getn(in);
  size_t size = (size_t)wire_getn(in), offset = (size_t)wire_getn(in);
  *o = clCreateBuffer(c, flags, size,
                      offset != 0 ? wire_at(wire, offset) : NULL, &out->err);
  guard((size_t)wire_getn(in), PROT_NONE);
}

static void newsubbuffer(void) {
  void **o = place(wire_getn(in));
  cl_mem root = getobject();
  cl_mem_flags flags = wire_getn(in);
  cl_buffer_region r = {(size_t)wire_getn(in), 0};
  r.size = (size_t)wire_getn(in);
  *o = clCreateSubBuffer(root, flags, CL_BUFFER_CREATE_TYPE_REGION, &r,
                         &out->err);
}

/* An image of its own, with content from the heap or without (0), or of a
   buffer. */
static void newimage(void) {
  cl_image_format format;
  cl_image_desc desc;
  void **o = place(wire_getn(in));
  cl_context c = getobject();
  cl_mem buffer = getobject();
  cl_mem_flags flags = wire_getn(in);
  const void *f = wire_get(in, sizeof format);
  const void *d = wire_get(in, sizeof desc);
  size_t offset = (size_t)wire_getn(in);
  if (f == NULL || d == NULL) {
    out->err = CL_INVALID_VALUE;
    return;
  }
  memcpy(&format, f, sizeof format);
  memcpy(&desc, d, sizeof desc);
  desc.buffer = buffer;
  *o = clCreateImage(c, flags, &format, &desc,
                     offset != 0 ? wire_at(wire, offset) : NULL, &out->err);
}

static void newsampler(void) {
  void **o = place(wire_getn(in));
  cl_context c = getobject();
  cl_bool normalized = (cl_bool)wire_getn(in);
  cl_addressing_mode address = (cl_addressing_mode)wire_getn(in);
  cl_filter_mode filter = (cl_filter_mode)wire_getn(in);
  *o = clCreateSampler(c, normalized, address, filter, &out->err);
}

static void newprogram(bool source) {
  void **o = place(wire_getn(in));
  cl_context c = getobject();
  cl_device_id d = getobject();
  size_t size = (size_t)wire_getn(in);
  const char *text = wire_get(in, size);
  if (text == NULL)
    out->err = CL_INVALID_VALUE;
  else if (source)
    *o = clCreateProgramWithSource(c, 1, &text, &size, &out->err);
  else {
    cl_int status = CL_SUCCESS;
    *o = clCreateProgramWithBinary(
        c, 1, &d, &size, (const unsigned char **)&text, &status, &out->err);
    wire_putn(out, (uint64_t)(int64_t)status);
  }
}

/* A build on a thread of its own; its end and words go to the slot. */
typedef struct Build {
  cl_program program;
  cl_device_id device;
  Slot *slot;
  char *said; /* room for what the compiler says on standard error */
  size_t room;
  char options[];
} Build;

static void *build(void *arg) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  Build *b = arg;
  pthread_mutex_lock(&one);
  int fd = memfd_create("stderr", MFD_CLOEXEC), before = dup(STDERR_FILENO);
  if (fd >= 0 && before >= 0)
    dup2(fd, STDERR_FILENO);
  cl_int err =
      clBuildProgram(b->program, 1, &b->device, b->options, NULL, NULL);
  if (fd >= 0 && before >= 0) {
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    ssize_t n = pread(fd, b->said, b->room - 1, 0);
    b->said[n > 0 ? n : 0] = '\0';
  }
  close(before);
  close(fd);
  pthread_mutex_unlock(&one);
  examine(err);
  atomic_store(&b->slot->status, err);
  free(b);
  return NULL;
}

static void startbuild(void) {
  char version[256] = "";
  pthread_t thread;
  cl_program p = getobject();
  cl_device_id d = getobject();
  Slot *slot = &wire->slot[wire_getn(in) % WIRE_SLOTS];
  char *said = wire_at(wire, (size_t)wire_getn(in));
  size_t room = (size_t)wire_getn(in), n = (size_t)wire_getn(in);
  const char *options = wire_get(in, n);
  Build *b = malloc(sizeof *b + n + 1);
  if (b == NULL || options == NULL) {
    free(b);
    out->err = CL_OUT_OF_HOST_MEMORY;
    return;
  }
  *b = (Build){p, d, slot, said, room};
  memcpy(b->options, options, n);
  b->options[n] = '\0';
  clGetDeviceInfo(d, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
  /* Oclgrind builds on the thread that made the context */
  if (strstr(version, "Oclgrind") == NULL &&
      pthread_create(&thread, NULL, build, b) == 0)
    pthread_detach(thread);
  else
    build(b);
}

static void getbinary(void) {
  size_t size = 0;
  cl_program p = getobject();
  out->err =
      clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  unsigned char *bytes = size > 0 && size < WIRE_ROOM ? malloc(size) : NULL;
  if (bytes == NULL)
    out->err = CL_OUT_OF_HOST_MEMORY;
  if (out->err == CL_SUCCESS)
    out->err =
        clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL);
  if (out->err == CL_SUCCESS) {
    wire_putn(out, size);
    wire_put(out, bytes, size);
  }
  free(bytes);
}

static void newkernel(void) {
  void **o = place(wire_getn(in));
  cl_program p = getobject();
  size_t n = (size_t)wire_getn(in);
  const char *name = wire_get(in, n + 1);
  *o = clCreateKernel(p, name, &out->err);
}

/* An argument: its index, size and kind: 'm'emory, 's'ampler, 'n'o value. */
static cl_int setarg(cl_kernel k) {
  cl_uint i = (cl_uint)wire_getn(in);
  size_t size = (size_t)wire_getn(in);
  uint64_t kind = wire_getn(in);
  cl_mem m = NULL;
  if (kind == 'm') {
    m = getobject();
    return clSetKernelArg(k, i, size, &m);
  }
  if (kind == 's') {
    cl_sampler s = getobject();
    return clSetKernelArg(k, i, size, &s);
  }
  return clSetKernelArg(k, i, size, kind == 'n' ? NULL : wire_get(in, size));
}

static void release(void) {
  uint64_t kind = wire_getn(in);
  void **o = place(wire_getn(in));
  guard((size_t)wire_getn(in), PROT_READ | PROT_WRITE);
  if (*o == NULL)
    return;
  switch (kind) {
  case 'c':
    clReleaseContext(*o);
    break;
  case 'q':
    clReleaseCommandQueue(*o);
    break;
  case 'm':
    clReleaseMemObject(*o);
    break;
  case 's':
    clReleaseSampler(*o);
    break;
  case 'P':
    clReleaseProgram(*o);
    break;
  case 'k':
    clReleaseKernel(*o);
    break;
  }
  *o = NULL;
}

/* The parts of a command: its queue, its wait list, where its event goes. */
typedef struct Command {
  cl_command_queue queue;
  cl_uint n;
  const cl_event *waits;
  cl_event *event;
} Command;

static cl_int launch(const Command *c) {
  size_t size[9];
  cl_kernel k = getobject();
  cl_uint dims = (cl_uint)wire_getn(in);
  bool offset = wire_getn(in) != 0, local = wire_getn(in) != 0;
  for (int i = 0; i < 9; i++)
    size[i] = (size_t)wire_getn(in);
  for (uint64_t n = wire_getn(in); n > 0; n--) {
    cl_int err = setarg(k);
    if (err != CL_SUCCESS)
      return err;
  }
  return clEnqueueNDRangeKernel(c->queue, k, dims, offset ? size : NULL,
                                size + 3, local ? size + 6 : NULL, c->n,
                                c->waits, c->event);
}

/* A read or write of rows between a buffer and the dense heap. */
static cl_int transfer(const Command *c, bool write) {
  cl_mem m = getobject();
  size_t origin[3], zero[3] = {0, 0, 0}, region[3];
  for (int i = 0; i < 3; i++)
    origin[i] = (size_t)wire_getn(in);
  for (int i = 0; i < 3; i++)
    region[i] = (size_t)wire_getn(in);
  size_t pitch = (size_t)wire_getn(in), slice = (size_t)wire_getn(in);
  char *p = wire_at(wire, (size_t)wire_getn(in));
  if (pitch == 0)
    return write ? clEnqueueWriteBuffer(c->queue, m, CL_FALSE, origin[0],
                                        region[0], p, c->n, c->waits, c->event)
                 : clEnqueueReadBuffer(c->queue, m, CL_FALSE, origin[0],
                                       region[0], p, c->n, c->waits, c->event);
  return write ? clEnqueueWriteBufferRect(c->queue, m, CL_FALSE, origin, zero,
                                          region, pitch, slice, region[0], 0,
                                          p, c->n, c->waits, c->event)
               : clEnqueueReadBufferRect(c->queue, m, CL_FALSE, origin, zero,
                                         region, pitch, slice, region[0], 0, p,
                                         c->n, c->waits, c->event);
}

static cl_int copy(const Command *c) {
  size_t n[13];
  cl_mem from = getobject(), to = getobject();
  bool rows = wire_getn(in) != 0;
  for (int i = 0; i < 13; i++)
    n[i] = (size_t)wire_getn(in);
  return rows ? clEnqueueCopyBufferRect(c->queue, from, to, n, n + 3, n + 6,
                                        n[9], n[10], n[11], n[12], c->n,
                                        c->waits, c->event)
              : clEnqueueCopyBuffer(c->queue, from, to, n[0], n[3], n[6], c->n,
                                    c->waits, c->event);
}

/* Moves pixels between two objects, or one and the dense heap. */
static cl_int pixels(const Command *c) {
  size_t at[3], to[3], region[3];
  cl_command_type type = (cl_command_type)wire_getn(in);
  cl_mem a = getobject(), b = getobject();
  for (int i = 0; i < 3; i++) {
    at[i] = (size_t)wire_getn(in);
    to[i] = (size_t)wire_getn(in);
    region[i] = (size_t)wire_getn(in);
  }
  size_t offset = (size_t)wire_getn(in);
  void *p = wire_at(wire, (size_t)wire_getn(in));
  switch (type) {
  case CL_COMMAND_READ_IMAGE:
    return clEnqueueReadImage(c->queue, a, CL_FALSE, at, region, 0, 0, p, c->n,
                              c->waits, c->event);
  case CL_COMMAND_WRITE_IMAGE:
    return clEnqueueWriteImage(c->queue, b, CL_FALSE, at, region, 0, 0, p,
                               c->n, c->waits, c->event);
  case CL_COMMAND_FILL_IMAGE:
    return clEnqueueFillImage(c->queue, b, p, at, region, c->n, c->waits,
                              c->event);
  case CL_COMMAND_COPY_IMAGE:
    return clEnqueueCopyImage(c->queue, a, b, at, to, region, c->n, c->waits,
                              c->event);
  case CL_COMMAND_COPY_IMAGE_TO_BUFFER:
    return clEnqueueCopyImageToBuffer(c->queue, a, b, at, region, offset, c->n,
                                      c->waits, c->event);
  default:
    return clEnqueueCopyBufferToImage(c->queue, a, b, offset, at, region, c->n,
                                      c->waits, c->event);
  }
}

static cl_int fill(const Command *c) {
  cl_mem m = getobject();
  size_t offset = (size_t)wire_getn(in), size = (size_t)wire_getn(in);
  size_t n = (size_t)wire_getn(in);
  return clEnqueueFillBuffer(c->queue, m, wire_get(in, n), n, offset, size,
                             c->n, c->waits, c->event);
}

static cl_int enqueue(const Command *c) {
  switch (in->op) {
  case OP_LAUNCH:
    return launch(c);
  case OP_READ:
  case OP_WRITE:
    return transfer(c, in->op == OP_WRITE);
  case OP_COPY:
    return copy(c);
  case OP_FILL:
    return fill(c);
  case OP_PIXELS:
    return pixels(c);
  case OP_MARKER:
    return clEnqueueMarkerWithWaitList(c->queue, c->n, c->waits, c->event);
  default:
    return clEnqueueBarrierWithWaitList(c->queue, c->n, c->waits, c->event);
  }
}

/* A command. Its slot is settled by onend, or here, if it was posted. */
static void command(void) {
  static cl_event waits[1024];
  cl_event e = NULL;
  cl_command_queue q = getobject();
  uint64_t at = wire_getn(in) % WIRE_SLOTS;
  cl_uint n = getwaits(waits, sizeof waits / sizeof *waits);
  Command c = {q, n, n > 0 ? waits : NULL, &e};
  out->err = enqueue(&c);
  for (cl_uint i = 0; i < n; i++)
    clReleaseEvent(waits[i]);
  if (out->err != CL_SUCCESS) {
    if (in->posted != 0)
      atomic_store(&wire->slot[at].status, out->err);
    return;
  }
  pthread_mutex_lock(&lock);
  events[at] = e;
  pthread_mutex_unlock(&lock);
  out->err = clSetEventCallback(e, CL_COMPLETE, onend, &wire->slot[at]);
}

static void answer(void) {
  switch (in->op) {
  case OP_PLATFORMS:
    platforms();
    break;
  case OP_INFO:
    info();
    break;
  case OP_CONTEXT:
    newcontext();
    break;
  case OP_QUEUE:
    newqueue();
    break;
  case OP_BUFFER:
    newbuffer();
    break;
  case OP_SUBBUFFER:
    newsubbuffer();
    break;
  case OP_IMAGE:
    newimage();
    break;
  case OP_SAMPLER:
    newsampler();
    break;
  case OP_SOURCE:
  case OP_BINARY:
    newprogram(in->op == OP_SOURCE);
    break;
  case OP_BUILD:
    startbuild();
    break;
  case OP_GETBINARY:
    getbinary();
    break;
  case OP_KERNEL:
    newkernel();
    break;
  case OP_ARG:
    out->err = setarg(getobject());
    break;
  case OP_RELEASE:
    release();
    break;
  case OP_FLUSH:
    out->err = clFlush(getobject());
    break;
  default:
    command();
  }
  examine(out->err);
}

/* Ends the worker with the program, however that ends. */
static void *watch(void *arg) {
  char c;
  while (read(WIRE_LIFE, &c, 1) > 0)
    ;
  _exit(0);
  return arg;
}

/* The memory that the program has made, or NULL. */
static Wire *attach(void) {
  uint64_t size = 0;
  if (pread(WIRE_MEMORY, &size, sizeof size, 0) != sizeof size)
    return NULL;
  void *p =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, WIRE_MEMORY, 0);
  return p != MAP_FAILED ? p : NULL;
}

/*
** Runs the worker; returns an exit code where it cannot begin. Ctrl-C is the
** program's alone: it is blocked, as a compiler would handle it anew, also in
** the linkers that compilers start. A kernel's printf comes out at once.
*/
int clsh_serve_run(void) {
  const struct rlimit none = {0, 0};
  pthread_t thread;
  sigset_t keys;
  uint32_t seen = 0;
  sigemptyset(&keys);
  sigaddset(&keys, SIGINT);
  sigaddset(&keys, SIGQUIT);
  pthread_sigmask(SIG_BLOCK, &keys, NULL);
  setrlimit(RLIMIT_CORE, &none);
  setvbuf(stdout, NULL, _IONBF, 0);
  wire = attach();
  if (wire == NULL || pthread_create(&thread, NULL, watch, NULL) != 0)
    return 2;
  out = wire_in(wire);
  for (;; seen++) {
    while (atomic_load(&wire->request) == seen)
      wake_await(wire, &wire->request, seen, 1, 0);
    in = wire_out(wire, seen);
    wire_begin(out, in->op);
    answer();
    wake_post(wire, &wire->answer, 2);
  }
}
