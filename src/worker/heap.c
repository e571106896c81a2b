/*
** heap.c - the memory that is shared with the worker, and its heap. The memory
** is promised, not taken: pages come as they are touched, and those of large
** blocks go as these are given back.
** SPDX-License-Identifier: MIT
*/
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "channel.h"

#define MOST ((size_t)1 << 40)
#define LEAST ((size_t)1 << 30)
#define LARGE ((size_t)1 << 20)
#define ALIGN ((size_t)128) /* of the largest type, long16 */

Wire *clsh_heap_wire;
int clsh_heap_fd = -1;

/* A part of the heap, taken or free; the list is in order and has no gaps. */
typedef struct Part {
  struct Part *next, *before;
  size_t offset, bytes;
  bool taken;
} Part;

static Part *first;
static Part *rover; /* where a search begins: at the last one given or taken */

/* Makes the memory: as much as the address space allows. */
bool clsh_heap_open(void) {
  struct rlimit limit;
  size_t size = MOST;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    while (size > limit.rlim_cur / 2)
      size /= 2;
  int fd = memfd_create("clshell", MFD_CLOEXEC);
  clsh_heap_fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1;
  close(fd);
  void *p = MAP_FAILED;
  for (; clsh_heap_fd >= 0 && size >= LEAST && p == MAP_FAILED; size /= 2) {
    if (ftruncate(clsh_heap_fd, (off_t)size) == 0)
      p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
               clsh_heap_fd, 0);
    if (p != MAP_FAILED)
      break;
  }
  first = calloc(1, sizeof *first);
  if (p == MAP_FAILED || first == NULL)
    return false;
  clsh_heap_wire = p;
  clsh_heap_wire->size = size;
  *first = (Part){NULL, NULL, WIRE_HEAP, size - WIRE_HEAP, false};
  rover = first;
  return true;
}

/* The part behind p, around the end. */
static Part *following(const Part *p) {
  return p->next != NULL ? p->next : first;
}

/* Takes so many bytes; 0: there is no such part. */
size_t clsh_heap_take(size_t bytes) {
  size_t need = (bytes + WIRE_PAGE - 1) & ~(WIRE_PAGE - 1);
  need = need > 0 ? need : WIRE_PAGE;
  Part *p = rover;
  while (p->taken || p->bytes < need) {
    p = following(p);
    if (p == rover)
      return 0;
  }
  if (need < bytes)
    return 0;
  if (p->bytes > need) {
    Part *rest = malloc(sizeof *rest);
    if (rest == NULL)
      return 0;
    *rest = (Part){p->next, p, p->offset + need, p->bytes - need, false};
    if (rest->next != NULL)
      rest->next->before = rest;
    p->next = rest;
    p->bytes = need;
  }
  p->taken = true;
  rover = p;
  return p->offset;
}

/*
** Takes a part whose content ends, but for its alignment, at a page that the
** worker lets nobody touch. Returns the part.
*/
size_t clsh_heap_takeguarded(size_t bytes, size_t *content, size_t *guard) {
  size_t room = ((bytes + WIRE_PAGE - 1) & ~(WIRE_PAGE - 1)) + WIRE_PAGE;
  size_t part = room > bytes ? clsh_heap_take(room) : 0;
  *guard = part + room - WIRE_PAGE;
  *content = (*guard - bytes) & ~(ALIGN - 1);
  return part;
}

/* Joins a free part with a free one behind it. */
static void join(Part *p) {
  Part *n = p->next;
  rover = p;
  if (n == NULL || n->taken || p->taken)
    return;
  p->bytes += n->bytes;
  p->next = n->next;
  if (p->next != NULL)
    p->next->before = p;
  free(n);
}

/* Gives a part back; 0: there is none. */
void clsh_heap_give(size_t offset) {
  Part *p = rover;
  if (offset == 0)
    return;
  while (p->offset != offset)
    p = following(p);
  p->taken = false;
  if (p->bytes >= LARGE)
    madvise(wire_at(clsh_heap_wire, offset), p->bytes, MADV_REMOVE);
  join(p);
  if (p->before != NULL)
    join(p->before);
}

static bool used[WIRE_SLOTS];
static uint32_t highest, next; /* one beyond the last used; a guess */

/* Takes a slot, pending; WIRE_SLOTS: all are in use. */
uint32_t clsh_heap_takeslot(void) {
  for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
    uint32_t s = next;
    next = (next + 1) % WIRE_SLOTS;
    if (used[s])
      continue;
    used[s] = true;
    highest = s >= highest ? s + 1 : highest;
    atomic_store(&clsh_heap_wire->slot[s].status, WIRE_PENDING);
    return s;
  }
  return WIRE_SLOTS;
}

/* Gives a slot back; low ones are used again first, as they are in cache. */
void clsh_heap_giveslot(uint32_t slot) {
  used[slot] = false;
  next = slot < next ? slot : next;
}

cl_int clsh_heap_status(uint32_t slot) {
  return atomic_load(&clsh_heap_wire->slot[slot].status);
}

/* Ends all that is pending, as nobody will. */
void clsh_heap_failslots(cl_int err) {
  for (uint32_t s = 0; s < highest; s++)
    if (used[s] && clsh_heap_status(s) == WIRE_PENDING)
      atomic_store(&clsh_heap_wire->slot[s].status, err);
}
