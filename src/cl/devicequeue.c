/*
** devicequeue.c - the queue on which kernels launch kernels: one for each
** context, the default of its device, made before the first kernel that might
** use it.
** SPDX-License-Identifier: MIT
*/
#include "context.h"

#define MAX_QUEUES 0x1051        /* CL_DEVICE_MAX_ON_DEVICE_QUEUES */
#define DEVICE_PROPERTIES 0x104E /* CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES */
#define CAPABILITIES 0x1070      /* CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES */
#define PROPERTIES 0x1093        /* CL_QUEUE_PROPERTIES */
#define ON_DEVICE_DEFAULT                                                     \
  (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | 1 << 2 | 1 << 3)

typedef cl_command_queue(CL_API_CALL *Creator)(cl_context, cl_device_id,
                                               const cl_ulong *, cl_int *);

/* Whether the device has such queues: PoCL would abort where it has none. */
static bool offered(const Context *c) {
  cl_uint queues = 0;
  cl_bitfield properties = 0, capabilities = 0;
  clGetDeviceInfo(c->device, MAX_QUEUES, sizeof queues, &queues, NULL);
  clGetDeviceInfo(c->device, DEVICE_PROPERTIES, sizeof properties, &properties,
                  NULL);
  if (c->limits.version >= 300)
    clGetDeviceInfo(c->device, CAPABILITIES, sizeof capabilities,
                    &capabilities, NULL);
  return c->limits.version >= 200 && queues > 0 && properties != 0 &&
         (c->limits.version < 300 || (capabilities & 1) != 0);
}

/*
** Makes the context's queue on the device, where the device has such queues.
** Without it get_default_queue() is no queue, and enqueue_kernel fails.
*/
void clsh_devicequeue_need(lua_State *L, Context *c) {
  static const cl_ulong properties[] = {PROPERTIES, ON_DEVICE_DEFAULT, 0};
  cl_int err = CL_INVALID_OPERATION;
  Creator create;
  if (c->ondevice != NULL || !offered(c))
    return;
  clsh_later_find(L, c, 200, "clCreateCommandQueueWithProperties",
                  "leave -cl-std=CL2.0 out", &create);
  cl_command_queue q =
      create(clsh_context_handle(L, c), c->device, properties, &err);
  if (err == CL_SUCCESS)
    c->ondevice = q;
}
