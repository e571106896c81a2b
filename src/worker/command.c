/*
** command.c - the commands under way: what they hold until their end, how that
** is seen, and what a worker that ended was at.
** SPDX-License-Identifier: MIT
*/
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "remote.h"

static Event *oldest, **newest = &oldest;
static int reads;           /* under way, whose bytes have to be fetched */
static const Event *faulty; /* the command that a device failed at */
static cl_int fault;        /* ... and how */
static Launch *last;        /* of those that have ended */

/* A new event with room for the memory of its command; NULL: no room. */
Event *clsh_command_new(Queue *q, cl_command_type type, int nheld) {
  size_t room = (size_t)nheld * sizeof(Memory *);
  uint32_t slot = clsh_heap_takeslot();
  Event *e =
      slot < WIRE_SLOTS ? clsh_thing_new('e', sizeof *e + room, NULL) : NULL;
  if (e == NULL) {
    if (slot < WIRE_SLOTS)
      clsh_heap_giveslot(slot);
    return NULL;
  }
  e->queue = clsh_thing_retain(q);
  e->type = type;
  e->slot = slot;
  return e;
}

void clsh_command_hold(Event *e, Memory *m) {
  e->held[e->nheld++] = clsh_thing_retain(m);
}

/* What the event tells of its kernel, to be filled in; NULL: no memory. */
Launch *clsh_command_launch(Event *e, Kernel *k) {
  Launch *l = calloc(1, sizeof *l + k->nargs * sizeof l->arg[0]);
  if (l == NULL)
    return NULL;
  l->kernel = clsh_thing_retain(k);
  for (cl_uint i = 0; i < k->nargs; i++) {
    const Arg *a = &k->args[i];
    size_t n =
        a->size < sizeof l->arg[i].data ? a->size : sizeof l->arg[i].data;
    l->arg[i].kind = a->kind == 'm' && a->memory->image ? 'i' : a->kind;
    l->arg[i].size = a->kind == 'm' ? a->memory->size : a->size;
    if (a->kind == 'v')
      memcpy(l->arg[i].data, a->data, n);
  }
  e->launch = l;
  return l;
}

/* Lets go of what a command holds: it has ended, or was refused. */
static void droplaunch(Launch *l) {
  if (l != NULL)
    clsh_thing_release(l->kernel);
  free(l);
}

static void drop(Event *e) {
  clsh_heap_give(e->staging);
  e->staging = 0;
  e->target = NULL;
  while (e->nheld > 0)
    clsh_thing_release(e->held[--e->nheld]);
  droplaunch(e->launch);
  e->launch = NULL;
}

void clsh_command_release(Event *e) {
  if (--e->head.refs > 0)
    return;
  drop(e);
  clsh_heap_giveslot(e->slot);
  clsh_thing_release(e->queue);
  free(e);
}

/* Notes a command that the worker has taken. */
void clsh_command_add(Event *e) {
  e->head.refs++;
  e->next = NULL;
  *newest = e;
  newest = &e->next;
  reads += e->target != NULL;
}

/* Takes back a command that the driver has refused. */
void clsh_command_refuse(Event *e) {
  reads -= e->target != NULL;
  e->target = NULL;
  e->whole = false;
  atomic_store(&clsh_heap_wire->slot[e->slot].status, CL_COMPLETE);
}

/* Fetches what a read has got, and lets go of what the command held. */
static void settle(Event *e) {
  reads -= e->target != NULL;
  bool done = clsh_heap_status(e->slot) == CL_COMPLETE;
  if (e->target != NULL && done)
    memcpy(e->target, wire_at(clsh_heap_wire, e->staging), e->bytes);
  if (done && e->whole && e->held[0]->version == e->version &&
      !e->held[0]->shared) {
    clsh_thing_keep(e->held[0], e->staging);
    e->staging = 0;
  }
  if (e->launch != NULL) {
    droplaunch(last);
    last = e->launch;
    e->launch = NULL;
  }
  drop(e);
}

/* Whether an error tells that the device can do nothing more. */
static bool isfault(cl_int status) {
  return status < 0 && status != WORKER_DIED &&
         status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
         status != CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

/*
** Settles commands that have ended: those before the first that runs, and all
** while there are reads, whose bytes have to be there before a later command
** is seen to have ended.
*/
void clsh_command_sweep(void) {
  Event **p = &oldest;
  while (*p != NULL) {
    Event *e = *p;
    cl_int status = clsh_heap_status(e->slot);
    if (isfault(status)) {
      faulty = e;
      fault = status;
      atomic_store(&clsh_heap_wire->slot[e->slot].status, WORKER_DIED);
      clsh_channel_end();
    } else if (status == WIRE_PENDING) {
      if (reads == 0)
        break;
      p = &e->next;
    } else {
      *p = e->next;
      if (newest == &e->next)
        newest = p;
      settle(e);
      clsh_command_release(e);
    }
  }
}

cl_int clsh_command_status(Event *e) {
  if (clsh_heap_status(e->slot) == WIRE_PENDING)
    clsh_channel_look();
  cl_int status = clsh_heap_status(e->slot);
  if (status == WIRE_PENDING)
    return CL_SUBMITTED;
  clsh_command_sweep();
  return clsh_heap_status(e->slot);
}

/* A text that is cut where it is full. */
typedef struct Text {
  size_t n;
  char s[1024];
} Text;

__attribute__((format(printf, 2, 3))) static void add(Text *t, const char *fmt,
                                                      ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, args);
  va_end(args);
  if (n > 0)
    t->n = t->n + (size_t)n < sizeof t->s ? t->n + (size_t)n : sizeof t->s - 1;
}

static void addsizes(Text *t, const char *name, const size_t *s, cl_uint n) {
  add(t, "%s%zu", name, s[0]);
  for (cl_uint i = 1; i < n; i++)
    add(t, "x%zu", s[i]);
}

/* A value of a scalar type in figures; others as their size. */
static void addvalue(Text *t, const char *type, const Passed *a) {
  static const struct {
    const char *name;
    char kind;
    size_t size;
  } types[] = {{"float", 'f', 4}, {"double", 'f', 8}, {"char", 'i', 1},
               {"uchar", 'u', 1}, {"short", 'i', 2},  {"ushort", 'u', 2},
               {"int", 'i', 4},   {"uint", 'u', 4},   {"long", 'i', 8},
               {"ulong", 'u', 8}, {"size_t", 'u', 8}, {"unsigned int", 'u', 4},
               {"bool", 'u', 1}};
  int64_t i = 0;
  float f;
  double d;
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    if (strcmp(type, types[k].name) != 0 || types[k].size != a->size)
      continue;
    if (types[k].kind == 'f') {
      memcpy(&f, a->data, sizeof f);
      memcpy(&d, a->data, sizeof d);
      add(t, "%.9g", a->size == 4 ? (double)f : d);
      return;
    }
    memcpy(&i, a->data, a->size); /* the low bytes come first */
    unsigned shift = (unsigned)(8 * (8 - a->size));
    if (types[k].kind == 'i')
      add(t, "%lld", (long long)((int64_t)((uint64_t)i << shift) >> shift));
    else
      add(t, "%llu", (unsigned long long)i);
    return;
  }
  add(t, "%zu bytes", a->size);
}

/* "kernel 'k' (global 64, local 16; n = 5, x = Buffer of 4096 bytes)" */
static void addlaunch(Text *t, const Launch *l) {
  const Kernel *k = l->kernel;
  const Shape *s = &l->shape;
  add(t, "kernel '%s' (", k->name);
  addsizes(t, "global ", s->size + 3, s->dims);
  if (s->haslocal)
    addsizes(t, ", local ", s->size + 6, s->dims);
  if (s->hasoffset)
    addsizes(t, ", offset ", s->size, s->dims);
  for (cl_uint i = 0; i < k->nargs; i++) {
    const Fact *f = k->args[i].fact;
    const Passed *a = &l->arg[i];
    add(t, "%s%s", i == 0 ? "; " : ", ",
        f[FACT_NAME].err == CL_SUCCESS ? f[FACT_NAME].value : "?");
    if (a->kind == 'm' || a->kind == 'i')
      add(t, " = %s of %zu bytes", a->kind == 'm' ? "Buffer" : "Image",
          a->size);
    else if (a->kind == 's')
      add(t, " = a Sampler");
    else if (a->kind == 'n')
      add(t, " = %zu bytes of local memory", a->size);
    else {
      add(t, " = ");
      addvalue(t, f[FACT_TYPE].err == CL_SUCCESS ? f[FACT_TYPE].value : "", a);
    }
  }
  add(t, ")");
}

/* Whether e is the oldest kernel of its queue that runs. */
static bool issuspect(const Event *e) {
  if (faulty != NULL || e->launch == NULL)
    return e == faulty;
  for (const Event *o = oldest; o != e; o = o->next)
    if (o->queue == e->queue && o->launch != NULL &&
        clsh_heap_status(o->slot) == WIRE_PENDING)
      return false;
  return clsh_heap_status(e->slot) == WIRE_PENDING;
}

static bool islost(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == WIRE_LOST;
}

/* Names the kernels that may have ended the worker; returns their number. */
static int addsuspects(Text *t) {
  int n = 0;
  for (const Event *e = oldest; e != NULL && n < 3; e = e->next)
    if (issuspect(e)) {
      add(t, n++ > 0 ? " or " : "");
      if (e->launch != NULL)
        addlaunch(t, e->launch);
      else
        add(t, "a command");
    }
  if (n == 0 && last != NULL && islost(clsh_channel.status)) {
    addlaunch(t, last); /* a driver may end what it could not do */
    add(t, ", or a launch before it,");
    n++;
  }
  return n;
}

static void addhow(Text *t) {
  int status = clsh_channel.status;
  if (islost(status))
    add(t, "faulted the device");
  else if (faulty != NULL)
    add(t, "faulted the device (error %d)", (int)fault);
  else if (status == CHANNEL_KILLED)
    add(t, "was ended with its worker");
  else if (WIFSIGNALED(status))
    add(t, "ended the worker by signal %d (%s)", WTERMSIG(status),
        strsignal(WTERMSIG(status)));
  else
    add(t, "ended the worker with exit code %d", WEXITSTATUS(status));
}

/*
** Tells of a worker that has ended: what it was at, how it ended, and, in a
** second line, what goes on. All that was under way has failed.
*/
static void onended(void) {
  Text t = {strlen(WORKER_NOTICE), WORKER_NOTICE};
  unsigned kept, lost;
  if (addsuspects(&t) == 0)
    add(&t, clsh_thing_building > 0       ? "the compiler"
            : clsh_channel.op == OP_BUILD ? "the compiler"
                                          : "something");
  add(&t, " ");
  addhow(&t);
  faulty = NULL;
  droplaunch(last);
  last = NULL;
  clsh_heap_failslots(WORKER_DIED);
  clsh_thing_lose(&kept, &lost);
  add(&t, "\na new worker goes on; %u Buffer%s %s content", kept,
      kept == 1 ? "" : "s", kept == 1 ? "keeps its" : "keep their");
  if (lost > 0)
    add(&t, ", %u lost %s", lost, lost == 1 ? "it" : "theirs");
  clsh_thing_tell(t.s);
}

void clsh_command_open(void) {
  clsh_channel.ended = onended;
}
