/*
** draw.h - shows a text that is edited below the output of the program.
** SPDX-License-Identifier: MIT
*/
#ifndef draw_h
#define draw_h

#include <stdbool.h>
#include <stddef.h>

#define NOWHERE ((size_t)-1)

/* What is shown: bytes of a text, positions in it, and lines below it. */
typedef struct View {
  const char *text;
  size_t len;
  size_t cursor;
  const char *mask;  /* a class letter for each byte; NULL: no colours */
  size_t pair[2];    /* brackets to underline, or NOWHERE */
  size_t first, end; /* bytes to underline, as a search found them */
  const char *below; /* NULL: none */
} View;

void clsh_drawsize(void);
int clsh_drawcolumns(void);
int clsh_drawrows(void);
void clsh_drawfresh(void);
void clsh_draw(const View *v);
void clsh_drawend(const View *v, const char *tail);
void clsh_drawabove(const char *text);
void clsh_drawresized(void);
void clsh_drawclear(void);

/* Columns of the character at s; *len: its bytes. */
int clsh_charwidth(const char *s, size_t n, size_t *len);

#endif
