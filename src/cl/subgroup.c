/*
** subgroup.c - how a work-group of a kernel falls into sub-groups.
** SPDX-License-Identifier: MIT
*/
#include "kernel.h"

#define SIZE_FOR_NDRANGE 0x2033 /* of cl_kernel_sub_group_info */
#define COUNT_FOR_NDRANGE 0x2034
#define COMPILE_COUNT 0x11BA

typedef cl_int(CL_API_CALL *Getter)(cl_kernel, cl_device_id, cl_uint, size_t,
                                    const void *, size_t, void *, size_t *);

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
  clsh_later_find(L, k->context, 210, "clGetKernelSubGroupInfo", instead,
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
  lua_pushinteger(L, (lua_Integer)size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, (lua_Integer)count);
  lua_setfield(L, -2, "count");
  if (required > 0) {
    lua_pushinteger(L, (lua_Integer)required);
    lua_setfield(L, -2, "required");
  }
  return 1;
}

void clsh_subgroup_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"sub_groups", kernel_subgroups},
                                     {NULL, NULL}};
  clsh_class_add(L, "Kernel", methods, NULL);
}
