/*
** context.h - class Context: the limits of a device, its health, and how
** much of its memory is in buffers.
** SPDX-License-Identifier: MIT
*/
#ifndef context_h
#define context_h

#include "object.h"

typedef struct Limits {
  size_t group, item[3], align;
  cl_ulong local_mem, max_alloc, global_mem, constant_mem;
  cl_ulong reserve; /* that the driver may add to a kernel's local memory */
  cl_uint constant_args, dims;
  int version;     /* 120 for OpenCL 1.2 */
  bool nonuniform; /* work-groups may be cut at the edge */
  bool shared;     /* its memory is the host's */
  bool simulated;  /* by Oclgrind */
  bool pretended;  /* see cl.pretend */
} Limits;

#define HELD 1024 /* memory objects of a context, at most */
#define SHARE 16  /* of its device's memory, a 16th at most */

typedef struct Hold {
  int n;
  size_t bytes;              /* of all */
  bool shared;               /* they are host memory, see memory.c */
  struct Hold *next, **link; /* in the list of Holds that are not empty */
  struct {
    cl_mem mem;
    size_t bytes;
  } list[HELD]; /* the oldest first */
} Hold;

#define SAMPLERS 20 /* settings that a sampler may have */

typedef struct Context {
  Object head;
  cl_context handle;
  cl_device_id device;
  Limits limits;
  size_t used;                   /* bytes in buffers and images */
  Hold hold;                     /* besides: for Buffers to come */
  unsigned order;                /* number of its default queue; 0: none yet */
  cl_sampler samplers[SAMPLERS]; /* samplers in use, by setting */
  struct Pool *pool;             /* pinned host memory; NULL: none yet */
  cl_int lost;                   /* the error that ended it, or CL_SUCCESS */
  const char *lostcall;
  int refused;    /* commands in a row without resources */
  bool failed;    /* a user event has failed, or may fail */
  cl_int failure; /* its status */
} Context;
extern const Class clsh_context_class;
#define clsh_context_check(L, i)                                              \
  ((Context *)clsh_class_check(L, i, &clsh_context_class))
#define clsh_context_any(L, i)                                                \
  ((Context *)clsh_class_any(L, i, &clsh_context_class))
Context *clsh_context_push(lua_State *L, int ctxarg); /* or the session's */
cl_context clsh_context_handle(lua_State *L, Context *c);
cl_ulong clsh_context_localroom(const Context *c, cl_ulong own, cl_ulong most);
void clsh_context_alive(lua_State *L, Context *c);
void clsh_context_setlost(Context *c, cl_int code, const char *call);
void clsh_context_raiselost(lua_State *L, const Context *c, const char *call,
                            const char *message);
void clsh_context_checkcommand(lua_State *L, Context *c, cl_int err,
                               const char *call);
void clsh_context_reserve(lua_State *L, Context *c, size_t bytes,
                          const char *call, const char *thing);
void clsh_context_take(Context *c, size_t bytes);
void clsh_context_give(Context *c, size_t bytes);
void clsh_context_press(lua_State *L, const Context *c, size_t bytes);
bool clsh_context_keep(Context *c, cl_mem mem, size_t bytes);
cl_mem clsh_context_takeheld(Context *c, size_t bytes);
void clsh_context_pushnotice(lua_State *L); /* the driver's last text */
bool clsh_context_shares(const Context *a, const Context *b);
bool clsh_context_usable(const Context *c);
void clsh_context_setdevice(lua_State *L);
void clsh_context_function(lua_State *L, const Context *c, int version,
                           const char *name, const char *instead, void *f);
void clsh_context_open(lua_State *L);

/* heldmemory.c */
void clsh_heldmemory_keep(Hold *h, cl_mem mem, size_t bytes, cl_ulong most);
bool clsh_heldmemory_has(const Hold *h, size_t bytes);
cl_mem clsh_heldmemory_take(Hold *h, size_t bytes);
void clsh_heldmemory_empty(Hold *h);
void clsh_heldmemory_emptyall(void);
bool clsh_heldmemory_retry(cl_int code);

#endif
