/*
** svm.c - shared virtual memory: memory with one address for the host and for
** kernels. A buffer over it is a buffer like any other.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "context.h"
#include "svm.h"

#define CAPABILITIES 0x1053 /* CL_DEVICE_SVM_CAPABILITIES */
#define COARSE 1
#define FINE 2
#define FLAG_FINE ((cl_mem_flags)1 << 10) /* CL_MEM_SVM_FINE_GRAIN_BUFFER */

typedef void *(CL_API_CALL *Allocator)(cl_context, cl_mem_flags, size_t,
                                       cl_uint);
typedef void(CL_API_CALL *Freer)(cl_context, void *);

struct Svm {
  cl_context context;
  void *address;
  Freer free;
};

/*
** Memory of that many bytes for the context, which it outlives; NULL: there is
** not enough. Raises where the device has none of the kind.
*/
Svm *clsh_svm_new(lua_State *L, Context *c, bool fine, size_t bytes) {
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
  clsh_later_find(L, c, 200, "clSVMAlloc", instead, &alloc);
  clsh_later_find(L, c, 200, "clSVMFree", instead, &release);
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

void *clsh_svm_address(const Svm *s) {
  return s->address;
}

void clsh_svm_free(Svm *s) {
  s->free(s->context, s->address);
  clReleaseContext(s->context);
  free(s);
}

/* On a driver's thread: no command uses the memory any more. */
static void CL_CALLBACK onend(cl_mem mem, void *svm) {
  (void)mem;
  clsh_svm_free(svm);
}

/* Has the memory freed at the end of a buffer that uses it. */
cl_int clsh_svm_give(Svm *s, cl_mem mem) {
  return clSetMemObjectDestructorCallback(mem, onend, s);
}
