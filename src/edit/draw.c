/*
** draw.c - shows the text that is edited. It lays the text out in rows of
** cells: prompts, wrapping, tabs, characters that are wide, combine or cannot
** be printed. It remembers the rows of the window and writes only the
** differences, in one write for each frame. A row is cleared only from its end
** on, so that the window's scrollback gets no old frames.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "editor.h"

#define MAXCELL 64 /* bytes of a cell */
#define TAB 8

/* A character, and the characters that combine with it. */
typedef struct Cell {
  size_t at; /* its first byte */
  unsigned char len, width;
  char class;
  bool under;
} Cell;

typedef struct Row {
  size_t first, n; /* cells */
  int width;       /* columns */
  bool wraps;      /* goes on in the next row */
} Row;

typedef struct Frame {
  char *bytes;
  Cell *cells;
  Row *rows;
  size_t nbytes, ncells, capbytes, capcells;
  int nrows, caprows;
  int ntext;      /* rows of the text; the others are below it */
  int row, col;   /* of the cursor */
  int top, shown; /* rows of the text that are shown */
} Frame;

/*
** The columns of the character at s, of n bytes at most; *len is its length.
** -1: a control character, or no character of this locale.
*/
int clsh_draw_charwidth(const char *s, size_t n, size_t *len) {
  wchar_t c;
  mbstate_t start;
  memset(&start, 0, sizeof start);
  size_t k = mbrtowc(&c, s, n, &start);
  *len = k == 0 || k > n ? 1 : k;
  if (k == 0 || k > n)
    return -1;
  int width = wcwidth(c);
  return width < 0 && c >= 0xA0 ? 1 : width; /* newer than the C library */
}

/* The columns of a text on one row, as putchr shows its characters. */
int clsh_draw_textwidth(const char *s, size_t n) {
  int columns = 0;
  for (size_t k; n > 0; s += k, n -= k) {
    int width = clsh_draw_charwidth(s, n, &k);
    columns += width >= 0 ? width : (unsigned char)*s < 0x80 ? 2 : 4 * (int)k;
  }
  return columns;
}

/* Room for `more` elements in an array; false: none. */
static bool grow(void **array, size_t *cap, size_t n, size_t more,
                 size_t size) {
  if (n + more <= *cap)
    return true;
  size_t wanted = 2 * (n + more);
  void *bigger = realloc(*array, wanted * size);
  if (bigger == NULL)
    return false;
  *array = bigger;
  *cap = wanted;
  return true;
}

static Row *lastrow(Frame *f) {
  assert(f->nrows > 0);
  return &f->rows[f->nrows - 1];
}

static void addrow(Frame *f) {
  size_t cap = (size_t)f->caprows;
  if (!grow((void **)&f->rows, &cap, (size_t)f->nrows, 1, sizeof(Row)))
    return;
  f->caprows = (int)cap;
  f->rows[f->nrows++] = (Row){f->ncells, 0, 0, false};
}

static void wrap(Frame *f) {
  lastrow(f)->wraps = true;
  addrow(f);
}

/* Adds a cell; a window too narrow for it gets an empty row. */
static void put(Frame *f, const char *s, size_t n, int width, Cell look,
                int columns) {
  if (lastrow(f)->width + width > columns)
    wrap(f);
  Row *r = lastrow(f);
  if (width > columns ||
      !grow((void **)&f->bytes, &f->capbytes, f->nbytes, n, 1) ||
      !grow((void **)&f->cells, &f->capcells, f->ncells, 1, sizeof(Cell)))
    return;
  memcpy(f->bytes + f->nbytes, s, n);
  look.at = f->nbytes;
  look.len = (unsigned char)n;
  look.width = (unsigned char)width;
  f->nbytes += n;
  f->cells[f->ncells++] = look;
  r->n++;
  r->width += width;
}

/* Adds a character without width to the cell before it. */
static void combine(Frame *f, const char *s, size_t n, Cell look,
                    int columns) {
  if (lastrow(f)->n == 0)
    put(f, " ", 1, 1, look, columns);
  if (lastrow(f)->n == 0 || f->cells[f->ncells - 1].len + n > MAXCELL ||
      !grow((void **)&f->bytes, &f->capbytes, f->nbytes, n, 1))
    return;
  memcpy(f->bytes + f->nbytes, s, n);
  f->nbytes += n;
  f->cells[f->ncells - 1].len += (unsigned char)n;
}

/* Adds the character at s and returns its bytes. */
static size_t putchr(Frame *f, const char *s, size_t n, Cell look,
                     int columns) {
  size_t len;
  char shape[8];
  int width = clsh_draw_charwidth(s, n, &len);
  if (width > 0)
    put(f, s, len, width, look, columns);
  else if (width == 0)
    combine(f, s, len, look, columns);
  else {
    unsigned char c = (unsigned char)*s;
    const char *form = c < 0x80 ? "^%c" : "\\x%02X";
    snprintf(shape, sizeof shape, form, c < 0x80 ? c ^ 0x40 : c);
    for (const char *p = shape; *p != '\0'; p++)
      put(f, p, 1, 1, look, columns);
    for (size_t i = 1; i < len; i++) /* U+0080 to U+009F */
      putchr(f, s + i, 1, look, columns);
  }
  return len;
}

static void putprompt(Frame *f, const char *prompt, bool bold, int columns) {
  Cell look = {0, 0, 0, bold ? '>' : ' ', false};
  for (; *prompt != '\0'; prompt++)
    put(f, prompt, 1, 1, look, columns);
}

/* Puts the cursor where the next cell goes. */
static void place(Frame *f, int columns) {
  if (lastrow(f)->width >= columns)
    wrap(f);
  f->row = f->nrows - 1;
  f->col = lastrow(f)->width;
}

static void puttext(Frame *f, const View *v, int columns) {
  int tab = 0; /* columns since the prompt */
  putprompt(f, PROMPT, v->mask != NULL, columns);
  for (size_t i = 0, n = 1; i < v->len; i += n) {
    Cell look = {0, 0, 0, v->mask != NULL ? v->mask[i] : ' ',
                 i == v->pair[0] || i == v->pair[1] ||
                     (i >= v->first && i < v->end)};
    if (i == v->cursor)
      place(f, columns);
    size_t cells = f->ncells;
    n = 1;
    if (v->text[i] == '\n') {
      bool input = strncmp(v->text + i + 1, PROMPT, strlen(PROMPT)) == 0;
      addrow(f);
      if (!input) /* the text has the prompt of a later input */
        putprompt(f, PROMPT2, v->mask != NULL, columns);
      tab = input ? -(int)strlen(PROMPT) : 0;
      continue;
    }
    if (v->text[i] == '\t')
      for (int k = TAB - tab % TAB; k > 0; k--)
        put(f, " ", 1, 1, look, columns);
    else
      n = putchr(f, v->text + i, v->len - i, look, columns);
    for (; cells < f->ncells; cells++)
      tab += f->cells[cells].width;
  }
  if (v->cursor == v->len)
    place(f, columns);
}

/* Adds at most `most` lines below the text, each cut to a row. */
static void putbelow(Frame *f, const char *s, int columns, int most) {
  Cell look = {0, 0, 0, ' ', false};
  for (int k = 0; k < most && s != NULL && *s != '\0'; k++) {
    size_t end = strcspn(s, "\n");
    addrow(f);
    for (size_t i = 0, n; i < end; i += n) {
      int width = clsh_draw_charwidth(s + i, end - i, &n);
      if (lastrow(f)->width + (width < 0 ? 4 * (int)n : width) > columns)
        break;
      putchr(f, s + i, end - i, look, columns);
    }
    s += end + (s[end] != '\0');
  }
}

/*
** Lays out the part around the cursor that fits a window. It keeps the f->top
** of the frame before where possible.
*/
static void layout(Frame *f, const View *v, int columns, int rows) {
  f->nbytes = f->ncells = 0;
  f->nrows = f->row = f->col = 0;
  addrow(f);
  if (f->nrows == 0)
    return; /* no memory at all */
  puttext(f, v, columns);
  f->ntext = f->nrows;
  putbelow(f, v->below, columns, rows - 1);
  int below = f->nrows - f->ntext;
  f->shown = f->ntext < rows - below ? f->ntext : rows - below;
  if (f->top > f->ntext - f->shown)
    f->top = f->ntext - f->shown;
  if (f->top > f->row)
    f->top = f->row;
  if (f->top < f->row - f->shown + 1)
    f->top = f->row - f->shown + 1;
}

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

/* The codes of the classes of characters, behind the letter of each. */
static const char *const looks[] = {">;1",  "p;1", "k;35", "s;32",
                                    "n;36", "c;2", "e;31"};

static void setlook(FILE *out, const Cell *c) {
  const char *code = "";
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    if (looks[i][0] == c->class)
      code = looks[i] + 1;
  fprintf(out, "\033[0%s%sm", code, c->under ? ";4" : "");
}

/* Writes the cells of a row from cell `from` on, where the cursor is. */
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

/* Has the next text begin on a line of its own. */
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
  layout(f, v, columns, lines);
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
  layout(f, &last, columns, lines);
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
  moveto(out, 0, 0);
  fputs("\0337", out); /* a lower window may have dropped the last rows */
  clearrows(out, 0);
  fputs("\0338", out);
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
