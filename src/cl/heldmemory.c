/*
** heldmemory.c - memory objects that closed Buffers leave for the next results
** of calculations: a driver may take longer to allocate and free memory than
** for a kernel. Lists by age, of which a result takes the newest of its size.
** The rule: memory is held only if no commands but those of its context's
** default queue, which is in order, have used it, and is given only to a
** Buffer whose first command is on that queue. So the new content comes behind
** commands that are still under way.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "memory.h"

static Hold *first; /* in the list of all Holds that are not empty */

static void enlist(Hold *h) {
  h->next = first;
  h->link = &first;
  if (first != NULL)
    first->link = &h->next;
  first = h;
}

static void unlist(Hold *h) {
  *h->link = h->next;
  if (h->next != NULL)
    h->next->link = h->link;
}

/* Takes number i out of the list. */
static cl_mem pick(Hold *h, int i) {
  cl_mem mem = h->list[i].mem;
  h->bytes -= h->list[i].bytes;
  h->n--;
  memmove(&h->list[i], &h->list[i + 1],
          (size_t)(h->n - i) * sizeof h->list[0]);
  if (h->n == 0)
    unlist(h);
  return mem;
}

/* Gives the oldest back to the driver, which frees it behind its commands. */
static void drop(Hold *h) {
  size_t bytes = h->list[0].bytes;
  cl_mem mem = pick(h, 0);
  if (!clsh_driver_handsoff())
    clReleaseMemObject(mem);
  if (h->shared)
    clsh_memory_give(bytes);
}

/*
** Holds a memory object of at most `most` bytes, and gives the oldest ones
** back that are then too many, or of more bytes together.
*/
void clsh_heldmemory_keep(Hold *h, cl_mem mem, size_t bytes, cl_ulong most) {
  assert(bytes <= most);
  while (h->n == HELD || h->bytes > most - bytes)
    drop(h);
  if (h->n == 0)
    enlist(h);
  h->list[h->n].mem = mem;
  h->list[h->n].bytes = bytes;
  h->n++;
  h->bytes += bytes;
}

/* A memory object of so many bytes, or NULL. */
cl_mem clsh_heldmemory_take(Hold *h, size_t bytes) {
  for (int i = h->n - 1; i >= 0; i--)
    if (h->list[i].bytes == bytes)
      return pick(h, i);
  return NULL;
}

void clsh_heldmemory_empty(Hold *h) {
  while (h->n > 0)
    drop(h);
  assert(h->bytes == 0);
}

/* Gives all memory back, of all contexts: some driver has too little. */
void clsh_heldmemory_emptyall(void) {
  while (first != NULL)
    clsh_heldmemory_empty(first);
}

/*
** Whether a command that the driver refused by `code` is worth another try, as
** memory was held: some allocate a buffer in the first command that uses it.
** No script code runs.
*/
bool clsh_heldmemory_retry(cl_int code) {
  if ((code != CL_MEM_OBJECT_ALLOCATION_FAILURE &&
       code != CL_OUT_OF_RESOURCES) ||
      first == NULL)
    return false;
  clsh_heldmemory_emptyall();
  return true;
}
