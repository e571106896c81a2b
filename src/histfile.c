/*
** histfile.c - the history of statements, in readline and on disk.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <readline/history.h>

#include "lineedit.h"
#include "repl.h"

#define MAXHISTORY 20000 /* lines kept of the history file */

static char history[4096]; /* the history file; "": none */

/* Makes the folders of a path; what fails shows when the file is opened. */
static void makefolders(char *path) {
  for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
}

/* Keeps a statement in the history, and in its file at once. */
void clsh_keephistory(const char *text) {
  HIST_ENTRY *last = history_get(history_base + history_length - 1);
  if (text[strspn(text, " \t\n")] == '\0' ||
      (last != NULL && strcmp(last->line, text) == 0))
    return;
  add_history(text);
  if (*history == '\0')
    return;
  makefolders(history);
  int fd = open(history, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 &&
      dprintf(fd, "#%lld\n%s\n", (long long)time(NULL), text) >= 0 &&
      close(fd) == 0)
    return;
  fprintf(stderr, "note: history is not kept: %s: %s\n", history,
          strerror(errno));
  *history = '\0';
}

/*
** Finds and reads the history file. Its time stamps tell readline where an
** entry of several lines ends.
*/
void clsh_openhistory(void) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int n = 0;
  using_history();
  if (state != NULL && *state == '/')
    n = snprintf(history, sizeof history, "%s/" PROGRAM "/history", state);
  else if (home != NULL && *home != '\0')
    n = snprintf(history, sizeof history,
                 "%s/.local/state/" PROGRAM "/history", home);
  if (n < 0 || (size_t)n >= sizeof history)
    *history = '\0';
  if (*history == '\0')
    return;
  history_comment_char = '#';
  history_write_timestamps = 1;
  if (access(history, R_OK | W_OK) == 0)
    history_truncate_file(history, MAXHISTORY);
  read_history(history);
}
