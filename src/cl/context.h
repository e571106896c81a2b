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
Context *clsh_checkcontext(lua_State *L, int arg);
Context *clsh_anycontext(lua_State *L, int arg);     /* closed ones too */
Context *clsh_pushcontext(lua_State *L, int optarg); /* or the session's */
cl_context clsh_contexthandle(lua_State *L, Context *c);
cl_device_id clsh_contextdevice(const Context *c);
const Limits *clsh_limits(const Context *c);
cl_ulong clsh_localroom(const Context *c, cl_ulong own);
void clsh_alive(lua_State *L, Context *c);
void clsh_setlost(Context *c, cl_int code, const char *call);
void clsh_checkcommand(lua_State *L, Context *c, cl_int err, const char *call);
void clsh_pushnotice(lua_State *L); /* what the driver last said */
bool clsh_usable(const Context *c);
void clsh_usebytes(Context *c, size_t bytes);
void clsh_freebytes(Context *c, size_t bytes);
cl_ulong clsh_usedbytes(const Context *c);
void clsh_opencontext(lua_State *L);

#endif
