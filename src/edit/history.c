/*
** history.c - the history of statements: a text file to which all sessions
** append. An entry is a line with the time, "#1700000000", and the lines of
** the statement, with a backslash before a line that looks like a time.
** Entries that cannot be read are skipped.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "editor.h"

#define KEPT 10000  /* entries that are left by a cut */
#define TOOMANY 500 /* entries more than KEPT, for a cut */
#define TRIES 40    /* for a lock, 5 ms apart */

static char path[4096]; /* the file; "": none */
static bool off;        /* no file is wanted */
static bool loaded;
static char **list; /* the entries */
static int n, cap;

/* Turns the history off: no file is read or written. */
void clsh_history_off(void) {
  off = true;
}

/* Sets the path of the file. */
static void findfile(void) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int len = 0;
  if (off)
    return;
  if (state != NULL && *state == '/')
    len = snprintf(path, sizeof path, "%s/clshell/history", state);
  else if (home != NULL && *home != '\0')
    len = snprintf(path, sizeof path, "%s/.local/state/clshell/history", home);
  if (len < 0 || (size_t)len >= sizeof path)
    *path = '\0';
}

/* Makes the folders of the file; failures show when it is opened. */
static void makefolders(void) {
  for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
}

/* Whether a line is `#digits`, after any number of backslashes. */
static bool istime(const char *s, const char *end, bool escaped) {
  while (escaped && s < end && *s == '\\')
    s++;
  if (s >= end || *s++ != '#' || s == end)
    return false;
  while (s < end && isdigit((unsigned char)*s))
    s++;
  return s == end;
}

/* Appends an entry; false: no memory. */
static bool add(char *text) {
  if (n == cap) {
    int wanted = cap == 0 ? 256 : 2 * cap;
    char **bigger = realloc(list, (size_t)wanted * sizeof *list);
    if (bigger == NULL)
      return false;
    list = bigger;
    cap = wanted;
  }
  list[n++] = text;
  return true;
}

/* The content of an open file and a zero byte; the caller frees it. */
static char *slurp(int fd, size_t *len) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
    return NULL;
  size_t size = (size_t)st.st_size;
  char *text = malloc(size + 1);
  *len = 0;
  while (text != NULL && *len < size) {
    ssize_t k = read(fd, text + *len, size - *len);
    if (k <= 0)
      break;
    *len += (size_t)k;
  }
  if (text != NULL)
    text[*len] = '\0';
  return text;
}

/*
** Makes entries of a file's text, in place, as they are never longer than
** their lines in the file. Each line before the first time is an entry.
*/
static void parse(char *s, size_t len) {
  char *end = s + len, *to = s, *entry = s;
  bool timed = false, broken = false;
  while (s < end) {
    char *stop = memchr(s, '\n', (size_t)(end - s));
    stop = stop != NULL ? stop : end;
    char *next = stop < end ? stop + 1 : end;
    bool time = istime(s, stop, false);
    if (!time) {
      broken = broken || memchr(s, '\0', (size_t)(stop - s)) != NULL;
      s += *s == '\\' && istime(s, stop, true);
      memmove(to, s, (size_t)(stop - s));
      to += stop - s;
      *to++ = '\n'; /* at the end of the file: where the zero byte was */
    }
    if (time || !timed || next == end) {
      if (to > entry && !broken) {
        to[-1] = '\0';
        if (entry[strspn(entry, "\n")] != '\0')
          add(entry);
      }
      entry = to;
      broken = false;
    }
    timed = timed || time;
    s = next;
  }
}

/*
** Opens the file and locks it. If another process keeps the lock, the file is
** opened without a lock, or, if `must` is true, not at all.
*/
static int openlocked(int flags, bool must) {
  int fd = open(path, flags | O_CLOEXEC, 0600);
  struct timespec pause = {0, 5000000};
  bool locked = false;
  for (int i = 0; fd >= 0 && i < TRIES; i++) {
    struct stat here, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      locked = fstat(fd, &here) != 0 || stat(path, &there) != 0 ||
               here.st_ino == there.st_ino;
      if (locked)
        break;
      close(fd); /* cut meanwhile: another file */
      fd = open(path, flags | O_CLOEXEC, 0600);
    } else if (errno == EWOULDBLOCK)
      nanosleep(&pause, NULL);
    else
      break; /* no locks here */
  }
  if (fd < 0 || locked || !must)
    return fd;
  close(fd);
  return -1;
}

static bool writeall(int fd, const char *s, size_t len) {
  while (len > 0) {
    ssize_t k = write(fd, s, len);
    if (k < 0 && errno != EINTR)
      return false;
    s += k > 0 ? k : 0;
    len -= k > 0 ? (size_t)k : 0;
  }
  return true;
}

/* Where the newest `keep` entries of a text begin. */
static size_t cutat(const char *s, size_t len, int keep) {
  const char *end = s + len;
  while (end > s) {
    const char *line = end - 1;
    while (line > s && line[-1] != '\n')
      line--;
    const char *stop = end[-1] == '\n' ? end - 1 : end;
    if (istime(line, stop, false) && --keep == 0)
      return (size_t)(line - s);
    end = line;
  }
  return 0;
}

/*
** Leaves the newest entries in the file. Other sessions wait for the lock, and
** then find the new file in the place of the old one.
*/
static void cut(void) {
  char *real = realpath(path, NULL), *text = NULL;
  char other[sizeof path + 32];
  size_t len;
  int fd = real != NULL ? openlocked(O_RDWR, true) : -1;
  if (fd >= 0)
    text = slurp(fd, &len);
  if (text != NULL) {
    size_t at = cutat(text, len, KEPT);
    snprintf(other, sizeof other, "%s.%ld", real, (long)getpid());
    int to = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to >= 0 && (!writeall(to, text + at, len - at) || fsync(to) != 0 ||
                    rename(other, real) != 0))
      unlink(other);
    if (to >= 0)
      close(to);
  }
  free(text);
  free(real);
  if (fd >= 0)
    close(fd);
}

static void load(void) {
  if (loaded)
    return;
  loaded = true;
  findfile();
  size_t len;
  int fd = *path != '\0' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  char *text = fd >= 0 ? slurp(fd, &len) : NULL;
  if (fd >= 0)
    close(fd);
  if (text != NULL)
    parse(text, len);
  if (n > KEPT + TOOMANY)
    cut();
}

int clsh_history_size(void) {
  load();
  return n;
}

const char *clsh_history_at(int i) {
  return i >= 0 && i < n ? list[i] : "";
}

/* The lines to append for an entry; the caller frees them. */
static char *format(const char *text, bool newline, size_t *len) {
  char *s = NULL;
  FILE *out = open_memstream(&s, len);
  if (out == NULL)
    return NULL;
  fprintf(out, "%s#%lld\n", newline ? "\n" : "", (long long)time(NULL));
  for (;;) {
    const char *end = text + strcspn(text, "\n");
    fprintf(out, "%s%.*s\n", istime(text, end, true) ? "\\" : "",
            (int)(end - text), text);
    if (*end == '\0')
      break;
    text = end + 1;
  }
  return fclose(out) == 0 ? s : NULL;
}

/* Whether the file's last line has no end, as after a crash. */
static bool istorn(int fd) {
  char last;
  off_t size = lseek(fd, 0, SEEK_END);
  return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* Lets its owner alone read an older file that others could read. */
static void makeprivate(int fd) {
  struct stat st;
  if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) != 0)
    (void)fchmod(fd, st.st_mode & 07700);
}

/* Appends an entry to the file, all of it in one write. */
static bool append(const char *text) {
  size_t len;
  makefolders();
  int fd = openlocked(O_RDWR | O_APPEND | O_CREAT, false);
  if (fd < 0)
    return false;
  makeprivate(fd);
  char *s = format(text, istorn(fd), &len);
  bool done = s != NULL && writeall(fd, s, len);
  int error = errno;
  free(s);
  done = close(fd) == 0 && done;
  errno = error;
  return done;
}

/* Keeps an entered text in memory and in the file. */
void clsh_history_add(const char *text) {
  load();
  if (text[strspn(text, " \t\n")] == '\0' ||
      (n > 0 && strcmp(list[n - 1], text) == 0))
    return;
  char *copy = strdup(text);
  if (copy == NULL || !add(copy)) {
    free(copy);
    return;
  }
  if (*path == '\0' || append(text))
    return;
  fprintf(stderr, "note: history is not kept: %s: %s\n", path,
          strerror(errno));
  *path = '\0';
}
