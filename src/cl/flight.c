/*
** flight.c - notes of the newest launches, in static memory: a signal handler
** reads them when a kernel has crashed the process. A note costs a launch
** about as much as setting one argument. The handler's part allocates nothing
** and calls no function that takes a lock.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <string.h>

#include "flight.h"
#include "object.h"

#define NOTES 8   /* launches that are remembered; a power of two */
#define SHOWN 4   /* launches of these that are told */
#define MAXARGS 8 /* arguments of a launch that are told */

typedef struct Arg {
  char name[24];
  char kind;        /* 'b'uffer 'i'mage 's'ampler 'l'ocal 'v'alue 'n'ull */
  const Type *type; /* NULL: a struct */
  Shape shape;      /* of a buffer or image; of local memory its count */
  char value[8];    /* of a scalar */
} Arg;

typedef struct Flight {
  char kernel[48];
  char source[LUA_IDSIZE]; /* of the line that launched; "": not known */
  int line;
  cl_uint dims;
  bool haslocal, hasoffset;
  size_t global[3], local[3], offset[3];
  int nargs;
  Arg args[MAXARGS];
} Flight;

/* Apart from the notes, as the end of each command looks at all States. */
typedef struct State {
  unsigned number;   /* 0: the note is not complete */
  const void *queue; /* an in-order queue; NULL: another queue */
  bool ended;        /* the command is known to have ended */
} State;

static Flight notes[NOTES];
static State states[NOTES];
static unsigned newest; /* the number of the newest note */

static Flight *note(unsigned number) {
  return &notes[number % NOTES];
}

static State *state(unsigned number) {
  return &states[number % NOTES];
}

/* Begins the note of a launch of the running function. */
void clsh_flight_begin(lua_State *L, const char *kernel, const void *queue) {
  lua_Debug ar;
  Flight *f = note(newest + 1);
  *state(newest + 1) = (State){.queue = queue};
  f->nargs = 0;
  f->source[0] = f->kernel[sizeof f->kernel - 1] = '\0';
  memccpy(f->kernel, kernel, '\0', sizeof f->kernel - 1);
  if (clsh_error_where(L, 1, &ar)) {
    memcpy(f->source, ar.short_src, sizeof f->source);
    f->line = ar.currentline;
  }
}

/*
** Adds an argument to the note that was begun. `t` is NULL for a struct and a
** sampler; `shape`, of a buffer, an image or local memory, may be NULL, as may
** `value`, of an argument by value.
*/
void clsh_flight_arg(const char *name, char kind, const Type *t,
                     const Shape *shape, const void *value) {
  Flight *f = note(newest + 1);
  if (f->nargs++ >= MAXARGS)
    return;
  Arg *a = &f->args[f->nargs - 1];
  a->name[sizeof a->name - 1] = '\0';
  memccpy(a->name, name, '\0', sizeof a->name - 1);
  a->kind = kind;
  a->type = t;
  if (shape != NULL)
    a->shape = *shape;
  if (value != NULL && t != NULL && t->width == 1)
    memcpy(a->value, value, t->size);
}

/* Completes the note; returns its number. `local`, `offset` may be NULL. */
unsigned clsh_flight_launch(cl_uint dims, const size_t *global,
                            const size_t *local, const size_t *offset) {
  Flight *f = note(newest + 1);
  assert(dims >= 1 && dims <= 3);
  f->dims = dims;
  f->haslocal = local != NULL;
  f->hasoffset = offset != NULL;
  for (cl_uint i = 0; i < dims; i++) {
    f->global[i] = global[i];
    f->local[i] = local != NULL ? local[i] : 0;
    f->offset[i] = offset != NULL ? offset[i] : 0;
  }
  newest++;
  return state(newest)->number = newest;
}

/* Forgets the newest note: the driver has refused its launch. */
void clsh_flight_drop(void) {
  state(newest)->number = 0;
  newest--;
}

/* The line that launched last, and its source; "": not known. */
const char *clsh_flight_where(int *line) {
  *line = note(newest)->line;
  return note(newest)->source;
}

unsigned clsh_flight_newest(void) {
  return newest;
}

/* Notes the end of launch `number`, and, in order, of the launches before. */
void clsh_flight_end(unsigned number, const void *queue) {
  for (int i = 0; i < NOTES; i++) {
    State *s = &states[i];
    if (s->number == number ||
        (queue != NULL && s->queue == queue && s->number < number))
      s->ended = true;
  }
}

void clsh_flight_add(Text *t, const char *s) {
  while (*s != '\0' && t->at < t->end)
    *t->at++ = *s++;
}

void clsh_flight_addinteger(Text *t, unsigned long long n) {
  char digits[24], *s = digits + sizeof digits;
  *--s = '\0';
  do
    *--s = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  clsh_flight_add(t, s);
}

/* A number to six digits. */
static void addreal(Text *t, double x) {
  int exponent = 0;
  if (x < 0) {
    clsh_flight_add(t, "-");
    x = -x;
  }
  if (!(x <= 1.7976931348623157e308)) {
    clsh_flight_add(t, x > 0 ? "inf" : "nan");
    return;
  }
  for (; x >= 1e6; exponent++)
    x /= 10;
  for (; x != 0 && x < 1e5; exponent--)
    x *= 10;
  uint64_t n = (uint64_t)(x + 0.5), unit = 1;
  for (; n != 0 && n % 10 == 0; exponent++)
    n /= 10;
  bool plain = exponent >= -6 && exponent <= 9;
  for (; plain && exponent > 0; exponent--)
    n *= 10;
  for (; plain && exponent < 0; exponent++)
    unit *= 10;
  clsh_flight_addinteger(t, n / unit);
  if (unit > 1)
    clsh_flight_add(t, ".");
  for (n %= unit; unit > 1; n %= unit) {
    unit /= 10;
    clsh_flight_addinteger(t, n / unit);
  }
  if (exponent != 0) {
    clsh_flight_add(t, exponent < 0 ? "e-" : "e");
    clsh_flight_addinteger(t, (uint64_t)(exponent < 0 ? -exponent : exponent));
  }
}

/* " 64x16", after a word */
static void addsizes(Text *t, const char *word, const size_t *s, cl_uint n) {
  clsh_flight_add(t, word);
  for (cl_uint i = 0; i < n; i++) {
    clsh_flight_add(t, i > 0 ? "x" : " ");
    clsh_flight_addinteger(t, s[i]);
  }
}

static void addscalar(Text *t, const Arg *a) {
  int64_t n;
  double x;
  if (a->type->kind == 'f') {
    clsh_number_loadreals(a->type, a->value, 1, &x);
    addreal(t, x);
    return;
  }
  clsh_number_loadintegers(a->type, a->value, 1, &n);
  bool negative = a->type->kind == 'i' && n < 0;
  clsh_flight_add(t, negative ? "-" : "");
  clsh_flight_addinteger(t, negative ? -(uint64_t)n : (uint64_t)n);
}

/* "x = Buffer float[16]", "n = 100" */
static void addarg(Text *t, const Arg *a) {
  if (a->name[0] != '\0') {
    clsh_flight_add(t, a->name);
    clsh_flight_add(t, " = ");
  }
  if (a->type == NULL) {
    clsh_flight_add(t, a->kind == 's'   ? "a Sampler"
                       : a->kind == 'n' ? "NULL"
                                        : "a struct");
  } else if (a->kind == 'v' && a->type->width == 1) {
    addscalar(t, a);
  } else {
    clsh_flight_add(t, a->kind == 'b'   ? "Buffer "
                       : a->kind == 'i' ? "Image "
                       : a->kind == 'l' ? "local "
                                        : "a ");
    clsh_flight_add(t, a->type->name);
    for (int i = 0; a->kind != 'v' && i < a->shape.ndims; i++) {
      clsh_flight_add(t, "[");
      clsh_flight_addinteger(t, a->shape.dim[i]);
      clsh_flight_add(t, "]");
    }
  }
}

/* Adds a launch and the count of its kind, on up to three lines. */
static void addflight(Text *t, const Flight *f, int count) {
  clsh_flight_add(t, f->kernel);
  addsizes(t, " over", f->global, f->dims);
  if (f->haslocal)
    addsizes(t, ", local", f->local, f->dims);
  if (f->hasoffset)
    addsizes(t, ", offset", f->offset, f->dims);
  if (count > 1) {
    clsh_flight_add(t, ", ");
    clsh_flight_addinteger(t, (uint64_t)count);
    clsh_flight_add(t, " times");
  }
  const char *line = t->at;
  for (int i = 0; i < f->nargs && i < MAXARGS; i++) {
    bool wide = t->at - line > 55;
    clsh_flight_add(t, i == 0 ? "\n    with " : wide ? ",\n      " : ", ");
    line = i == 0 || wide ? t->at : line;
    addarg(t, &f->args[i]);
  }
  clsh_flight_add(t, f->nargs > MAXARGS ? " ..." : "");
  if (f->source[0] != '\0') {
    clsh_flight_add(t, "\n    launched at ");
    clsh_flight_add(t, f->source);
    clsh_flight_add(t, ":");
    clsh_flight_addinteger(t, (uint64_t)f->line);
  }
  clsh_flight_add(t, "\n");
}

static bool same(const Flight *f, const Flight *g) {
  return f->line == g->line && strcmp(f->kernel, g->kernel) == 0 &&
         strcmp(f->source, g->source) == 0;
}

/* Whether a launch is noted and may not have ended. */
static bool isopen(unsigned number) {
  const State *s = state(number);
  return s->number == number && !s->ended;
}

/*
** The count of launches of one kernel by one line that may not have ended, if
** `number` is the newest of these launches; 0 for the others, which nobody
** tells.
*/
static int told(unsigned number) {
  int count = 0;
  if (!isopen(number))
    return 0;
  for (unsigned i = newest; i > 0 && i + NOTES > newest; i--) {
    bool counts = isopen(i) && same(note(number), note(i));
    if (counts && i > number)
      return 0;
    count += counts;
  }
  return count;
}

/*
** Adds the launches that may not have ended to a text, or else the newest
** launch; false: there was none.
*/
bool clsh_flight_tell(Text *t) {
  unsigned first = newest < NOTES ? 1 : newest - NOTES + 1;
  int n = 0;
  for (unsigned i = first; i <= newest && i != 0 && n < SHOWN; i++) {
    int count = told(i);
    if (count == 0)
      continue;
    clsh_flight_add(t, n++ == 0 ? "  under way: kernel " : "  then: kernel ");
    addflight(t, note(i), count);
  }
  if (n == 0 && newest > 0) {
    clsh_flight_add(t, "  no kernel was under way; the newest was ");
    addflight(t, note(newest), 1);
  }
  return newest > 0;
}
