/*
** faultlayer.c - an OpenCL layer that makes calls fail and counts objects.
** Loaded by OPENCL_LAYERS=build/tests/faultlayer.so. CLFAULT holds faults,
** NAME:N:CODE[:sticky], separated by commas: the N-th call of the OpenCL
** function NAME ("*": of any but releases) gives CODE; sticky: each later
** one too. Three names stand for the N-th Event made: "status" ends it with
** CODE, "pending" never ends it, "backwards" has it end before it starts.
** CLNAME is the name of every device, for tests with a long name; with CLNAME
** and no CLFAULT the layer prints nothing.
** CLLIMIT has every device tell of limits, such as local:32768,group:256,
** vector:4: bytes of local memory, work-items of a work-group, floats of
** a vector. The launch of a larger work-group fails. With CLLIMIT and no
** CLFAULT the layer prints nothing either.
** "lie" has the N-th question about a size, a count or a text answered
** wrongly, in way CODE: 1 a huge size or count, 2 none at all, 3 a size beyond
** the answer's, 4 all bits set, 5 a text without an end, 6 all bits zero. The
** status of an Event is no such question: how often it is asked is chance.
** "lies" is the same in rounds, each begun by a call of clGetPlatformIDs after
** the N-th: the first round has its first question answered wrongly, the
** second its second, and so on.
** "arguments" has each kernel tell of CODE arguments.
** CLSAY is a line that clBuildProgram prints to standard error; after "abort"
** it ends the process.
** "version" has the device tell OpenCL 3.0 in CODE bytes, and that it cuts
** work-groups at the edge.
** "images" has each device tell of no images.
** "hints" has each device offer the hints of queues, and prints those that a
** queue is made with to standard output: "properties 1096:1".
** "untold" has each device refuse question CODE, a CL_DEVICE_... as a number.
** At the end it prints, to standard error, how many objects of each kind
** were made but not released, how many faults and questions there were, and
** how many bytes of buffers were read back.
** SPDX-License-Identifier: MIT
*/
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXFAULTS 8
#define MAXMARKED 4096

enum {
  CONTEXT,
  QUEUE,
  BUFFER,
  PROGRAM,
  KERNEL,
  EVENT,
  SAMPLER,
  COMMANDS, /* command buffers */
  KINDS
};

typedef struct Fault {
  char name[40];
  long at; /* which call; 0: no fault */
  long calls;
  cl_int code;
  bool sticky;
} Fault;

/* Events that a fault is about; a released one is forgotten. */
typedef struct Marked {
  cl_event event;
  const Fault *fault;
} Marked;

static const cl_icd_dispatch *next;
static cl_icd_dispatch own;
static Fault faults[MAXFAULTS];
static int nfaults, nmarked;
static Marked marked[MAXMARKED];
static long fired, questions, asked, rounds, made[KINDS], released[KINDS];
static size_t bytesread;

long clfault_open(void);

/* How many objects are made but not released, for tests/memfail.c. */
long clfault_open(void) {
  long n = 0;
  for (int i = 0; i < KINDS; i++)
    n += made[i] - released[i];
  return n;
}

/* Whether this call of `name` shall fail, with which code. */
static bool fails(const char *name, cl_int *code) {
  for (int i = 0; i < nfaults; i++) {
    Fault *f = &faults[i];
    if (strcmp(f->name, name) != 0 && strcmp(f->name, "*") != 0)
      continue;
    f->calls++;
    if (f->calls == f->at || (f->sticky && f->calls > f->at)) {
      *code = f->code;
      fired++;
      return true;
    }
  }
  return false;
}

static bool ofevents(const Fault *f) {
  return strcmp(f->name, "status") == 0 || strcmp(f->name, "pending") == 0 ||
         strcmp(f->name, "backwards") == 0;
}

static void newevent(cl_event event) {
  made[EVENT]++;
  for (int i = 0; i < nfaults; i++) {
    Fault *f = &faults[i];
    if (!ofevents(f))
      continue;
    f->calls++;
    if ((f->calls == f->at || (f->sticky && f->calls > f->at)) &&
        nmarked < MAXMARKED) {
      marked[nmarked++] = (Marked){event, f};
      fired++;
    }
  }
}

static const Fault *faultof(cl_event event, const char *name) {
  for (int i = 0; i < nmarked; i++)
    if (marked[i].event == event && strcmp(marked[i].fault->name, name) == 0)
      return marked[i].fault;
  return NULL;
}

/* The way in which this question is to be answered wrongly, or 0. */
static cl_int lie(void) {
  questions++;
  asked++;
  for (int i = 0; i < nfaults; i++) {
    const Fault *f = &faults[i];
    bool again = strcmp(f->name, "lies") == 0;
    long n = again ? asked : questions, at = again ? rounds - f->at : f->at;
    if ((again ? at > 0 : strcmp(f->name, "lie") == 0) &&
        (n == at || (f->sticky && n > at))) {
      fired++;
      return f->code;
    }
  }
  return 0;
}

/* The result `code` of a question whose answer is at p, perhaps made a lie. */
static cl_int lieabout(cl_int code, size_t n, void *p, size_t *r) {
  static const int fill[] = {[4] = 0xff, [5] = 'A', [6] = 0};
  cl_int way = code == CL_SUCCESS ? lie() : 0;
  if (r != NULL && (way == 1 || way == 2))
    *r = way == 1 ? SIZE_MAX >> 1 : 0;
  else if (r != NULL && (way == 3 || way == 4))
    *r = way == 3 ? *r + (1 << 19) : SIZE_MAX;
  if (p != NULL && (way == 2 || way >= 4))
    memset(p, way == 2 ? 0 : fill[way], n);
  return code;
}

static cl_int liecount(cl_int code, cl_uint *r) {
  static const cl_uint counts[] = {[1] = 1u << 30, 0,   1000,
                                   UINT32_MAX,     'A', 0};
  cl_int way = code == CL_SUCCESS && r != NULL ? lie() : 0;
  if (way != 0)
    *r = counts[way];
  return code;
}

/* PARAMS and ARGS are in parentheses. */
#define CALL(name, PARAMS, ARGS)                                              \
  static cl_int CL_API_CALL my_##name PARAMS {                                \
    cl_int code;                                                              \
    if (fails(#name, &code))                                                  \
      return code;                                                            \
    return next->name ARGS;                                                   \
  }
#define QUESTION(name, PARAMS, ARGS)                                          \
  static cl_int CL_API_CALL my_##name PARAMS {                                \
    cl_int code;                                                              \
    if (fails(#name, &code))                                                  \
      return code;                                                            \
    return lieabout(next->name ARGS, n, p, r);                                \
  }
#define COUNTED(name, PARAMS, ARGS)                                           \
  static cl_int CL_API_CALL my_##name PARAMS {                                \
    cl_int code;                                                              \
    if (fails(#name, &code))                                                  \
      return code;                                                            \
    return liecount(next->name ARGS, r);                                      \
  }
#define NEW(type, kind, name, PARAMS, ARGS)                                   \
  static type CL_API_CALL my_##name PARAMS {                                  \
    cl_int code;                                                              \
    if (fails(#name, &code)) {                                                \
      if (err != NULL)                                                        \
        *err = code;                                                          \
      return NULL;                                                            \
    }                                                                         \
    type made_one = next->name ARGS;                                          \
    made[kind] += made_one != NULL;                                           \
    return made_one;                                                          \
  }
#define ENQUEUE(name, PARAMS, ARGS)                                           \
  static cl_int CL_API_CALL my_##name PARAMS {                                \
    cl_int code;                                                              \
    if (fails(#name, &code))                                                  \
      return code;                                                            \
    code = next->name ARGS;                                                   \
    if (code == CL_SUCCESS && event != NULL)                                  \
      newevent(*event);                                                       \
    return code;                                                              \
  }
#define COUNT(kind, table, name, type)                                        \
  static cl_int CL_API_CALL my_##name(type o) {                               \
    table[kind]++;                                                            \
    return next->name(o);                                                     \
  }
#define WAIT cl_uint n, const cl_event *list, cl_event *event

static cl_int CL_API_CALL my_clGetPlatformIDs(cl_uint n, cl_platform_id *p,
                                              cl_uint *r) {
  cl_int code;
  if (fails("clGetPlatformIDs", &code))
    return code;
  code = next->clGetPlatformIDs(n, p, r);
  rounds++;
  asked = 0;
  return liecount(code, r);
}

QUESTION(clGetPlatformInfo,
         (cl_platform_id o, cl_platform_info q, size_t n, void *p, size_t *r),
         (o, q, n, p, r))
COUNTED(clGetDeviceIDs,
        (cl_platform_id o, cl_device_type t, cl_uint n, cl_device_id *p,
         cl_uint *r),
        (o, t, n, p, r))

/* The answer to a query: `bytes` bytes at `value`. */
static cl_int answer(const void *value, size_t bytes, size_t n, void *p,
                     size_t *r) {
  if (r != NULL)
    *r = bytes;
  if (p == NULL)
    return CL_SUCCESS;
  if (n < bytes)
    return CL_INVALID_VALUE;
  memcpy(p, value, bytes);
  return CL_SUCCESS;
}

/* The number after `name` in CLLIMIT, such as "local:", or `none`. */
static size_t limit(const char *name, size_t none) {
  const char *all = getenv("CLLIMIT");
  const char *at = all != NULL ? strstr(all, name) : NULL;
  return at != NULL ? strtoul(at + strlen(name), NULL, 10) : none;
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id o, cl_device_info q,
                                             size_t n, void *p, size_t *r) {
  static const char queuehints[] =
      "cl_khr_priority_hints cl_khr_throttle_hints";
  const cl_bool yes = CL_TRUE, no = CL_FALSE;
  const cl_ulong bytes = limit("local:", 0);
  const size_t group = limit("group:", 0);
  const cl_uint width = (cl_uint)limit("vector:", 0);
  const char *name = getenv("CLNAME");
  char version[256];
  cl_int code;
  if (fails("clGetDeviceInfo", &code))
    return code;
  if (q == CL_DEVICE_NAME && name != NULL)
    return answer(name, strlen(name) + 1, n, p, r);
  if (q == CL_DEVICE_LOCAL_MEM_SIZE && bytes != 0)
    return answer(&bytes, sizeof bytes, n, p, r);
  if (q == CL_DEVICE_MAX_WORK_GROUP_SIZE && group != 0)
    return answer(&group, sizeof group, n, p, r);
  if (q == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT && width != 0)
    return answer(&width, sizeof width, n, p, r);
  for (int i = 0; i < nfaults; i++) {
    if (q == CL_DEVICE_IMAGE_SUPPORT && strcmp(faults[i].name, "images") == 0)
      return answer(&no, sizeof no, n, p, r);
    if (q == CL_DEVICE_EXTENSIONS && strcmp(faults[i].name, "hints") == 0)
      return answer(queuehints, sizeof queuehints, n, p, r);
    if (strcmp(faults[i].name, "untold") == 0 &&
        q == (cl_device_info)faults[i].code)
      return CL_INVALID_VALUE;
    if (strcmp(faults[i].name, "version") != 0)
      continue;
    if (q == CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT)
      return answer(&yes, sizeof yes, n, p, r);
    if (q == CL_DEVICE_VERSION) {
      snprintf(version, sizeof version, "OpenCL 3.0 %*s", faults[i].code - 12,
               "long");
      return answer(version, strlen(version) + 1, n, p, r);
    }
  }
  return lieabout(next->clGetDeviceInfo(o, q, n, p, r), n, p, r);
}

static cl_int CL_API_CALL my_clBuildProgram(
    cl_program o, cl_uint n, const cl_device_id *d, const char *options,
    void(CL_CALLBACK *f)(cl_program, void *), void *p) {
  const char *text = getenv("CLSAY");
  cl_int code;
  if (text != NULL)
    fprintf(stderr, "%s\n", text);
  if (text != NULL && strcmp(text, "abort") == 0)
    abort();
  if (fails("clBuildProgram", &code))
    return code;
  return next->clBuildProgram(o, n, d, options, f, p);
}
static cl_int CL_API_CALL my_clGetProgramInfo(cl_program o, cl_program_info q,
                                              size_t n, void *p, size_t *r) {
  cl_int code;
  if (fails("clGetProgramInfo", &code))
    return code;
  code = next->clGetProgramInfo(o, q, n, p, r);
  return q == CL_PROGRAM_BINARIES ? code : lieabout(code, n, p, r);
}

QUESTION(clGetProgramBuildInfo,
         (cl_program o, cl_device_id d, cl_program_build_info q, size_t n,
          void *p, size_t *r),
         (o, d, q, n, p, r))
CALL(clSetKernelArg, (cl_kernel o, cl_uint i, size_t n, const void *p),
     (o, i, n, p))
static cl_int CL_API_CALL my_clGetKernelInfo(cl_kernel o, cl_kernel_info q,
                                             size_t n, void *p, size_t *r) {
  cl_int code;
  if (fails("clGetKernelInfo", &code))
    return code;
  for (int i = 0; i < nfaults; i++)
    if (q == CL_KERNEL_NUM_ARGS && strcmp(faults[i].name, "arguments") == 0)
      return answer(&faults[i].code, sizeof faults[i].code, n, p, r);
  return lieabout(next->clGetKernelInfo(o, q, n, p, r), n, p, r);
}
QUESTION(clGetKernelArgInfo,
         (cl_kernel o, cl_uint i, cl_kernel_arg_info q, size_t n, void *p,
          size_t *r),
         (o, i, q, n, p, r))
static cl_int CL_API_CALL my_clGetKernelWorkGroupInfo(
    cl_kernel o, cl_device_id d, cl_kernel_work_group_info q, size_t n,
    void *p, size_t *r) {
  const size_t group = limit("group:", 0);
  cl_int code;
  if (fails("clGetKernelWorkGroupInfo", &code))
    return code;
  if (q == CL_KERNEL_WORK_GROUP_SIZE && group != 0)
    return answer(&group, sizeof group, n, p, r);
  return lieabout(next->clGetKernelWorkGroupInfo(o, d, q, n, p, r), n, p, r);
}
CALL(clFlush, (cl_command_queue o), (o))
CALL(clFinish, (cl_command_queue o), (o))

NEW(cl_context, CONTEXT, clCreateContext,
    (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
     void(CL_CALLBACK *f)(const char *, const void *, size_t, void *),
     void *user, cl_int *err),
    (p, n, d, f, user, err))
NEW(cl_command_queue, QUEUE, clCreateCommandQueue,
    (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err),
    (c, d, p, err))

/* Of the properties the plain call takes the flags, which come first. */
static cl_command_queue CL_API_CALL my_clCreateCommandQueueWithProperties(
    cl_context c, cl_device_id d, const cl_queue_properties *list,
    cl_int *err) {
  printf("properties");
  for (int i = 2; list[i] != 0; i += 2)
    printf(" %llx:%llu", (unsigned long long)list[i],
           (unsigned long long)list[i + 1]);
  printf("\n");
  fflush(stdout);
  return my_clCreateCommandQueue(c, d, list[1], err);
}
NEW(cl_mem, BUFFER, clCreateBuffer,
    (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *err),
    (c, f, n, p, err))
NEW(cl_mem, BUFFER, clCreateSubBuffer,
    (cl_mem b, cl_mem_flags f, cl_buffer_create_type t, const void *p,
     cl_int *err),
    (b, f, t, p, err))
NEW(cl_mem, BUFFER, clCreateImage,
    (cl_context c, cl_mem_flags f, const cl_image_format *format,
     const cl_image_desc *desc, void *p, cl_int *err),
    (c, f, format, desc, p, err))
NEW(cl_sampler, SAMPLER, clCreateSampler,
    (cl_context c, cl_bool normalized, cl_addressing_mode a, cl_filter_mode f,
     cl_int *err),
    (c, normalized, a, f, err))
COUNTED(clGetSupportedImageFormats,
        (cl_context c, cl_mem_flags f, cl_mem_object_type t, cl_uint n,
         cl_image_format *p, cl_uint *r),
        (c, f, t, n, p, r))
QUESTION(clGetImageInfo,
         (cl_mem o, cl_image_info q, size_t n, void *p, size_t *r),
         (o, q, n, p, r))
NEW(cl_program, PROGRAM, clCreateProgramWithSource,
    (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *err),
    (c, n, s, l, err))
NEW(cl_program, PROGRAM, clCreateProgramWithBinary,
    (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l,
     const unsigned char **b, cl_int *status, cl_int *err),
    (c, n, d, l, b, status, err))
NEW(cl_kernel, KERNEL, clCreateKernel,
    (cl_program p, const char *name, cl_int *err), (p, name, err))

/* Counts what is read back. */
static size_t toread(size_t bytes) {
  bytesread += bytes;
  return bytes;
}

static const size_t *readrect(const size_t *r) {
  toread(r[0] * r[1] * r[2]);
  return r;
}

ENQUEUE(clEnqueueReadBuffer,
        (cl_command_queue q, cl_mem b, cl_bool wait, size_t o, size_t size,
         void *p, WAIT),
        (q, b, wait, o, toread(size), p, n, list, event))
ENQUEUE(clEnqueueWriteBuffer,
        (cl_command_queue q, cl_mem b, cl_bool wait, size_t o, size_t size,
         const void *p, WAIT),
        (q, b, wait, o, size, p, n, list, event))
ENQUEUE(clEnqueueReadBufferRect,
        (cl_command_queue q, cl_mem b, cl_bool wait, const size_t *bo,
         const size_t *ho, const size_t *r, size_t bp, size_t bs, size_t hp,
         size_t hs, void *p, WAIT),
        (q, b, wait, bo, ho, readrect(r), bp, bs, hp, hs, p, n, list, event))
ENQUEUE(clEnqueueWriteBufferRect,
        (cl_command_queue q, cl_mem b, cl_bool wait, const size_t *bo,
         const size_t *ho, const size_t *r, size_t bp, size_t bs, size_t hp,
         size_t hs, const void *p, WAIT),
        (q, b, wait, bo, ho, r, bp, bs, hp, hs, p, n, list, event))
ENQUEUE(clEnqueueFillBuffer,
        (cl_command_queue q, cl_mem b, const void *p, size_t ps, size_t o,
         size_t size, WAIT),
        (q, b, p, ps, o, size, n, list, event))
ENQUEUE(clEnqueueCopyBuffer,
        (cl_command_queue q, cl_mem b, cl_mem d, size_t bo, size_t to,
         size_t size, WAIT),
        (q, b, d, bo, to, size, n, list, event))
ENQUEUE(clEnqueueCopyBufferRect,
        (cl_command_queue q, cl_mem b, cl_mem d, const size_t *bo,
         const size_t *to, const size_t *r, size_t bp, size_t bs, size_t dp,
         size_t ds, WAIT),
        (q, b, d, bo, to, r, bp, bs, dp, ds, n, list, event))
ENQUEUE(clEnqueueReadImage,
        (cl_command_queue q, cl_mem b, cl_bool wait, const size_t *o,
         const size_t *r, size_t rp, size_t sp, void *p, WAIT),
        (q, b, wait, o, r, rp, sp, p, n, list, event))
ENQUEUE(clEnqueueWriteImage,
        (cl_command_queue q, cl_mem b, cl_bool wait, const size_t *o,
         const size_t *r, size_t rp, size_t sp, const void *p, WAIT),
        (q, b, wait, o, r, rp, sp, p, n, list, event))
ENQUEUE(clEnqueueFillImage,
        (cl_command_queue q, cl_mem b, const void *color, const size_t *o,
         const size_t *r, WAIT),
        (q, b, color, o, r, n, list, event))
ENQUEUE(clEnqueueCopyImage,
        (cl_command_queue q, cl_mem b, cl_mem d, const size_t *o,
         const size_t *to, const size_t *r, WAIT),
        (q, b, d, o, to, r, n, list, event))
ENQUEUE(clEnqueueCopyImageToBuffer,
        (cl_command_queue q, cl_mem b, cl_mem d, const size_t *o,
         const size_t *r, size_t to, WAIT),
        (q, b, d, o, r, to, n, list, event))
ENQUEUE(clEnqueueCopyBufferToImage,
        (cl_command_queue q, cl_mem b, cl_mem d, size_t o, const size_t *to,
         const size_t *r, WAIT),
        (q, b, d, o, to, r, n, list, event))
ENQUEUE(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem b, void *p, WAIT),
        (q, b, p, n, list, event))
static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
    const size_t *global, const size_t *local, WAIT) {
  const size_t group = limit("group:", SIZE_MAX);
  size_t items = 1;
  cl_int code;
  if (fails("clEnqueueNDRangeKernel", &code))
    return code;
  for (cl_uint i = 0; local != NULL && i < dims; i++)
    items *= local[i];
  if (items > group)
    return CL_INVALID_WORK_GROUP_SIZE;
  code = next->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n,
                                      list, event);
  if (code == CL_SUCCESS && event != NULL)
    newevent(*event);
  return code;
}
ENQUEUE(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAIT),
        (q, n, list, event))
ENQUEUE(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAIT),
        (q, n, list, event))

static void *CL_API_CALL my_clEnqueueMapBuffer(cl_command_queue q, cl_mem b,
                                               cl_bool wait, cl_map_flags f,
                                               size_t o, size_t size, WAIT,
                                               cl_int *err) {
  if (fails("clEnqueueMapBuffer", err))
    return NULL;
  void *p =
      next->clEnqueueMapBuffer(q, b, wait, f, o, size, n, list, event, err);
  if (p != NULL && event != NULL)
    newevent(*event);
  return p;
}

COUNT(CONTEXT, made, clRetainContext, cl_context)
COUNT(CONTEXT, released, clReleaseContext, cl_context)
COUNT(QUEUE, made, clRetainCommandQueue, cl_command_queue)
COUNT(QUEUE, released, clReleaseCommandQueue, cl_command_queue)
COUNT(BUFFER, made, clRetainMemObject, cl_mem)
COUNT(BUFFER, released, clReleaseMemObject, cl_mem)
COUNT(PROGRAM, made, clRetainProgram, cl_program)
COUNT(PROGRAM, released, clReleaseProgram, cl_program)
COUNT(KERNEL, made, clRetainKernel, cl_kernel)
COUNT(KERNEL, released, clReleaseKernel, cl_kernel)
COUNT(SAMPLER, released, clReleaseSampler, cl_sampler)
COUNT(EVENT, made, clRetainEvent, cl_event)

static cl_int CL_API_CALL my_clReleaseEvent(cl_event event) {
  released[EVENT]++;
  for (int i = nmarked - 1; i >= 0; i--)
    if (marked[i].event == event)
      marked[i] = marked[--nmarked];
  return next->clReleaseEvent(event);
}

static cl_int CL_API_CALL my_clWaitForEvents(cl_uint n, const cl_event *list) {
  cl_int code;
  if (fails("clWaitForEvents", &code))
    return code;
  return next->clWaitForEvents(n, list);
}

/* Of waits for a CPU. */
static cl_int CL_API_CALL my_clSetEventCallback(
    cl_event event, cl_int type,
    void(CL_CALLBACK *f)(cl_event, cl_int, void *), void *p) {
  cl_int code;
  if (fails("clSetEventCallback", &code))
    return code;
  return next->clSetEventCallback(event, type, f, p);
}

static cl_int CL_API_CALL my_clGetEventInfo(cl_event event, cl_event_info q,
                                            size_t n, void *p, size_t *r) {
  cl_int code;
  if (fails("clGetEventInfo", &code))
    return code;
  code = next->clGetEventInfo(event, q, n, p, r);
  if (q != CL_EVENT_COMMAND_EXECUTION_STATUS)
    return lieabout(code, n, p, r);
  if (code != CL_SUCCESS || p == NULL || *(cl_int *)p != CL_COMPLETE)
    return code;
  const Fault *f = faultof(event, "status");
  if (f != NULL)
    *(cl_int *)p = f->code;
  if (faultof(event, "pending") != NULL)
    *(cl_int *)p = CL_RUNNING;
  return code;
}

static cl_int CL_API_CALL my_clGetEventProfilingInfo(cl_event event,
                                                     cl_profiling_info q,
                                                     size_t n, void *p,
                                                     size_t *r) {
  cl_int code;
  if (fails("clGetEventProfilingInfo", &code))
    return code;
  if (faultof(event, "backwards") == NULL || q != CL_PROFILING_COMMAND_END)
    return lieabout(next->clGetEventProfilingInfo(event, q, n, p, r), n, p, r);
  code = next->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, n, p,
                                       r);
  *(cl_ulong *)p -= 1000;
  return code;
}

static void readfaults(const char *s) {
  char sticky[8];
  int used;
  while (s != NULL && *s != '\0' && nfaults < MAXFAULTS) {
    Fault *f = &faults[nfaults];
    used = 0;
    if (sscanf(s, "%39[^:]:%ld:%d%n", f->name, &f->at, &f->code, &used) < 3) {
      fprintf(stderr, "faultlayer: CLFAULT: '%s' is no fault\n", s);
      exit(2);
    }
    s += used;
    if (sscanf(s, ":%7[a-z]%n", sticky, &used) == 1) {
      f->sticky = true;
      s += used;
    }
    s += *s == ',';
    nfaults++;
  }
}

static __attribute__((destructor)) void report(void) {
  static const char *const names[] = {"Context", "Queue",   "Buffer",
                                      "Program", "Kernel",  "Event",
                                      "Sampler", "Commands"};
  bool silent = getenv("CLNAME") != NULL || getenv("CLLIMIT") != NULL;
  if (next == NULL || (silent && nfaults == 0))
    return;
  fprintf(stderr, "faultlayer: %ld faults; open:", fired);
  for (int i = 0; i < KINDS; i++)
    fprintf(stderr, " %s %ld", names[i], made[i] - released[i]);
  fprintf(stderr, "\nfaultlayer: %zu bytes read, %ld questions\n", bytesread,
          questions);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info q, size_t n,
                                               void *p, size_t *r) {
  static const char name[] = "clshell faults";
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  bool isname = q == CL_LAYER_NAME;
  size_t size = isname ? sizeof name : sizeof version;
  if ((!isname && q != CL_LAYER_API_VERSION) || (p != NULL && n < size))
    return CL_INVALID_VALUE;
  if (p != NULL)
    memcpy(p, isname ? (const void *)name : (const void *)&version, size);
  if (r != NULL)
    *r = size;
  return CL_SUCCESS;
}

/* The driver's functions for command buffers, which no table holds. */
typedef void *(CL_API_CALL *Creator)(cl_uint, const cl_command_queue *,
                                     const cl_ulong *, cl_int *);
typedef cl_int(CL_API_CALL *Ender)(void *);
typedef cl_int(CL_API_CALL *Enqueuer)(cl_uint, cl_command_queue *, void *,
                                      WAIT);
static Creator create;
static Ender finalize, release;
static Enqueuer enqueue;

static void *CL_API_CALL my_create(cl_uint n, const cl_command_queue *q,
                                   const cl_ulong *properties, cl_int *err) {
  if (fails("clCreateCommandBufferKHR", err))
    return NULL;
  void *commands = create(n, q, properties, err);
  made[COMMANDS] += commands != NULL;
  return commands;
}

static cl_int CL_API_CALL my_finalize(void *commands) {
  cl_int code;
  return fails("clFinalizeCommandBufferKHR", &code) ? code
                                                    : finalize(commands);
}

static cl_int CL_API_CALL my_release(void *commands) {
  released[COMMANDS]++;
  return release(commands);
}

static cl_int CL_API_CALL my_enqueue(cl_uint nq, cl_command_queue *q,
                                     void *commands, WAIT) {
  cl_int code;
  if (fails("clEnqueueCommandBufferKHR", &code))
    return code;
  code = enqueue(nq, q, commands, n, list, event);
  if (code == CL_SUCCESS)
    newevent(*event);
  return code;
}

/* Keeps the driver's function at `kept`; the layer's goes in its place. */
static void *replace(void *f, void *kept, size_t size, const void *mine) {
  memcpy(kept, &f, size);
  memcpy(&f, mine, size);
  return f;
}

static void *CL_API_CALL my_clGetExtensionFunctionAddressForPlatform(
    cl_platform_id p, const char *name) {
  static const Creator creates = my_create;
  static const Ender finalizes = my_finalize, releases = my_release;
  static const Enqueuer enqueues = my_enqueue;
  void *f = next->clGetExtensionFunctionAddressForPlatform(p, name);
  if (f == NULL)
    return f;
  if (strcmp(name, "clCreateCommandBufferKHR") == 0)
    return replace(f, &create, sizeof create, &creates);
  if (strcmp(name, "clFinalizeCommandBufferKHR") == 0)
    return replace(f, &finalize, sizeof finalize, &finalizes);
  if (strcmp(name, "clReleaseCommandBufferKHR") == 0)
    return replace(f, &release, sizeof release, &releases);
  if (strcmp(name, "clEnqueueCommandBufferKHR") == 0)
    return replace(f, &enqueue, sizeof enqueue, &enqueues);
  return f;
}

#define OWN(name) own.name = my_##name

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n,
                                            const cl_icd_dispatch *target,
                                            cl_uint *r,
                                            const cl_icd_dispatch **layer) {
  if (n < sizeof own / sizeof(void *) || target == NULL)
    return CL_INVALID_VALUE;
  next = target;
  own = *target;
  OWN(clGetPlatformIDs), OWN(clGetPlatformInfo), OWN(clGetDeviceIDs);
  OWN(clGetDeviceInfo), OWN(clBuildProgram), OWN(clGetProgramInfo);
  OWN(clGetProgramBuildInfo), OWN(clSetKernelArg), OWN(clGetKernelInfo);
  OWN(clGetKernelArgInfo), OWN(clGetKernelWorkGroupInfo), OWN(clFlush);
  OWN(clFinish), OWN(clCreateContext), OWN(clCreateCommandQueue);
  OWN(clCreateCommandQueueWithProperties);
  OWN(clCreateBuffer), OWN(clCreateSubBuffer);
  OWN(clCreateProgramWithSource), OWN(clCreateProgramWithBinary);
  OWN(clCreateKernel), OWN(clEnqueueReadBuffer), OWN(clEnqueueWriteBuffer);
  OWN(clEnqueueReadBufferRect), OWN(clEnqueueWriteBufferRect);
  OWN(clEnqueueFillBuffer), OWN(clEnqueueCopyBuffer);
  OWN(clEnqueueCopyBufferRect), OWN(clEnqueueUnmapMemObject);
  OWN(clEnqueueNDRangeKernel), OWN(clEnqueueMarkerWithWaitList);
  OWN(clEnqueueBarrierWithWaitList), OWN(clEnqueueMapBuffer);
  OWN(clRetainContext), OWN(clReleaseContext), OWN(clRetainCommandQueue);
  OWN(clReleaseCommandQueue), OWN(clRetainMemObject);
  OWN(clReleaseMemObject), OWN(clRetainProgram), OWN(clReleaseProgram);
  OWN(clRetainKernel), OWN(clReleaseKernel), OWN(clRetainEvent);
  OWN(clReleaseEvent), OWN(clWaitForEvents), OWN(clGetEventInfo);
  OWN(clGetEventProfilingInfo), OWN(clCreateImage), OWN(clCreateSampler);
  OWN(clReleaseSampler), OWN(clGetSupportedImageFormats), OWN(clGetImageInfo);
  OWN(clEnqueueReadImage), OWN(clEnqueueWriteImage), OWN(clEnqueueFillImage);
  OWN(clEnqueueCopyImage), OWN(clEnqueueCopyImageToBuffer);
  OWN(clEnqueueCopyBufferToImage), OWN(clSetEventCallback);
  OWN(clGetExtensionFunctionAddressForPlatform);
  readfaults(getenv("CLFAULT"));
  *r = sizeof own / sizeof(void *);
  *layer = &own;
  return CL_SUCCESS;
}
