/*
** memlayer.c - a realloc() that fails, for whole programs: liblua allocates by
** no other function. Loaded by LD_PRELOAD. MEMFAIL=N:LENGTH: calls N to
** N + LENGTH - 1 of the process fail; it prints "memlayer: COUNT" at the end.
** SPDX-License-Identifier: MIT
*/
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void *(*next)(void *p, size_t size);
static long count, first, length;

static __attribute__((constructor)) void begin(void) {
  void *f = dlsym(RTLD_NEXT, "realloc");
  const char *s = getenv("MEMFAIL");
  __builtin_memcpy(&next, &f, sizeof next);
  if (s != NULL && sscanf(s, "%ld:%ld", &first, &length) != 2)
    abort();
}

void *realloc(void *p, size_t size) {
  if (next == NULL)
    begin();
  count++;
  if (count >= first && count < first + length) {
    errno = ENOMEM;
    return NULL;
  }
  return next(p, size);
}

static __attribute__((destructor)) void end(void) {
  if (first > count || first == 0)
    fprintf(stderr, "memlayer: %ld\n", count);
}
