/*
** clshell.h - what the files of the `cl` module know of each other.
** Each class keeps its struct to itself; the others get live handles here.
** SPDX-License-Identifier: MIT
*/
#ifndef clshell_h
#define clshell_h

#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <stdbool.h>
#include <stddef.h>

#include <lauxlib.h>
#include <lua.h>

#define CLSHELL_VERSION "0.1.0"
#define CLSHELL_HOMEKEY "cl.home" /* registry: where lua/ kernels/ are */
#define MAXDIMS 4                 /* dimensions of an array or a buffer */
#define MAXEVENTS 64              /* events in one `after` list */

/* class.c: objects. The first member of every object is its Object head. */
typedef struct Object {
  const struct Class *class;
  bool closed;
} Object;
typedef struct Class {
  const char *name; /* "Buffer", as messages and cl.extend spell it */
  size_t size;      /* of the whole object */
  const luaL_Reg *methods;
  const luaL_Reg *fields;     /* o.name calls the function with o */
  const luaL_Reg *meta;       /* metamethods besides the common ones */
  lua_CFunction index;        /* for keys that are neither; may be NULL */
  void (*release)(Object *o); /* called once; must not raise */
} Class;
void clsh_newclass(lua_State *L, const Class *class);
void *clsh_newobject(lua_State *L, const Class *class, int uservalues);
void *clsh_testobject(lua_State *L, int arg, const Class *class);
void *clsh_checkobject(lua_State *L, int arg, const Class *class);
void *clsh_anyobject(lua_State *L, int arg, const Class *class);
const char *clsh_anyname(lua_State *L, int arg); /* "Buffer", "nil" ... */
void *clsh_objectoption(lua_State *L, int idx, const Class *class,
                        const char *name);
int clsh_checkword(lua_State *L, int idx, const char *const names[],
                   const char *name);
void clsh_closeobject(Object *o);
void clsh_checkoptions(lua_State *L, int arg, const char *const names[],
                       const char *what);
void clsh_declare(lua_State *L, const char *function,
                  const char *const names[]); /* for cl.option_names */
const char *clsh_nearest(const char *word, const char *const names[]);
void clsh_pressure(lua_State *L, size_t bytes);
void clsh_pushweak(lua_State *L, const char *name);
void clsh_noteweak(lua_State *L, const char *name);
void clsh_openclass(lua_State *L);
void clsh_openchoice(lua_State *L);

/* error.c: all errors are raised here */
int clsh_error(lua_State *L, const char *fmt, ...);
int clsh_argerror(lua_State *L, int arg, const char *fmt, ...);
int clsh_fail(lua_State *L, cl_int code, const char *call, const char *fmt,
              ...);
void clsh_check(lua_State *L, cl_int code, const char *call);
void clsh_pusherror(lua_State *L, cl_int code, const char *call,
                    const char *message);
const char *clsh_errorname(cl_int code);
bool clsh_retry(lua_State *L, cl_int code, int *tries);
void clsh_openerror(lua_State *L);

/* type.c: element types by their OpenCL C names */
typedef struct Type {
  const char *name;
  char kind;           /* 'i' signed, 'u' unsigned, 'f' real */
  unsigned char unit;  /* bytes of one component */
  unsigned char width; /* components: 1 2 3 4 8 16 */
  unsigned char size;  /* bytes of an element; a vector of 3 takes 4 */
} Type;
const Type *clsh_findtype(const char *name, size_t len);
const Type *clsh_checktype(lua_State *L, int arg);
void clsh_pushelement(lua_State *L, const Type *t, const void *p);
const char *clsh_toelement(lua_State *L, int idx, const Type *t, void *p);
float clsh_fromhalf(unsigned short h);
unsigned short clsh_tohalf(double x);
void clsh_opentype(lua_State *L);

/* shape.c: extents of arrays and buffers */
typedef struct Shape {
  int ndims;
  size_t dim[MAXDIMS];
  size_t count; /* product of dim */
} Shape;
void clsh_checkshape(lua_State *L, int arg, const Type *t, Shape *s);
void clsh_pushshape(lua_State *L, const Shape *s);
const char *clsh_shapestring(lua_State *L, const Shape *s);
size_t clsh_checkcount(lua_State *L, int arg, const char *what);

/* array.c: host memory. A block is shared by an array and its transfers. */
typedef struct Block {
  void *data;
  size_t bytes;
  int refs;
  void (*free)(struct Block *b);
  void *cookie[3]; /* for free() */
} Block;
typedef struct Array Array;
void clsh_releaseblock(Block *b);
Array *clsh_newarray(lua_State *L, const Type *t, const Shape *s);
Array *clsh_wrapblock(lua_State *L, const Type *t, const Shape *s, Block *b);
void clsh_setblock(Array *a, Block *b);
Array *clsh_testarray(lua_State *L, int arg);
Array *clsh_checkarray(lua_State *L, int arg);
void clsh_setarray(lua_State *L, Array *a, int arg); /* any init value */
Block *clsh_arrayblock(Array *a);
const Type *clsh_arraytype(const Array *a);
const Shape *clsh_arrayshape(const Array *a);
void clsh_openarray(lua_State *L);
void clsh_openhost(lua_State *L);

/* info.c: clGet*Info by tables */
typedef struct Info {
  const char *name;
  cl_uint query;
  char kind;             /* see info.c */
  const char *extension; /* needed for the query, or NULL */
} Info;
typedef cl_int (*Getter)(void *handle, cl_uint query, size_t size, void *p,
                         size_t *sizeret);
const char *clsh_commandname(cl_command_type type);
int clsh_pushamount(lua_State *L, lua_Number x);
bool clsh_pushinfo(lua_State *L, Getter get, void *handle, const Info *i);
const Info *clsh_findinfo(const Info *list, const char *name);
extern const Info clsh_deviceinfo[]; /* deviceinfo.c; ends with NULL */

/* device.c */
cl_device_id clsh_checkdevice(lua_State *L, int arg);
bool clsh_isdevice(lua_State *L, int arg);
void clsh_pushdevices(lua_State *L);             /* the list of all */
void clsh_select(lua_State *L, const char *sel); /* for the first need */
cl_device_id clsh_pushchosen(lua_State *L);      /* the session's device */
bool clsh_hasextension(lua_State *L, cl_device_id id, const char *name);
void clsh_opendevice(lua_State *L);
void clsh_openselect(lua_State *L);

/* context.c: one device's context, its limits and its health */
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
bool clsh_forked(void);
void clsh_abandon(void);
bool clsh_abandoned(void);
bool clsh_usable(const Context *c);
void clsh_touch(void);
void clsh_usebytes(Context *c, size_t bytes);
void clsh_freebytes(Context *c, size_t bytes);
cl_ulong clsh_usedbytes(const Context *c);
void clsh_opencontext(lua_State *L);

/* queue.c */
typedef struct Queue Queue;
Queue *clsh_checkqueue(lua_State *L, int arg);
Queue *clsh_anyqueue(lua_State *L, int arg); /* closed ones too */
Queue *clsh_queueoption(lua_State *L, int idx);
Queue *clsh_pushqueue(lua_State *L, int ctxarg); /* its default queue */
cl_command_queue clsh_queuehandle(lua_State *L, Queue *q);
cl_int clsh_flushqueue(const Queue *q);
Context *clsh_queuecontext(const Queue *q);
bool clsh_queueprofiled(const Queue *q);
void clsh_pushqueues(lua_State *L); /* all, as the keys of a table */
Queue *clsh_livequeue(lua_State *L, int arg);
bool *clsh_queuedropped(Queue *q);
void clsh_openqueue(lua_State *L);

/* event.c: commands under way. An `after` list is gathered, then passed. */
typedef struct After {
  cl_uint n;
  cl_event list[MAXEVENTS];
} After;
typedef struct Event Event;
Event *clsh_newevent(lua_State *L, int queuearg); /* pending, empty */
cl_event *clsh_eventslot(Event *e);
void clsh_setwork(Event *e, lua_Number flop, lua_Number bytes);
void clsh_pinblock(Event *e, Block *b);
Event *clsh_checkevent(lua_State *L, int arg);
void clsh_waitevent(lua_State *L, int arg);
void clsh_checkafter(lua_State *L, int arg, Context *c, After *a);
int clsh_pendingcommands(const Queue *q, int most, int *kernels);
void clsh_openevent(lua_State *L);

/* wait.c */
extern volatile int clsh_interrupt; /* set by a signal handler */
/* puts an interrupt off (state 0) or on again; returns the state so far;
   NULL where the host program has no such thing */
extern int (*clsh_swapinterrupt)(lua_State *L, int state);
double clsh_now(void); /* seconds, monotonic */
cl_int clsh_eventstatus(cl_event e);
void clsh_await(lua_State *L, bool (*done)(void *), void *what,
                const char *hint);
cl_int clsh_pollevent(lua_State *L, cl_event e);
void clsh_interrupted(lua_State *L, const char *hint);
bool clsh_wasinterrupted(void);
void clsh_addorphan(cl_event e, Block *pin);
void clsh_sweeporphans(void);
void clsh_openwait(lua_State *L);

/* unfinished.c */
int clsh_countunfinished(lua_State *L, double seconds);
bool clsh_startfinish(lua_State *L);
bool clsh_finished(void);
void clsh_openunfinished(lua_State *L);

/* buffer.c */
typedef struct Buffer Buffer;
Buffer *clsh_checkbuffer(lua_State *L, int arg);
Buffer *clsh_testbuffer(lua_State *L, int arg);
cl_mem clsh_bufferhandle(lua_State *L, Buffer *b);
cl_mem clsh_bufferbase(const Buffer *b);
size_t clsh_bufferstart(const Buffer *b);
size_t clsh_basebytes(const Buffer *b);
Context *clsh_buffercontext(const Buffer *b);
const Type *clsh_buffertype(const Buffer *b);
size_t clsh_bufferbytes(const Buffer *b); /* gaps between rows included */
void clsh_openbuffer(lua_State *L);

/* program.c, builder.c */
cl_program clsh_checkprogram(lua_State *L, int arg);
Context *clsh_programcontext(lua_State *L, int arg);
int clsh_buildsrunning(void);
void clsh_openprogram(lua_State *L);

/* kernel.c */
typedef struct Param {
  char name[64]; /* "" where the driver does not tell */
  char type[64]; /* as declared: "float*" */
  char space;    /* 'g'lobal 'c'onstant 'l'ocal 'p'rivate */
  bool known;    /* the driver told the type */
  bool pointer;
  bool constant;     /* what it points to is const */
  const Type *value; /* of the element or value; NULL: not a known name */
} Param;
typedef struct Kernel Kernel;
Kernel *clsh_newkernel(lua_State *L, int program, const char *name);
void clsh_renewkernel(lua_State *L, int old, int new);
int clsh_kernelrevision(const Kernel *k);
bool clsh_kernelgone(const Kernel *k);
Kernel *clsh_checkkernel(lua_State *L, int arg);
cl_kernel clsh_kernelhandle(const Kernel *k);
Context *clsh_kernelcontext(const Kernel *k);
void clsh_pushkernelcontext(lua_State *L, int kernel);
const char *clsh_kernelname(const Kernel *k);
const Param *clsh_kernelparams(const Kernel *k, int *n);
size_t clsh_kernelgroup(const Kernel *k, const size_t **required);
cl_ulong clsh_kernellocal(const Kernel *k); /* bytes, without arguments */
bool clsh_kernelnonuniform(const Kernel *k);
void clsh_openkernel(lua_State *L);

/* arg.c, launch.c */
void clsh_setargs(lua_State *L, const Kernel *k, int first, int n);
int clsh_kernelrange(lua_State *L);
void clsh_openarg(lua_State *L);
void clsh_openlaunch(lua_State *L);

/* signals.c: blocked while a driver may start threads */
void clsh_blocksignals(void);
void clsh_opensignals(void);

/* folder.c */
void clsh_openfolder(lua_State *L);

/* system.c */
void clsh_opensystem(lua_State *L);

/* cl.c */
int luaopen_cl(lua_State *L);

#endif
