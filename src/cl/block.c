/*
** block.c - host memory that an Array and its transfers share: the last of
** them frees it.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define PAGE 4096 /* alignment of all but small blocks: good for DMA */

static void freeblock(Block *b) {
  free(b->data);
}

/* Gives up one reference; the last one frees the memory. */
void clsh_block_release(Block *b) {
  assert(b->refs > 0);
  if (--b->refs > 0)
    return;
  if (b->free != NULL)
    b->free(b);
  free(b);
}

/* A zeroed block; NULL when there is no memory for it. */
Block *clsh_block_new(size_t bytes) {
  Block *b = calloc(1, sizeof *b);
  if (b == NULL)
    return NULL;
  if (posix_memalign(&b->data, bytes < PAGE ? 64 : PAGE, bytes) != 0) {
    free(b);
    return NULL;
  }
  memset(b->data, 0, bytes);
  b->bytes = bytes;
  b->refs = 1;
  b->free = freeblock;
  return b;
}
