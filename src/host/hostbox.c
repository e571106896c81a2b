/*
** hostbox.c - cl.host: boxes of matrices copied between Arrays and files, by
** several threads: one thread has not the bandwidth of a link to a device.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>

#include "cl/memory.h"
#include "host.h"

#define PIECE ((size_t)1 << 20) /* bytes that a thread takes at once */
#define ROUND 256               /* pieces between two looks at Ctrl-C */
#define MOSTTHREADS 16

/* One side of a copy: memory, or a file where data is NULL. */
typedef struct Side {
  const Array *array;
  char *data;
  int file;
  size_t first, pitch; /* bytes: of the box's beginning, from row to row */
} Side;

/* The copy that the threads share. */
typedef struct Copy {
  Side to, from;
  size_t width, perrow; /* bytes of a row, and its pieces */
  size_t begin;         /* the first piece of this round */
  atomic_int problem;   /* errno; -1: the file ends */
} Copy;

/* Moves all bytes of a piece from or to a file; 0, or the problem. */
static int movefile(const Side *s, bool write, char *p, size_t n,
                    size_t offset) {
  while (n > 0) {
    ssize_t done = write ? pwrite(s->file, p, n, (off_t)offset)
                         : pread(s->file, p, n, (off_t)offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : -1;
    p += done;
    offset += (size_t)done;
    n -= (size_t)done;
  }
  return 0;
}

/* Moves a piece of the round, unless another piece has met a problem. */
static void movepiece(void *job, size_t i) {
  Copy *c = job;
  size_t row = (c->begin + i) / c->perrow;
  size_t at = (c->begin + i) % c->perrow * PIECE;
  size_t n = c->width - at < PIECE ? c->width - at : PIECE;
  size_t to = c->to.first + row * c->to.pitch + at;
  size_t from = c->from.first + row * c->from.pitch + at;
  int problem = 0;
  if (c->problem != 0)
    return;
  if (c->to.data == NULL)
    problem = movefile(&c->to, true, c->from.data + from, n, to);
  else if (c->from.data == NULL)
    problem = movefile(&c->from, false, c->to.data + to, n, from);
  else
    memmove(c->to.data + to, c->from.data + from, n);
  if (problem != 0)
    c->problem = problem;
}

/* The Array or the file at `arg`. */
static void checkside(lua_State *L, int arg, Side *s) {
  s->array = clsh_array_test(L, arg);
  if (s->array != NULL) {
    s->data = clsh_array_data(L, s->array);
    return;
  }
  luaL_Stream *f = luaL_testudata(L, arg, LUA_FILEHANDLE);
  if (f == NULL || lua_rawlen(L, arg) < sizeof *f)
    clsh_error_arg(L, arg, "must be an Array or a file; got %s",
                   clsh_class_name(L, arg));
  if (f->closef == NULL)
    clsh_error_arg(L, arg, "this file is closed");
  fflush(f->f);
  s->file = fileno(f->f);
}

/* Where the box lies on that side; raises where it leaves an Array. */
static void place(lua_State *L, const char *const names[3], size_t rows,
                  size_t cols, size_t unit, Side *s) {
  size_t first = clsh_option_size(L, 3, names[0], 1);
  size_t ld = clsh_option_size(L, 3, names[1], cols);
  size_t skip = clsh_option_size(L, 3, names[2], 0);
  size_t most = s->array != NULL ? s->array->shape.count
                                 : ((size_t)PTRDIFF_MAX - skip) / unit;
  if (ld < cols)
    clsh_error(L, "copy_box: %s must be >= the %I columns; got %I", names[1],
               (LUAI_UACINT)cols, (LUAI_UACINT)ld);
  if (s->array != NULL && skip > 0)
    clsh_error(L, "copy_box: %s is for a file", names[2]);
  if (first > most || cols > most - first + 1 ||
      rows - 1 > (most - first + 1 - cols) / ld)
    clsh_error(L,
               "copy_box: %I rows of %I elements, %I apart, from element "
               "%I on leave the elements 1..%I",
               (LUAI_UACINT)rows, (LUAI_UACINT)cols, (LUAI_UACINT)ld,
               (LUAI_UACINT)first, (LUAI_UACINT)most);
  s->first = skip + (first - 1) * unit;
  s->pitch = ld * unit;
}

/** cl.host.copy_box(to, from, opts) -> to
 * Copies a box of a matrix, rows x cols elements, between Arrays of one
 * element type and open files, in either direction, by several threads. The
 * boxes must not overlap. A file's position does not count and stays. Raises
 * where a file ends inside the box, or cannot be written.
 * Options:
 *   rows, cols             needed  sizes of the box
 *   to_first, from_first   1     the element, in memory order, where it begins
 *   to_ld, from_ld         cols  elements from row to row
 *   to_skip, from_skip     0     bytes of a file before its first element
 *   threads                cores, up to 8  threads, up to 16
 * Example:
 * local A = cl.array("float", {4, 5}, function(i, j) return 10 * i + j end)
 * local B = cl.array("float", {2, 2})
 * host.copy_box(B, A, {rows = 2, cols = 2, from_first = 8, from_ld = 5})
 * print(B[1], B[4]) --> 23.0 34.0
 */
static int host_copy_box(lua_State *L) {
  static const char *const tonames[] = {"to_first", "to_ld", "to_skip"};
  static const char *const fromnames[] = {"from_first", "from_ld",
                                          "from_skip"};
  Copy c = {0};
  clsh_option_check(
      L, 3,
      "rows cols to_first to_ld to_skip from_first from_ld from_skip threads",
      "copy_box");
  checkside(L, 1, &c.to);
  checkside(L, 2, &c.from);
  const Array *a = c.to.array != NULL ? c.to.array : c.from.array;
  if (a == NULL)
    return clsh_error_arg(L, 2, "one of the two must be an Array");
  if (c.to.array != NULL && c.from.array != NULL &&
      c.to.array->type != c.from.array->type)
    return clsh_error_arg(L, 2, "must be an Array of %s; got %s",
                          a->type->name, clsh_array_name(L, c.from.array));
  size_t rows = clsh_option_size(L, 3, "rows", 0);
  size_t cols = clsh_option_size(L, 3, "cols", 0);
  size_t threads = clsh_option_size(L, 3, "threads", 0);
  if (rows == 0 || cols == 0)
    return clsh_error(L, "copy_box: rows and cols are needed");
  place(L, tonames, rows, cols, a->type->size, &c.to);
  place(L, fromnames, rows, cols, a->type->size, &c.from);
  c.width = cols * a->type->size;
  if (c.to.pitch == c.width && c.from.pitch == c.width) { /* one long row */
    c.width *= rows;
    rows = 1;
  }
  c.perrow = (c.width + PIECE - 1) / PIECE;
  threads = threads < MOSTTHREADS ? threads : MOSTTHREADS;
  if (rows * c.width < PIECE) /* a thread costs more than it saves */
    threads = 1;
  size_t pieces = rows * c.perrow;
  /* short rows: more pieces a round, of as many bytes */
  size_t round = ROUND * (1 + PIECE / (c.width + 1));
  for (; c.begin < pieces; c.begin += round) {
    size_t rest = pieces - c.begin;
    clsh_poll(L);
    clsh_hostcopy_parts(movepiece, &c, rest < round ? rest : round,
                        (int)threads);
    if (c.problem != 0)
      return clsh_error(L, "copy_box: %s",
                        c.problem > 0 ? strerror(c.problem)
                                      : "the file ends inside the box");
  }
  lua_settop(L, 1);
  return 1;
}

void clsh_hostbox_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"copy_box", host_copy_box},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
