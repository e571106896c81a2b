/*
** device.h - class Device, its values, and the session's device.
** SPDX-License-Identifier: MIT
*/
#ifndef device_h
#define device_h

#include "cl.h"

/* info.c: clGet*Info by tables */
typedef struct Info {
  const char *name;
  cl_uint query;
  char kind;             /* see info.c */
  const char *extension; /* needed for the query, or NULL */
} Info;
typedef cl_int (*Getter)(void *handle, cl_uint query, size_t size, void *p,
                         size_t *sizeret);
bool clsh_info_push(lua_State *L, Getter get, void *handle, const Info *i);
size_t clsh_info_size(size_t size); /* as a driver tells it; 0: too large */
cl_ulong clsh_info_least(cl_uint query);
extern const Info clsh_info_device[]; /* ends with NULL */
const Info *clsh_info_find(const Info *list, const char *name);

/* device.c */
cl_device_id clsh_device_check(lua_State *L, int arg);
bool clsh_device_is(lua_State *L, int arg);
bool clsh_device_offers(lua_State *L, cl_device_id id, const char *extension);
cl_int clsh_device_ask(cl_device_id id, cl_uint query, size_t size, void *p,
                       size_t *sizeret); /* with pretended limits */
bool clsh_device_pretends(void);
cl_device_id clsh_device_push(lua_State *L); /* the session's device */
void clsh_device_open(lua_State *L);

#endif
