/*
** frame.h - a text laid out in the rows of a window.
** SPDX-License-Identifier: MIT
*/
#ifndef frame_h
#define frame_h

#include "draw.h"

/* A character with what combines with it. */
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

void clsh_layout(Frame *f, const View *v, int columns, int rows);

#endif
