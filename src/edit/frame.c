/*
** frame.c - lays a text out in rows of cells: prompts, wrapping, tabs,
** characters that are wide, combine or cannot be printed.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "draw.h"
#include "statement.h"

#define MAXCELL 64 /* bytes of a cell */
#define TAB 8

/*
** The columns of the character at s, of n bytes at most; *len is its length.
** -1: a control character, or no character of this locale.
*/
int clsh_frame_width(const char *s, size_t n, size_t *len) {
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
int clsh_frame_columns(const char *s, size_t n) {
  int columns = 0;
  for (size_t k; n > 0; s += k, n -= k) {
    int width = clsh_frame_width(s, n, &k);
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
  int width = clsh_frame_width(s, n, &len);
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
      int width = clsh_frame_width(s + i, end - i, &n);
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
void clsh_frame_layout(Frame *f, const View *v, int columns, int rows) {
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
