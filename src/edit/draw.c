/*
** draw.c - shows the text that is edited. It remembers the rows of the window
** and writes only the differences, in one write for each frame. A row is
** cleared only from its end on, so that the window's scrollback gets no old
** frames.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "draw.h"

static int columns = 80, lines = 24; /* of the window */
static Frame frames[2];
static int current;  /* the frame that is shown */
static bool fresh;   /* earlier output may not have ended its line */
static int row, col; /* where the cursor is, from the frame's first row */
static int used;     /* rows of the window that the frame has */

/* Asks for the size of the window. */
void clsh_draw_size(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = size.ws_col;
    lines = size.ws_row > 0 ? size.ws_row : 24;
  }
}

int clsh_draw_columns(void) {
  return columns;
}

int clsh_draw_rows(void) {
  return lines;
}

/* The n-th row that is shown; NULL: none. */
static const Row *shownrow(const Frame *f, int n) {
  if (n >= f->shown)
    n += f->ntext - f->shown; /* below the text */
  else
    n += f->top;
  return n < f->nrows ? &f->rows[n] : NULL;
}

static void setlook(FILE *out, const Cell *c) {
  const char *code = "";
  switch (c->class) {
  case '>':
  case 'p':
    code = ";1";
    break;
  case 'k':
    code = ";35";
    break;
  case 's':
    code = ";32";
    break;
  case 'n':
    code = ";36";
    break;
  case 'c':
    code = ";2";
    break;
  case 'e':
    code = ";31";
    break;
  }
  fprintf(out, "\033[0%s%sm", code, c->under ? ";4" : "");
}

/* Writes the cells of a row, from one on; the cursor is there. */
static void paint(FILE *out, const Frame *f, const Row *r, size_t from) {
  Cell plain = {0, 0, 0, ' ', false};
  const Cell *look = &plain;
  for (size_t i = from; i < r->n; i++) {
    const Cell *c = &f->cells[r->first + i];
    if (c->class != look->class || c->under != look->under)
      setlook(out, c);
    look = c;
    fwrite(f->bytes + c->at, 1, c->len, out);
    col += c->width;
  }
  if (look->class != ' ' || look->under)
    fputs("\033[0m", out);
}

/* Moves the cursor to a place in the rows of the frame. */
static void moveto(FILE *out, int r, int c) {
  assert(r >= 0 && c >= 0);
  if (r == row && c == col)
    return;
  putc('\r', out);
  if (r < row)
    fprintf(out, "\033[%dA", row - r);
  else if (r > row)
    fprintf(out, "\033[%dB", r - row);
  if (c > 0)
    fprintf(out, "\033[%dC", c);
  row = r;
  col = c;
}

/* Moves to the beginning of a row, or of a new row below the frame. */
static void reach(FILE *out, int r) {
  if (r < used) {
    moveto(out, r, 0);
    return;
  }
  moveto(out, used - 1, 0);
  fputs("\r\n\033[K", out);
  row = used++;
  col = 0;
}

static bool samecell(const Frame *f, const Cell *a, const Frame *g,
                     const Cell *b) {
  return a->len == b->len && a->class == b->class && a->under == b->under &&
         memcmp(f->bytes + a->at, g->bytes + b->at, a->len) == 0;
}

/* Updates the n-th row of the window from frame g to frame f. */
static void updaterow(FILE *out, const Frame *f, const Frame *g, int n) {
  static const Row none = {0, 0, 0, false};
  const Row *r = shownrow(f, n);
  const Row *before = n < used ? shownrow(g, n) : NULL;
  if (before == NULL) {
    if (n >= used)
      reach(out, n);
    before = &none;
  }
  size_t i = 0;
  int at = 0;
  while (i < r->n && i < before->n &&
         samecell(f, &f->cells[r->first + i], g, &g->cells[before->first + i]))
    at += f->cells[r->first + i++].width;
  if (i == r->n && i == before->n)
    return;
  moveto(out, n, at);
  paint(out, f, r, i);
  if (r->width < before->width)
    fputs("\033[K", out);
}

/* Empties the rows of the window from the n-th on. */
static void clearrows(FILE *out, int n) {
  for (int i = n; i < used; i++) {
    moveto(out, i, 0);
    fputs("\033[K", out);
  }
}

/*
** Writes as many spaces as there are columns. The cursor is then in the first
** column of an empty line, also where earlier output did not end its line.
*/
static void freshline(FILE *out) {
  if (fresh)
    fprintf(out, "%*s\r\033[K", columns, "");
  fresh = false;
}

/* Begins a frame: the stream that collects its output for one write. */
static FILE *begin(char **text, size_t *len) {
  fflush(stdout);
  FILE *out = open_memstream(text, len);
  if (out != NULL)
    freshline(out);
  return out;
}

static void finish(FILE *out, char **text, size_t *len) {
  fclose(out);
  for (size_t done = 0; done < *len;) {
    ssize_t n = write(STDOUT_FILENO, *text + done, *len - done);
    if (n < 0 && errno != EINTR)
      break; /* the terminal is gone */
    done += n > 0 ? (size_t)n : 0;
  }
  free(*text);
}

/* A text is to be shown from the next line on. */
void clsh_draw_fresh(void) {
  fresh = true;
  row = col = 0;
  used = 1;
  Frame *g = &frames[current];
  g->nrows = g->ntext = g->shown = g->top = 0;
}

/* Makes the window show a frame; the cursor may end up anywhere. */
static void update(FILE *out, Frame *f, const Frame *g) {
  int n = f->shown + f->nrows - f->ntext;
  for (int i = 0; i < n; i++)
    updaterow(out, f, g, i);
  clearrows(out, n);
  used = n;
}

/* Shows a text. */
void clsh_draw_view(const View *v) {
  char *text;
  size_t len;
  Frame *g = &frames[current], *f = &frames[1 - current];
  f->top = g->top;
  clsh_frame_layout(f, v, columns, lines);
  FILE *out = f->nrows > 0 ? begin(&text, &len) : NULL;
  if (out == NULL)
    return;
  update(out, f, g);
  moveto(out, f->row - f->top, f->col);
  finish(out, &text, &len);
  current = 1 - current;
}

/*
** Writes all rows from the first shown row on. The terminal itself wraps the
** long ones, so that it copies them as one line.
*/
static void paintall(FILE *out, const Frame *f) {
  clearrows(out, 0);
  moveto(out, 0, 0);
  for (int i = 0; i < f->nrows; i++) {
    const Row *r = &f->rows[i];
    col = 0;
    paint(out, f, r, 0);
    if (i < f->nrows - 1 && !(r->wraps && r->width == columns))
      fputs("\r\n\033[K", out);
  }
}

/*
** Shows all of a text for the last time, then `tail`, and ends the line, so
** that later output does not overwrite it.
*/
void clsh_draw_end(const View *v, const char *tail) {
  char *text;
  size_t len;
  View last = *v;
  Frame *g = &frames[current], *f = &frames[1 - current];
  last.cursor = last.pair[0] = last.pair[1] = NOWHERE;
  last.first = last.end = 0;
  last.below = NULL;
  f->top = 0;
  clsh_frame_layout(f, &last, columns, lines);
  FILE *out = f->nrows > 0 ? begin(&text, &len) : NULL;
  if (out == NULL)
    return;
  bool wraps = false;
  for (int i = 0; i < f->nrows; i++)
    wraps = wraps || f->rows[i].wraps;
  if (wraps || f->nrows > lines)
    paintall(out, f);
  else {
    update(out, f, g);
    moveto(out, f->nrows - 1, f->rows[f->nrows - 1].width);
  }
  fprintf(out, "%s\r\n", tail);
  finish(out, &text, &len);
  clsh_draw_fresh();
}

/* Writes lines in the place of the text, which is then drawn below them. */
void clsh_draw_above(const char *s) {
  char *text;
  size_t len;
  FILE *out = begin(&text, &len);
  if (out == NULL)
    return;
  clearrows(out, 0);
  moveto(out, 0, 0);
  fputs(s, out);
  if (*s != '\0' && s[strlen(s) - 1] != '\n')
    putc('\n', out);
  finish(out, &text, &len);
  clsh_draw_fresh();
}

/*
** Clears the text after the window's size has changed, to be drawn again.
** Assumes that the terminal has wrapped the rows anew, as most do.
*/
void clsh_draw_resized(void) {
  char *text;
  size_t len;
  const Frame *g = &frames[current];
  FILE *out = begin(&text, &len);
  clsh_draw_size();
  if (out == NULL)
    return;
  int above = 0, rows = 0;
  for (int i = 0; i < used; i++) {
    const Row *r = shownrow(g, i);
    int width = r == NULL || r->width == 0 ? 1 : r->width;
    if (i == row)
      above = rows + col / columns;
    rows += (width - 1) / columns + 1;
  }
  row = above < lines ? above : lines - 1;
  used = rows < lines ? rows : lines;
  clearrows(out, 0);
  moveto(out, 0, 0);
  finish(out, &text, &len);
  clsh_draw_fresh();
  fresh = false;
}

/* Clears the window; the text is then drawn at its top. */
void clsh_draw_clear(void) {
  static const char code[] = "\033[H\033[2J";
  fflush(stdout);
  ssize_t done = write(STDOUT_FILENO, code, sizeof code - 1);
  (void)done;
  clsh_draw_fresh();
  fresh = false;
}
