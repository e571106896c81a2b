/*
** region.h - a part of a buffer, in bytes, and its smaller parts.
** SPDX-License-Identifier: MIT
*/
#ifndef region_h
#define region_h

#include "queue.h"

/*
** `slices` times `rows` pieces of `width` bytes. One piece stands for any
** contiguous part.
*/
typedef struct Region {
  size_t offset; /* from the handle's beginning */
  size_t width, rows, slices;
  size_t pitch, slice; /* from row to row, and slice to slice; 0: rows */
  Shape shape;         /* the same in elements */
} Region;

/* region.c */
Region clsh_region_joined(const Region *from);
Region clsh_region_laid(const Region *r, const Region *other);
void clsh_region_origin(const Region *r, size_t origin[3]);
size_t clsh_region_extent(const Region *r);
size_t clsh_region_bytes(const Region *r);
bool clsh_region_next(const Region *whole, size_t most, size_t *done,
                      Region *part);
cl_int clsh_region_move(bool write, const Move *m, cl_mem mem, const Region *r,
                        void *host, cl_event *slot);
const char *clsh_region_call(bool write, const Region *r);

/* pinned.c */
bool clsh_pinned_wanted(lua_State *L, int opts, const Move *m, size_t bytes);
void clsh_pinned_move(lua_State *L, bool write, const Move *m, cl_mem mem,
                      const Region *whole, void *host);
void clsh_pinned_prepare(lua_State *L, Context *c);
void clsh_pinned_copy(lua_State *L, const Move *m, cl_mem from,
                      const Region *r, const Move *target, cl_mem to,
                      const Region *place, bool both);

#endif
