/*
** timeline.c - while a timeline is recorded: each command with the host's
** time of its call and the device's times, builds, waits of the host, and the
** user's functions of Lua. Times of a device are mapped to the host's
** monotonic clock, by two looks at both clocks: at its first command and at
** the end. Times of commands are read out once they have ended and somebody
** waits for them, the others at the end. Lua names and draws it all.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "flight.h"
#include "timeline.h"

#define BLOCK 4096 /* records of a block, which stays where it is */
#define BLOCKS 64  /* 262,144 records, 50 MB at most */
#define KEPT 65536 /* events kept: to read one NVIDIA's driver takes 8 us */
#define TEXTS 4096 /* names and sources; a power of two */
#define MARKED 8   /* launches whose marks are kept */
#define MARKBYTES (1 << 20) /* for each, see kernels/show/mark.cl */
#define FRAMES 128          /* functions of Lua that call each other */
#define SHORTEST 10000      /* ns; shorter functions that call nothing */
#define LEVELS 40           /* of a stack that are searched for a caller */
#define ROUNDS 7            /* of a look at two clocks */
#define PATIENCE 1000000000 /* ns for such a round, on a device at work */
#define COMMAND 'c'
#define FUNCTION 'f'

bool clsh_timeline_on;

typedef struct Record {
  char kind; /* of COMMAND, FUNCTION, BUILT, WAITED, SLEPT */
  char how;  /* of a command: 'b' its call waits, 'f' Queue:finish */
  char wide; /* dimensions of a launch, or 0 */
  bool stamped, haslocal;
  int status; /* of a command or a build */
  int line;
  unsigned queue, about; /* places, from 1: of the command waited for */
  const char *name, *source;
  int64_t begin, end; /* of the call, ns of the host; end 0: it failed */
  cl_command_type type;
  cl_event handle, first; /* until the times are read */
  cl_mem marks;           /* of work-groups, or NULL */
  size_t global[3], local[3], bytes;
  lua_Number flop, moved; /* as Launch:work says */
  cl_ulong stamp[4];
} Record;

/* Two looks at the clocks of a host and a device. */
typedef struct Clock {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue; /* keeps the context */
  cl_mem mem;
  int looks;
  int64_t offset[2], at[2], error[2]; /* host - device; of the device; ns */
} Clock;

typedef struct Line { /* a queue */
  unsigned clock;
  bool profiled, out_of_order, standard;
} Line;

static Record *blocks[BLOCKS];
static unsigned count, lost, swept, marked;
static uint64_t generation;
static char *texts[TEXTS];
static unsigned ntexts;
static Clock *clocks;
static Line *lines;
static unsigned nclocks, nlines;
static int64_t origin; /* the start */

typedef struct Frame {
  const lua_State *thread;
  const void *call;
  const char *name, *source;
  int line;
  unsigned count;
  int64_t begin;
} Frame;

static Frame frames[FRAMES];
static char library[LUA_IDSIZE + 1024] = " "; /* how own chunks begin */
static int depth;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clsh_timeline_now(void) {
  return clsh_timeline_on ? now() : 0;
}

static Record *record(unsigned place) {
  return &blocks[(place - 1) / BLOCK][(place - 1) % BLOCK];
}

/* Lets go of the events of a command. */
static void drop(Record *r) {
  if (r->first != NULL)
    clReleaseEvent(r->first);
  if (r->handle != NULL)
    clReleaseEvent(r->handle);
  r->handle = r->first = NULL;
}

/* Reads the times of a command that nobody waited for, if it has ended. */
static void settle(Record *r) {
  cl_ulong from[4];
  if (r->handle == NULL || clsh_driver_handsoff())
    return;
  r->status = clsh_poll_status(r->handle);
  r->type = RECORDING;
  if (r->first == NULL)
    clGetEventInfo(r->handle, CL_EVENT_COMMAND_TYPE, sizeof r->type, &r->type,
                   NULL);
  if (r->status > CL_COMPLETE)
    return;
  r->stamped =
      r->status == CL_COMPLETE && clsh_poll_times(r->handle, r->stamp);
  if (r->stamped && r->first != NULL) {
    r->stamped = clsh_poll_times(r->first, from);
    memcpy(r->stamp, from, 3 * sizeof *from);
  }
  drop(r);
}

/*
** Reads out the oldest command whose event is kept, if it has ended: a driver
** is not to keep events without number.
*/
static void sweep(void) {
  Record *r = record(swept + 1);
  if (r->handle == NULL || clsh_poll_status(r->handle) <= CL_COMPLETE) {
    settle(r);
    swept++;
  }
}

/* A new record; NULL: there is no room, which is counted. */
static Record *add(char kind, int64_t begin) {
  unsigned block = count / BLOCK;
  if (block < BLOCKS && blocks[block] == NULL)
    blocks[block] = malloc(BLOCK * sizeof **blocks);
  if (block == BLOCKS || blocks[block] == NULL) {
    lost++;
    return NULL;
  }
  if (count - swept > KEPT)
    sweep();
  Record *r = record(++count);
  *r = (Record){.kind = kind, .begin = begin, .name = ""};
  return r;
}

/* The same text, kept until the records are dropped. */
static const char *keep(const char *s) {
  unsigned h = 2166136261u;
  for (const char *c = s; *c != '\0'; c++)
    h = (h ^ (unsigned char)*c) * 16777619u;
  for (unsigned i = h % TEXTS;; i = (i + 1) % TEXTS) {
    if (texts[i] != NULL && strcmp(texts[i], s) == 0)
      return texts[i];
    if (texts[i] == NULL) {
      if (ntexts >= TEXTS / 2 || (texts[i] = strdup(s)) == NULL)
        return "(another)";
      ntexts++;
      return texts[i];
    }
  }
}

/* The record of an Event, or NULL: none, or of an earlier timeline. */
static Record *recordof(const Event *e) {
  return e->mark != 0 && e->mark >> 32 == generation
             ? record((unsigned)(e->mark & UINT32_MAX))
             : NULL;
}

/* A round trip of a write on a device that is idle, and its bounds of the
** offset of the clocks; false: the device gives no times now. */
static bool bracket(const Clock *c, int64_t *least, int64_t *most,
                    int64_t *at) {
  static const cl_int word;
  cl_ulong t[4];
  cl_event e = NULL;
  int64_t before = now(), after;
  if (clEnqueueWriteBuffer(c->queue, c->mem, CL_FALSE, 0, sizeof word, &word,
                           0, NULL, &e) != CL_SUCCESS)
    return false;
  clFlush(c->queue);
  cl_int status;
  do {
    status = clsh_poll_status(e);
    after = now();
  } while (status > CL_COMPLETE &&
           after < before + PATIENCE / (1 + 4 * c->looks));
  bool fine = status == CL_COMPLETE && clsh_poll_times(e, t);
  clReleaseEvent(e);
  if (!fine)
    return false;
  *least = before - (int64_t)t[0];
  *most = after - (int64_t)t[3];
  *at = (int64_t)t[3];
  return true;
}

/* Looks at the clocks of host and device; false: that was not possible. */
static bool look(Clock *c) {
  int64_t least = INT64_MIN, most = INT64_MAX, lo, hi, at = 0;
  int rounds = 0;
  while (rounds < ROUNDS && bracket(c, &lo, &hi, &at)) {
    bool apart = lo > most || hi < least; /* a clock went a step */
    least = apart || lo > least ? lo : least;
    most = apart || hi < most ? hi : most;
    rounds++;
  }
  if (rounds == 0)
    return false;
  c->offset[c->looks] = least + (most - least) / 2;
  c->error[c->looks] = (most - least + 1) / 2;
  c->at[c->looks] = at;
  c->looks++;
  return true;
}

static void openclock(Clock *c, const Context *x) {
  *c = (Clock){.device = x->device, .context = x->handle};
  if (x->limits.simulated) /* its times are no device's */
    return;
  cl_int err;
  clsh_driver_block();
  c->queue = clCreateCommandQueue(x->handle, x->device,
                                  CL_QUEUE_PROFILING_ENABLE, &err);
  c->queue = err == CL_SUCCESS ? c->queue : NULL;
  c->mem =
      clCreateBuffer(x->handle, CL_MEM_READ_WRITE, sizeof(cl_int), NULL, &err);
  c->mem = err == CL_SUCCESS ? c->mem : NULL;
  clsh_driver_unblock();
  if (c->queue != NULL && c->mem != NULL)
    look(c);
}

static void closeclock(Clock *c) {
  if (c->mem != NULL && !clsh_driver_handsoff())
    clReleaseMemObject(c->mem);
  if (c->queue != NULL && !clsh_driver_handsoff())
    clReleaseCommandQueue(c->queue);
  c->mem = NULL;
  c->queue = NULL;
}

/* The host's time of a device's, ns. */
static int64_t mapped(const Clock *c, cl_ulong stamp) {
  int64_t t = (int64_t)stamp, span = c->at[1] - c->at[0];
  if (c->looks < 2 || span < 1000000)
    return t + c->offset[0];
  double drift = (double)(c->offset[1] - c->offset[0]) / (double)span;
  return t + c->offset[0] + (int64_t)(drift * (double)(t - c->at[0]));
}

/* The place of a queue in the timeline, from 1; 0: there is no memory. */
static unsigned placeof(Queue *q) {
  if (q->traced >> 32 == generation && q->traced != 0)
    return (unsigned)(q->traced & UINT32_MAX);
  unsigned i = 0;
  while (i < nclocks && clocks[i].context != q->context->handle)
    i++;
  if (i == nclocks) {
    Clock *grown = realloc(clocks, (nclocks + 1) * sizeof *clocks);
    if (grown == NULL)
      return 0;
    clocks = grown;
    openclock(&clocks[nclocks++], q->context);
  }
  Line *grown = realloc(lines, (nlines + 1) * sizeof *lines);
  if (grown == NULL)
    return 0;
  lines = grown;
  lines[nlines++] = (Line){i, q->profiled, q->out_of_order, q->standard};
  q->traced = generation << 32 | nlines;
  return nlines;
}

/* Begins the record of the command of a new Event. */
void clsh_timeline_command(Queue *q, Event *e) {
  unsigned place = clsh_driver_handsoff() ? 0 : placeof(q);
  Record *r = add(COMMAND, now());
  if (r == NULL)
    return;
  r->queue = place;
  r->status = CL_QUEUED;
  e->mark = generation << 32 | count;
}

/* Sets the line of the user that runs. */
static void setwhere(lua_State *L, Record *r) {
  lua_Debug ar;
  if (!clsh_error_where(L, 1, &ar))
    return;
  r->source = keep(ar.short_src);
  r->line = ar.currentline;
}

/* The place for the event of a command that is no object. */
cl_event *clsh_timeline_slot(const Event *e) {
  return &recordof(e)->handle;
}

/* Notes the end of the call that enqueued the command, and its line. */
void clsh_timeline_enqueued(lua_State *L, const Event *e) {
  Record *r = recordof(e);
  if (r == NULL)
    return;
  r->name = keep(e->kernel);
  if (e->kernel[0] != '\0')
    r->source = keep(clsh_flight_where(&r->line));
  else
    setwhere(L, r);
  r->handle = r->handle != NULL ? r->handle : e->handle;
  r->first = e->first;
  if (e->handle != NULL) /* a slot has the only reference */
    clRetainEvent(e->handle);
  if (e->first != NULL)
    clRetainEvent(e->first);
  r->flop = e->flop;
  r->moved = e->bytes;
  r->end = now();
}

void clsh_timeline_sizes(const Event *e, cl_uint dims, const size_t *global,
                         const size_t *local) {
  Record *r = recordof(e);
  if (r == NULL)
    return;
  r->wide = (char)dims;
  r->haslocal = local != NULL;
  memcpy(r->global, global, sizeof r->global);
  if (local != NULL)
    memcpy(r->local, local, sizeof r->local);
}

void clsh_timeline_moves(const Event *e, size_t bytes) {
  Record *r = recordof(e);
  if (r != NULL)
    r->bytes = bytes;
}

/* Notes how the call waits for its command; after the wait once more. */
void clsh_timeline_call(const Event *e, char how) {
  Record *r = recordof(e);
  if (r == NULL)
    return;
  r->how = how;
  if (how == 'b')
    r->end = now();
}

/*
** Sets the last two arguments of the launch of a kernel with marks: memory for
** these, which are NULL after the first launches, and their count, 0.
*/
void clsh_timeline_mark(const Event *e, cl_kernel handle, cl_uint first) {
  static const cl_uint none;
  Record *r = recordof(e);
  cl_int err;
  void *zeros = NULL;
  if (r != NULL && r->queue > 0 && marked++ < MARKED)
    zeros = calloc(1, MARKBYTES);
  if (zeros != NULL)
    r->marks = clCreateBuffer(clocks[lines[r->queue - 1].clock].context,
                              CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                              MARKBYTES, zeros, &err);
  free(zeros);
  clSetKernelArg(handle, first, sizeof(cl_mem),
                 zeros != NULL && r->marks != NULL ? &r->marks : NULL);
  clSetKernelArg(handle, first + 1, sizeof none, &none);
}

/* Takes the times over that an Event has read out. */
void clsh_timeline_ended(const Event *e) {
  Record *r = recordof(e);
  if (r == NULL)
    return;
  r->type = e->command;
  r->status = e->status;
  r->stamped = e->stamped;
  memcpy(r->stamp, e->stamp, sizeof r->stamp);
  drop(r);
}

/* Adds what the host did from `begin` to now, for an Event or NULL. */
void clsh_timeline_span(lua_State *L, char kind, int64_t begin,
                        const char *name, const Event *e, int status) {
  const Record *about = e != NULL ? recordof(e) : NULL;
  if (!clsh_timeline_on || (about != NULL && about->how == 'b'))
    return; /* the command's own call */
  Record *r = add(kind, begin);
  if (r == NULL)
    return;
  r->end = now();
  setwhere(L, r);
  r->status = status;
  r->name = name != NULL ? keep(name) : "";
  r->about = about != NULL ? (unsigned)(e->mark & UINT32_MAX) : 0;
}

/* Ends the functions above the first `n`, at their return or an error. */
static void leave(int n) {
  int64_t end = now();
  while (depth > n) {
    const Frame *f = &frames[--depth];
    Record *r;
    if ((end - f->begin < SHORTEST && count == f->count) ||
        (r = add(FUNCTION, f->begin)) == NULL)
      continue;
    r->end = end;
    r->name = f->name;
    r->source = f->source;
    r->line = f->line;
  }
}

/* The place of a call among the frames, from 0; -1: it has none. */
static int frameof(const lua_State *L, const void *call) {
  int i = depth - 1;
  while (i >= 0 && (frames[i].thread != L || frames[i].call != call))
    i--;
  return i;
}

/* Ends functions that an error has left: their calls are gone. */
static void leavefailed(lua_State *L) {
  lua_Debug ar;
  while (depth > 0 && frames[depth - 1].thread == L) {
    for (int level = 1; level < LEVELS; level++)
      if (lua_getstack(L, level, &ar) == 0)
        break;
      else if (frames[depth - 1].call == ar.i_ci || level == LEVELS - 1)
        return;
    leave(depth - 1);
  }
}

/* Notes calls and returns of functions that are not clshell's own. */
static void oncall(lua_State *L, lua_Debug *ar) {
  if (!clsh_timeline_on) { /* left in a coroutine */
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  int at = frameof(L, ar->i_ci);
  if (at >= 0)
    leave(at);
  if (ar->event == LUA_HOOKRET || depth == FRAMES)
    return;
  lua_getinfo(L, "S", ar);
  if (*ar->what == 'C' || strncmp(ar->source, library, strlen(library)) == 0)
    return;
  leavefailed(L);
  lua_getinfo(L, "n", ar);
  frames[depth++] = (Frame){.thread = L,
                            .call = ar->i_ci,
                            .name = keep(*ar->what == 'm'   ? "main chunk"
                                         : ar->name != NULL ? ar->name
                                                            : "function"),
                            .source = keep(ar->short_src),
                            .line = ar->linedefined,
                            .count = count,
                            .begin = now()};
}

/* Drops all records. */
static void clear(void) {
  for (unsigned i = 1; i <= count && !clsh_driver_handsoff(); i++) {
    drop(record(i));
    if (record(i)->marks != NULL)
      clReleaseMemObject(record(i)->marks);
  }
  for (unsigned i = 0; i < nclocks; i++)
    closeclock(&clocks[i]);
  for (int i = 0; i < BLOCKS; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  for (int i = 0; i < TEXTS; i++) {
    free(texts[i]);
    texts[i] = NULL;
  }
  free(clocks);
  free(lines);
  clocks = NULL;
  lines = NULL;
  generation++; /* Events forget their records */
  count = lost = swept = marked = ntexts = nclocks = nlines = 0;
}

/* start(): records from now on; raises if that is so already. */
static int start(lua_State *L) {
  if (clsh_timeline_on)
    return clsh_error(L, "a timeline is recorded already");
  clear();
  if (clsh_hook_push(L, "library") == LUA_TSTRING)
    snprintf(library, sizeof library, "%s", lua_tostring(L, -1));
  depth = 0;
  origin = now();
  clsh_timeline_on = true;
  lua_sethook(L, oncall, LUA_MASKCALL | LUA_MASKRET, 0);
  return 0;
}

/* stop(): ends it; the records stay until clear() or start(). */
static int stop(lua_State *L) {
  if (!clsh_timeline_on)
    return 0;
  leave(0);
  clsh_timeline_on = false;
  if (lua_gethook(L) == oncall)
    lua_sethook(L, NULL, 0, 0);
  if (clsh_driver_handsoff())
    return 0;
  for (unsigned i = 0; i < nclocks; i++) {
    Clock *c = &clocks[i];
    if (c->queue != NULL && c->mem != NULL && !look(c))
      c->queue = NULL, c->mem = NULL; /* its write may be under way still */
  }
  return 0;
}

static int clearall(lua_State *L) {
  (void)L;
  if (!clsh_timeline_on)
    clear();
  return 0;
}

static void setamount(lua_State *L, const char *name, lua_Number x) {
  if (x > 0) {
    lua_pushnumber(L, x);
    lua_setfield(L, -2, name);
  }
}

/* A command of this module in a word or two, for people. */
const char *clsh_timeline_commandname(cl_command_type type) {
  static const char names[] = /* by number */
      "kernel\0\0\0read\0write\0copy\0read image\0write image\0copy image\0"
      "copy to buffer\0copy to image\0map\0map image\0unmap\0marker\0\0\0"
      "read rect\0write rect\0copy rect\0user\0barrier\0migrate\0fill\0"
      "fill image";
  const char *name = names, *end = names + sizeof names;
  for (cl_uint i = type - CL_COMMAND_NDRANGE_KERNEL; i > 0 && name < end; i--)
    name += strlen(name) + 1;
  if (name < end && *name != '\0')
    return name;
  return type == RECORDING ? "recording" : "command";
}

/* Adds the marks of a command, as bytes, and the device's time of its start.
 */
static void setmarks(lua_State *L, const Record *r, const Clock *c) {
  luaL_Buffer b;
  if (r->marks == NULL || !r->stamped || c->queue == NULL ||
      clsh_driver_handsoff())
    return;
  char *bytes = luaL_buffinitsize(L, &b, MARKBYTES);
  cl_int err = clEnqueueReadBuffer(c->queue, r->marks, CL_TRUE, 0, MARKBYTES,
                                   bytes, 0, NULL, NULL);
  luaL_pushresultsize(&b, err == CL_SUCCESS ? MARKBYTES : 0);
  lua_setfield(L, -2, "marks");
  clsh_field_integer(L, "started", (lua_Integer)r->stamp[2]);
}

/* Adds what is known of a command to the table at the top. */
static void setcommand(lua_State *L, const Record *r) {
  static const char *const stamps[] = {"queued", "submit", "start", "stop"};
  const Line *line = r->queue > 0 ? &lines[r->queue - 1] : NULL;
  const Clock *c = line != NULL ? &clocks[line->clock] : NULL;
  clsh_field_integer(L, "queue", r->queue);
  clsh_field_string(L, "command",
                    r->wide > 0 ? "kernel"
                                : clsh_timeline_commandname(r->type));
  clsh_field_boolean(L, "failed", r->status < 0);
  clsh_field_boolean(L, "ended", r->status <= CL_COMPLETE);
  clsh_field_string(L, "call",
                    r->how == 'b'   ? "waits"
                    : r->how == 'f' ? "finish"
                                    : NULL);
  for (int i = 0; i < 4 && r->stamped && c != NULL && c->looks > 0; i++)
    clsh_field_integer(L, stamps[i], mapped(c, r->stamp[i]) - origin);
  if (c != NULL)
    setmarks(L, r, c);
  if (r->wide > 0) {
    clsh_shape_pushsizes(L, r->global, r->wide);
    lua_setfield(L, -2, "global");
  }
  if (r->haslocal) {
    clsh_shape_pushsizes(L, r->local, r->wide);
    lua_setfield(L, -2, "localsize");
  }
  setamount(L, "bytes", r->bytes > 0 ? (lua_Number)r->bytes : r->moved);
  setamount(L, "flop", r->flop);
}

static void pushrecord(lua_State *L, const Record *r) {
  const char *kind = r->kind == COMMAND    ? "command"
                     : r->kind == FUNCTION ? "function"
                     : r->kind == BUILT    ? "build"
                     : r->kind == WAITED   ? "wait"
                                           : "sleep";
  lua_createtable(L, 0, 16);
  clsh_field_string(L, "kind", kind);
  clsh_field_string(L, "name", *r->name != '\0' ? r->name : NULL);
  clsh_field_integer(L, "from", r->begin - origin);
  clsh_field_integer(L, "to", r->end - origin);
  if (r->source != NULL) {
    lua_pushfstring(L, "%s:%d", r->source, r->line);
    lua_setfield(L, -2, "where");
  }
  if (r->kind == COMMAND)
    setcommand(L, r);
  if (r->kind == BUILT)
    clsh_field_boolean(L, "failed", r->status != CL_SUCCESS);
  if (r->about > 0)
    clsh_field_integer(L, "about", r->about);
}

static void pushclock(lua_State *L, const Clock *c, unsigned device) {
  char name[256] = "?";
  if (!clsh_driver_handsoff())
    clGetDeviceInfo(c->device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  lua_createtable(L, 0, 4);
  clsh_field_integer(L, "device", device);
  clsh_field_string(L, "name", name);
  clsh_field_integer(L, "looks", c->looks);
  int64_t error = c->error[0] > c->error[1] ? c->error[0] : c->error[1];
  clsh_field_integer(L, "error", error);
}

/* Sets the lists `clocks` and `queues` of the table at the top. */
static void setqueues(lua_State *L) {
  lua_createtable(L, (int)nclocks, 0);
  unsigned devices = 0;
  for (unsigned i = 0, k; i < nclocks; i++) {
    for (k = 0; clocks[k].device != clocks[i].device;)
      k++;
    lua_rawgeti(L, -1, k + 1); /* nil: the device is new */
    devices += k == i;
    lua_Integer device = devices;
    if (k < i) {
      lua_getfield(L, -1, "device");
      device = lua_tointeger(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
    pushclock(L, &clocks[i], (unsigned)device);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "clocks");
  lua_createtable(L, (int)nlines, 0);
  for (unsigned i = 0; i < nlines; i++) {
    lua_createtable(L, 0, 4);
    clsh_field_integer(L, "clock", lines[i].clock + 1);
    clsh_field_boolean(L, "profiling", lines[i].profiled);
    clsh_field_boolean(L, "out_of_order", lines[i].out_of_order);
    clsh_field_boolean(L, "standard", lines[i].standard);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "queues");
}

/*
** read() -> {records, queues, clocks, lost, limit, origin}: all records, times
** in ns from the start, which is `origin` on the host's monotonic clock. A
** record of a call that raised is false.
*/
static int readall(lua_State *L) {
  lua_settop(L, 0);
  for (unsigned i = 1; i <= count; i++)
    settle(record(i));
  lua_createtable(L, 0, 6);
  lua_createtable(L, (int)count, 0);
  for (unsigned i = 1; i <= count; i++) {
    const Record *r = record(i);
    if (r->end != 0)
      pushrecord(L, r);
    else
      lua_pushboolean(L, 0);
    lua_rawseti(L, 2, i);
  }
  lua_setfield(L, 1, "records");
  clsh_field_integer(L, "lost", lost);
  clsh_field_integer(L, "limit", BLOCK * BLOCKS);
  clsh_field_integer(L, "origin", origin);
  setqueues(L);
  return 1;
}

/* calendar() -> the calendar's clock less the monotonic one, ns */
static int calendar(lua_State *L) {
  struct timespec t;
  int64_t least = INT64_MAX, offset = 0;
  for (int i = 0; i < ROUNDS; i++) {
    int64_t before = now();
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t took = now() - before;
    if (took >= least)
      continue;
    least = took;
    offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - before - took / 2;
  }
  lua_pushinteger(L, offset);
  return 1;
}

/* recording() -> boolean */
static int recording(lua_State *L) {
  lua_pushboolean(L, clsh_timeline_on);
  return 1;
}

/* Sets the hook timeline, see hook.c. */
void clsh_timeline_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"calendar", calendar},
                                       {"clear", clearall},
                                       {"read", readall},
                                       {"recording", recording},
                                       {"start", start},
                                       {"stop", stop},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  clsh_hook_set(L, "timeline");
}
