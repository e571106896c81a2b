/*
** svm.c - the Buffers of shared virtual memory that a kernel reaches by
** addresses in its data.
** SPDX-License-Identifier: MIT
*/
#include "buffer.h"
#include "kernel.h"

#define SVM_PTRS 0x11B6 /* CL_KERNEL_EXEC_INFO_SVM_PTRS */

typedef cl_int(CL_API_CALL *Setter)(cl_kernel, cl_uint, size_t, const void *);

/* Tells the driver of the Buffers in the table at `list`. */
static void tell(lua_State *L, const Kernel *k, cl_kernel handle, int list) {
  Setter set;
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
    err = CL_SUCCESS; /* NVIDIA's driver keeps the pointers of before */
  clsh_error_check(L, err, "clSetKernelExecInfo");
  lua_pop(L, 1);
}

/* Pushes the list of the Kernel at `kernel`, or nil, for another handle too.
 */
void clsh_svm_copy(lua_State *L, int kernel, cl_kernel handle) {
  const Kernel *k = clsh_kernel_check(L, kernel);
  if (lua_getiuservalue(L, kernel, KERNEL_USES) != LUA_TNIL)
    tell(L, k, handle, lua_gettop(L));
}

/** Kernel:uses(list) -> Kernel
 * Tells the driver which Buffers of shared virtual memory (svm = true) the
 * kernel reaches by addresses in its data, not by its parameters; {} for none.
 * The kernel keeps them from being collected. Closed ones must not be reached
 * any more. After Program:rebuild the kernel needs this call again.
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
  tell(L, k, k->handle, 3);
  lua_settop(L, 1);
  return 1;
}

void clsh_svm_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"uses", kernel_uses}, {NULL, NULL}};
  clsh_class_add(L, "Kernel", methods, NULL);
}
