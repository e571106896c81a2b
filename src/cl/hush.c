/*
** hush.c - the standard error while a driver compiles. Lines that count errors
** and warnings are dropped: the build log has these. Others join the log, and
** are printed where the driver aborts.
** SPDX-License-Identifier: MIT
*/
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

volatile int clsh_hush_stderr = STDERR_FILENO;

static FILE *said;      /* NULL: the standard error is as it was */
static char told[8192]; /* the lines of the last build; the rest is dropped */
static struct sigaction onabort;

/* The signal handler of abort(). The action of before is next. */
static void spill(int sig) {
  char text[512];
  ssize_t n;
  lseek(STDERR_FILENO, 0, SEEK_SET);
  while ((n = read(STDERR_FILENO, text, sizeof text)) > 0 &&
         write(clsh_hush_stderr, text, (size_t)n) == n)
    ;
  sigaction(sig, &onabort, NULL);
  raise(sig); /* once this handler has returned */
}

/* From now on a file takes the standard error; not where there is none. */
void clsh_hush_begin(void) {
  struct sigaction action = {.sa_handler = spill};
  told[0] = '\0';
  clsh_process_keepfaults();
  int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  FILE *f = fd >= 0 ? tmpfile() : NULL;
  if (f == NULL || dup2(fileno(f), STDERR_FILENO) < 0) {
    if (f != NULL)
      fclose(f);
    if (fd >= 0)
      close(fd);
    return;
  }
  said = f;
  clsh_hush_stderr = fd;
  sigemptyset(&action.sa_mask);
  sigaction(SIGABRT, &action, &onabort);
}

/* Whether a line is "2 warnings and 1 error generated." or the like. */
static bool counts(const char *line) {
  size_t n = strspn(line, "0123456789");
  return n > 0 &&
         (strncmp(line + n, " error", 6) == 0 ||
          strncmp(line + n, " warning", 8) == 0) &&
         strstr(line, " generated") != NULL;
}

/* Gives the standard error back. */
void clsh_hush_end(void) {
  char line[512];
  size_t used = 0;
  clsh_process_restorefaults();
  if (said == NULL)
    return;
  dup2(clsh_hush_stderr, STDERR_FILENO);
  close(clsh_hush_stderr);
  clsh_hush_stderr = STDERR_FILENO;
  sigaction(SIGABRT, &onabort, NULL);
  rewind(said);
  while (fgets(line, sizeof line, said) != NULL)
    if (!counts(line) && used + strlen(line) < sizeof told) {
      strcpy(told + used, line);
      used += strlen(line);
    }
  fclose(said);
  said = NULL;
}

/* The lines that the driver wrote to the standard error in the last build. */
const char *clsh_hush_told(void) {
  return told;
}
