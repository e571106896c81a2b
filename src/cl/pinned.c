/*
** pinned.c - the pinned pieces of a context: memory that the driver allocates
** for the host, mapped as long as the context lives.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

#include "driver.h"
#include "memory.h"

/* Maps one piece on the pool's queue, which has no other commands. */
static cl_int mappiece(Pool *p, cl_context c, Piece *piece) {
  cl_int err;
  piece->mem = clCreateBuffer(c, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                              PIECEBYTES, NULL, &err);
  if (err == CL_SUCCESS)
    piece->data = clEnqueueMapBuffer(p->queue, piece->mem, CL_TRUE,
                                     CL_MAP_READ | CL_MAP_WRITE, 0, PIECEBYTES,
                                     0, NULL, NULL, &err);
  return err;
}

static void freepieces(Pool *p) {
  for (int i = 0; i < PIECES; i++) {
    Piece *piece = &p->list[i];
    if (piece->busy != NULL && clsh_poll_status(piece->busy) > CL_COMPLETE)
      continue;
    if (piece->busy != NULL)
      clReleaseEvent(piece->busy);
    if (piece->mem == NULL)
      free(piece->data);
    else if (piece->data != NULL)
      clEnqueueUnmapMemObject(p->queue, piece->mem, piece->data, 0, NULL,
                              NULL);
    if (piece->mem != NULL)
      clReleaseMemObject(piece->mem);
    *piece = (Piece){0};
  }
}

/* Takes ordinary memory for the pieces that the driver does not map. */
static bool takeplain(Pool *p) {
  bool fine = true;
  freepieces(p);
  for (int i = 0; i < PIECES && fine; i++) {
    void *data = NULL;
    fine = posix_memalign(&data, 4096, PIECEBYTES) == 0;
    p->list[i].data = fine ? data : NULL;
  }
  return fine;
}

/*
** A pool for a device in a context, of ordinary memory where the driver has no
** pinned memory; NULL where there is no memory.
*/
Pool *clsh_pinned_new(cl_context c, cl_device_id d) {
  cl_int err;
  Pool *p = calloc(1, sizeof *p);
  if (p == NULL)
    return NULL;
  clsh_driver_block();
  p->queue = clCreateCommandQueue(c, d, 0, &err);
  for (int i = 0; i < PIECES && err == CL_SUCCESS; i++)
    err = mappiece(p, c, &p->list[i]);
  clsh_driver_unblock();
  p->pinned = err == CL_SUCCESS;
  if (p->pinned || takeplain(p))
    return p;
  clsh_pinned_free(p, true);
  return NULL;
}

/*
** Frees a pool; `ours`: the driver may be called. Memory that a command still
** uses, after a Ctrl-C, stays allocated.
*/
void clsh_pinned_free(Pool *p, bool ours) {
  if (ours)
    freepieces(p);
  if (p->queue != NULL && ours)
    clReleaseCommandQueue(p->queue);
  free(p);
}
