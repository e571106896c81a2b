/*
** mapping.c - device memory mapped into an Array: the memory is the Array's
** until the last user of it ends, which unmaps it. A part of an image has gaps
** between its rows; its Array has no gaps, and is a copy then.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "timeline.h"

/* The places where unmap puts the event and the error. */
typedef struct Told {
  cl_event *slot;
  cl_int err;
} Told;

struct Mapping {
  Block block; /* the first member: the Array's block */
  cl_mem mem;
  cl_command_queue queue;
  void *mapped; /* the driver's mapping; NULL: not yet */
  Rows rows;
  Block *copy; /* the rows without gaps; NULL: no copy */
  bool writes; /* the copy goes back */
  Told *told;
};

/* Copies the rows out of the mapped memory, or back. */
static void copyrows(const Mapping *k, bool back) {
  const Rows *r = &k->rows;
  char *dense = k->copy->data;
  for (size_t s = 0; s < r->slices; s++)
    for (size_t i = 0; i < r->rows; i++, dense += r->width) {
      char *row = (char *)k->mapped + s * r->slice + i * r->pitch;
      memcpy(back ? row : dense, back ? dense : row, r->width);
    }
}

/* Gives the memory back at the end of a mapped Array's block. */
static void unmap(Block *b) {
  Mapping *k = (Mapping *)b;
  if (clsh_driver_handsoff())
    return;
  if (k->copy != NULL && k->writes)
    copyrows(k, true);
  if (k->copy != NULL)
    clsh_array_unref(k->copy);
  if (k->mapped != NULL) {
    cl_int err =
        clEnqueueUnmapMemObject(k->queue, k->mem, k->mapped, 0, NULL,
                                k->told != NULL ? k->told->slot : NULL);
    if (k->told != NULL)
      k->told->err = err;
    clFlush(k->queue);
  }
  clReleaseCommandQueue(k->queue);
  clReleaseMemObject(k->mem);
}

/* The flags for the mode at `arg`: how the host uses the memory. */
cl_map_flags clsh_mapping_flags(lua_State *L, int arg) {
  static const char *const modes[] = {"read_write", "read", "write", NULL};
  static const cl_map_flags flags[] = {CL_MAP_READ | CL_MAP_WRITE, CL_MAP_READ,
                                       CL_MAP_WRITE_INVALIDATE_REGION};
  return flags[clsh_option_word(L, arg, modes, "mode")];
}

/* A mapping of `bytes` of `mem`, which the Array `a` holds from now on. */
Mapping *clsh_mapping_new(lua_State *L, Array *a, cl_mem mem,
                          const Transfer *m, size_t bytes) {
  Mapping *k = calloc(1, sizeof *k);
  if (k == NULL)
    clsh_error(L, "not enough memory");
  k->block = (Block){.bytes = bytes, .refs = 1, .free = unmap, .mapped = true};
  k->mem = mem;
  k->queue = m->handle;
  clRetainMemObject(mem);
  clRetainCommandQueue(m->handle);
  a->block = &k->block;
  return k;
}

/* Notes that the driver has mapped the memory, which lies without gaps. */
void clsh_mapping_set(Mapping *k, void *mapped) {
  k->mapped = k->block.data = mapped;
}

/*
** Notes the rows of a completed mapping. Where they have gaps the Array gets a
** copy without gaps, which goes back at the end if the host writes.
*/
void clsh_mapping_setrows(lua_State *L, Mapping *k, const Array *a,
                          const Rows *r, cl_map_flags flags) {
  if ((r->rows == 1 || r->pitch == r->width) &&
      (r->slices == 1 || r->slice == r->rows * r->width))
    return;
  Array *copy = clsh_array_new(L, a->type, &a->shape);
  k->rows = *r;
  k->copy = copy->block;
  k->copy->refs++;
  k->writes = flags != CL_MAP_READ;
  if ((flags & CL_MAP_READ) != 0)
    copyrows(k, false);
  k->block.data = k->copy->data;
  lua_pop(L, 1);
}

/*
** unmap(array): unmaps the Array at 2 of the object at 1, and pushes the Event
** after the unmapping. User value 1 of the object is its Context.
*/
int clsh_mapping_unmap(lua_State *L, const Object *o, const cl_mem *handle) {
  Told told = {NULL, CL_SUCCESS};
  clsh_array_check(L, 2);
  lua_getiuservalue(L, 1, 1);
  Context *c = clsh_context_any(L, -1);
  clsh_queue_push(L, -1);
  Event *e = clsh_event_new(L, -1);
  if (o->closed) /* by a finalizer, meanwhile */
    return clsh_error_arg(L, 1, "this %s is closed", o->class->name);
  Array *a = clsh_array_check(L, 2);
  Mapping *k = (Mapping *)a->block;
  if (k->block.free != unmap || k->mem != *handle)
    return clsh_error_arg(L, 2, "this Array is no mapping of the %s",
                          o->class->name);
  if (k->block.refs > 1)
    return clsh_error_arg(L, 2,
                          "the mapping is still in use, by an Array of "
                          "another shape or by a transfer");
  told.slot = &e->handle;
  k->told = &told;
  clsh_class_close((Object *)a);
  clsh_context_checkcommand(L, c, told.err, "clEnqueueUnmapMemObject");
  clsh_timeline_enqueued(L, e);
  clsh_timeline_call(e, 'b');
  clsh_event_wait(L, -1);
  clsh_timeline_call(e, 'b');
  return 1;
}
