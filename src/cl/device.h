/*
** device.h - class Device, its values, and the session's choice of one.
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
const char *clsh_commandname(cl_command_type type);
int clsh_pushamount(lua_State *L, lua_Number x);
bool clsh_pushinfo(lua_State *L, Getter get, void *handle, const Info *i);
const Info *clsh_findinfo(const Info *list, const char *name);

/* deviceinfo.c */
extern const Info clsh_deviceinfo[]; /* ends with NULL */

/* device.c */
cl_device_id clsh_checkdevice(lua_State *L, int arg);
bool clsh_isdevice(lua_State *L, int arg);
void clsh_pushdevices(lua_State *L); /* the list of all */
bool clsh_hasextension(lua_State *L, cl_device_id id, const char *name);
void clsh_opendevice(lua_State *L);

/* devicechoice.c */
cl_device_id clsh_pushchosen(lua_State *L); /* the session's device */
void clsh_openselect(lua_State *L);

#endif
