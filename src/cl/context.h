/*
** context.h - class Context: the limits of a device, its health, and how
** much of its memory is in buffers.
** SPDX-License-Identifier: MIT
*/
#ifndef context_h
#define context_h

#include "cl.h"

typedef struct Context Context;
typedef struct Limits {
  size_t group, item[3], align;
  cl_ulong local_mem, max_alloc, global_mem, constant_mem;
  cl_ulong reserve; /* that the driver may add to a kernel's local memory */
  cl_uint constant_args, dims;
  int version;     /* 120 for OpenCL 1.2 */
  bool nonuniform; /* work-groups may be cut at the edge */
} Limits;
Context *clsh_context_check(lua_State *L, int arg);
Context *clsh_context_any(lua_State *L, int arg);     /* closed ones too */
Context *clsh_context_push(lua_State *L, int ctxarg); /* or the session's */
cl_context clsh_context_handle(lua_State *L, Context *c);
cl_device_id clsh_context_device(const Context *c);
const Limits *clsh_context_limits(const Context *c);
cl_ulong clsh_context_localroom(const Context *c, cl_ulong own);
void clsh_context_alive(lua_State *L, Context *c);
void clsh_context_setlost(Context *c, cl_int code, const char *call);
void clsh_context_checkcommand(lua_State *L, Context *c, cl_int err,
                               const char *call);
void clsh_context_pushnotice(lua_State *L); /* what the driver last said */
bool clsh_context_usable(const Context *c);
void clsh_context_usebytes(Context *c, size_t bytes);
void clsh_context_freebytes(Context *c, size_t bytes);
cl_ulong clsh_context_usedbytes(const Context *c);
void clsh_context_setdevice(lua_State *L);
void clsh_context_open(lua_State *L);

#endif
