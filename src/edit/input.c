/*
** input.c - the bytes of the terminal. The bytes of a bracketed paste become
** part of the text in one step that undo takes back.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>

#include <readline/readline.h>

#include "cl/cl.h"
#include "editor.h"

#define END "\033[201~"

/* Bytes that were read together with the end of a paste. */
static char queue[4096];
static size_t first, last;

/* Waits for a key, for `limit` at most; false: no key has come. */
bool clsh_input_wait(const struct timespec *limit) {
  fd_set keys;
  if (first < last)
    return true;
  FD_ZERO(&keys);
  FD_SET(STDIN_FILENO, &keys);
  int n = pselect(STDIN_FILENO + 1, &keys, NULL, NULL, limit,
                  &clsh_editor.unblocked);
  return n > 0 || (n < 0 && errno != EINTR); /* reading reports the error */
}

/*
** The next byte, or EOF. Bytes are read one at a time: bytes that follow a
** statement are for the code that it runs.
*/
int clsh_input_key(void) {
  unsigned char c;
  ssize_t n;
  if (first < last)
    return (unsigned char)queue[first++];
  do
    n = read(STDIN_FILENO, &c, 1);
  while (n < 0 && errno == EINTR && !clsh_poll_interrupt);
  return n == 1 ? c : EOF;
}

/* Puts a byte in front of the queued bytes, as if it was typed. */
void clsh_input_type(char c) {
  if (first == 0 && last == sizeof queue)
    return;
  if (first == 0) {
    memmove(queue + 1, queue, last);
    first++;
    last++;
  }
  queue[--first] = c;
}

/* Appends the bytes that have come to the paste; false: no more come. */
static bool readmore(char **text, size_t *len) {
  static const struct timespec patience = {10, 0};
  if (first == last) {
    if (!clsh_input_wait(&patience))
      return false;
    ssize_t n = read(STDIN_FILENO, queue, sizeof queue);
    if (n <= 0)
      return false;
    first = 0;
    last = (size_t)n;
  }
  char *more = realloc(*text, *len + last - first + 1);
  if (more == NULL)
    return false;
  memcpy(more + *len, queue + first, last - first);
  *text = more;
  *len += last - first;
  more[*len] = '\0';
  first = last = 0;
  return true;
}

/* The bytes of a paste, for the caller to free; the rest is queued. */
static char *readpaste(size_t *len) {
  char *text = NULL, *end = NULL;
  size_t seen = 0;
  *len = 0;
  while (end == NULL && readmore(&text, len)) {
    end = memmem(text + seen, *len - seen, END, strlen(END));
    seen = *len < strlen(END) ? 0 : *len - strlen(END) + 1;
  }
  if (end == NULL)
    return text;
  size_t rest = *len - (size_t)(end - text) - strlen(END);
  memcpy(queue, end + strlen(END), rest);
  last = rest;
  *len = (size_t)(end - text);
  return text;
}

/*
** Makes lines end as in C, and drops zero bytes and the line breaks at the
** end: the user has to press Enter.
*/
static size_t normalise(char *s, size_t len) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    if (s[i] == '\r' && i + 1 < len && s[i + 1] == '\n')
      continue;
    if (s[i] != '\0')
      s[n++] = s[i] == '\r' ? '\n' : s[i];
  }
  while (n > 0 && s[n - 1] == '\n')
    n--;
  s[n] = '\0';
  return n;
}

/* Takes all of a paste, whose beginning was read as a key. */
int clsh_input_paste(int count, int key) {
  (void)count, (void)key;
  size_t len;
  char *text = readpaste(&len);
  if (text == NULL || clsh_poll_interrupt) {
    free(text);
    return 0;
  }
  len = normalise(text, len);
  lua_State *L = clsh_editor.L;
  lua_pushlstring(L, text, len);
  bool cleaned = clsh_editor_ask("clean", 1, 1);
  const char *clean = cleaned ? lua_tostring(L, -1) : NULL;
  rl_begin_undo_group();
  rl_insert_text(clean != NULL ? clean : text);
  rl_end_undo_group();
  if (cleaned)
    lua_pop(L, 1);
  free(text);
  return 0;
}

/* readline's terminal, in which Ctrl-S and Ctrl-Q are keys as any other. */
static void prepare(int meta) {
  struct termios mode;
  rl_prep_terminal(meta);
  if (tcgetattr(STDIN_FILENO, &mode) != 0)
    return;
  mode.c_iflag &= ~(tcflag_t)IXON;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

/* Resets the terminal when os.exit in a finalizer ends the program. */
static void atend(void) {
  if (RL_ISSTATE(RL_STATE_TERMPREPPED))
    rl_deprep_terminal();
}

void clsh_input_terminal(void) {
  rl_prep_term_function = prepare;
  atexit(atend);
}
