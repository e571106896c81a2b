/*
** lines.c - standard output and errors of one process among several that
** mpirun started. Each write has whole lines, and the processes of a host
** write in turn. mpirun passes on the bytes that it finds, up to 4 KiB. So no
** write is longer, and the process waits until mpirun has the bytes. A pipe
** shows when it has; a terminal of mpirun's own, as Open MPI has, passes on
** the parts of a write one by one, within some microseconds.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define MOST 4000     /* bytes of a write of several lines */
#define ROOM 65536    /* the longest line in one piece */
#define TURN 2.0      /* seconds for others to write */
#define PATIENCE 0.05 /* seconds for mpirun to empty a pipe */
#define PAUSE 0.0003  /* seconds for a terminal to pass a write on */
#define RATE 2e6      /* and bytes that it passes on in a second */
#define GRAIN 5e-5    /* seconds between two looks */

#ifdef __GLIBC__

typedef struct Lines {
  int fd;
  FILE *stream;
  size_t n; /* bytes held */
  char held[ROOM + 1];
} Lines;

static Lines output = {.fd = STDOUT_FILENO}, errors = {.fd = STDERR_FILENO};

static int turn = -1; /* the file that the writing process locks */

/* Waits for this process's turn to write on its host, TURN seconds at most. */
static void begin(void) {
  double end = clsh_poll_now() + TURN;
  while (turn >= 0 && flock(turn, LOCK_EX | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK && clsh_poll_now() < end)
    clsh_poll_nap(GRAIN);
}

/* Waits until the `n` bytes that were written are with mpirun. */
static void settle(int fd, size_t n) {
  struct stat s;
  int unread = 1;
  bool terminal = isatty(fd);
  double pause = PAUSE + (double)n / RATE;
  double last = clsh_poll_now() + (terminal ? pause : PATIENCE);
  if (!terminal && (fstat(fd, &s) != 0 || !S_ISFIFO(s.st_mode)))
    return;
  while (clsh_poll_now() < last &&
         (terminal || (ioctl(fd, FIONREAD, &unread) == 0 && unread > 0)))
    clsh_poll_nap(GRAIN);
}

/* Writes `n` bytes, a long line in parts; false: a write failed. */
static bool put(const Lines *l, const char *s, size_t n) {
  ssize_t k = 0;
  begin();
  while (n > 0 && (k >= 0 || errno == EINTR)) {
    k = write(l->fd, s, n < MOST ? n : MOST);
    if (k > 0) {
      settle(l->fd, (size_t)k);
      s += k;
      n -= (size_t)k;
    }
  }
  if (turn >= 0)
    flock(turn, LOCK_UN);
  return n == 0;
}

/* The bytes of the first lines that fit one write; 0: no line is whole. */
static size_t piece(const char *s, size_t n) {
  const char *end = memrchr(s, '\n', n < MOST ? n : MOST);
  if (end == NULL)
    end = memchr(s, '\n', n);
  return end != NULL ? (size_t)(end - s) + 1 : 0;
}

/* Writes the whole lines that are held; `all`: the unfinished line as well. */
static bool emit(Lines *l, bool all) {
  bool fine = true;
  size_t done = 0, n;
  while ((n = piece(l->held + done, l->n - done)) > 0) {
    fine = put(l, l->held + done, n) && fine;
    done += n;
  }
  memmove(l->held, l->held + done, l->n - done);
  l->n -= done;
  if (l->n > 0 && all) /* another process may go on behind it */
    l->held[l->n++] = '\n';
  if (l->n > 0 && (all || l->n >= ROOM)) {
    fine = put(l, l->held, l->n) && fine;
    l->n = 0;
  }
  return fine;
}

/* For the C library: takes `n` bytes. */
static ssize_t take(void *cookie, const char *s, size_t n) {
  Lines *l = cookie;
  for (size_t done = 0, k; done < n; done += k) {
    k = n - done < ROOM - l->n ? n - done : ROOM - l->n;
    memcpy(l->held + l->n, s + done, k);
    l->n += k;
    if (!emit(l, false))
      return -1;
  }
  return (ssize_t)n;
}

static FILE *replace(Lines *l, FILE *old) {
  cookie_io_functions_t functions = {.write = take};
  fflush(old);
  l->stream = fopencookie(l, "w", functions);
  if (l->stream != NULL)
    setvbuf(l->stream, NULL, _IOLBF, BUFSIZ);
  return l->stream != NULL ? l->stream : old;
}

/* To be called before Lua takes the streams for its own. */
void clsh_lines_open(void) {
  turn = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  stdout = replace(&output, stdout);
  stderr = replace(&errors, stderr);
}

/* Writes the lines that are held, an unfinished line at the end included. */
void clsh_lines_end(void) {
  Lines *all[] = {&output, &errors};
  for (int i = 0; i < 2; i++)
    if (all[i]->stream != NULL) {
      fflush(all[i]->stream);
      emit(all[i], true);
    }
}

#else

void clsh_lines_open(void) {
  setvbuf(stdout, NULL, _IOLBF, ROOM);
  setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
}

void clsh_lines_end(void) {
}

#endif
