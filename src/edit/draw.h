/*
** draw.h - lays out a text that is edited, and shows it in the window.
** SPDX-License-Identifier: MIT
*/
#ifndef draw_h
#define draw_h

#include <stdbool.h>
#include <stddef.h>

#define NOWHERE ((size_t)-1)

/* A text to show, positions in it, and lines below it. */
typedef struct View {
  const char *text;
  size_t len;
  size_t cursor;
  const char *mask;  /* a class letter for each byte; NULL: no colours */
  size_t pair[2];    /* brackets to underline, or NOWHERE */
  size_t first, end; /* bytes to underline, as a search found them */
  const char *below; /* NULL: none */
} View;

/* A character with those that combine with it. */
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

/* frame.c: a text laid out in the rows of a window */
int clsh_frame_width(const char *s, size_t n, size_t *len);
int clsh_frame_columns(const char *s, size_t n);
void clsh_frame_layout(Frame *f, const View *v, int columns, int rows);

/* draw.c */
void clsh_draw_size(void);
int clsh_draw_columns(void);
int clsh_draw_rows(void);
void clsh_draw_fresh(void);
void clsh_draw_view(const View *v);
void clsh_draw_end(const View *v, const char *tail);
void clsh_draw_above(const char *text);
void clsh_draw_resized(void);
void clsh_draw_clear(void);

#endif
