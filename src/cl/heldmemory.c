/*
** heldmemory.c - memory objects that closed Buffers leave for the next
** Buffers: a driver may take longer to allocate and free memory than for a
** kernel. A list by age has them; a Buffer takes the newest object of its
** size. The rule: memory is held only if all commands that used it were on its
** context's default queue, which is in order. It is given only to a Buffer
** whose first command is on that queue, or when the queue has no command under
** way: so new content comes behind earlier commands.
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

/* Gives the oldest object to the driver, to free behind its commands. */
static void drop(Hold *h) {
  size_t bytes = h->list[0].bytes;
  cl_mem mem = pick(h, 0);
  if (!clsh_driver_handsoff())
    clReleaseMemObject(mem);
  if (h->shared)
    clsh_memory_give(bytes);
}

/*
** Holds a memory object of at most `most` bytes. Gives the oldest objects back
** where there are then too many, or more than `most` bytes together.
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

bool clsh_heldmemory_has(const Hold *h, size_t bytes) {
  for (int i = 0; i < h->n; i++)
    if (h->list[i].bytes == bytes)
      return true;
  return false;
}

/* A memory object of `bytes` bytes, or NULL. */
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

/* Gives the held memory of all contexts back: some driver has too little. */
void clsh_heldmemory_emptyall(void) {
  while (first != NULL)
    clsh_heldmemory_empty(first);
}

/*
** Whether a command that the driver refused by `code` is worth another try, as
** memory was held: some drivers allocate a buffer in the first command that
** uses it. No script code runs.
*/
bool clsh_heldmemory_retry(cl_int code) {
  if ((code != CL_MEM_OBJECT_ALLOCATION_FAILURE &&
       code != CL_OUT_OF_RESOURCES) ||
      first == NULL)
    return false;
  clsh_heldmemory_emptyall();
  return true;
}
