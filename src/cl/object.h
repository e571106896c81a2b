/*
** object.h - the objects of module cl, the options that their methods take,
** and the errors that they raise.
** SPDX-License-Identifier: MIT
*/
#ifndef object_h
#define object_h

#include "cl.h"

/* class.c: the first member of every object is its Object head. */
typedef struct Object {
  const struct Class *class;
  bool closed;
} Object;
typedef struct Class {
  const char *name; /* "Buffer", as messages and cl.extend spell it */
  size_t size;      /* of the whole object */
  const luaL_Reg *methods;
  const luaL_Reg *fields;     /* o.name calls the function with o */
  const luaL_Reg *meta;       /* metamethods besides the common ones */
  lua_CFunction index;        /* for other keys, 0: none; may be NULL */
  void (*release)(Object *o); /* called once; must not raise; may be NULL */
} Class;
void clsh_class_define(lua_State *L, const Class *class);
typedef struct Field { /* of an object, read as it is; ended by kind 0 */
  const char *name;
  char kind; /* 'n' a size_t, 'i' an int, 'b' a bool, 's' a text, 't' the name
                of a Type, all in the object; 'u' a user value */
  size_t at; /* its bytes from the object's beginning, or its number */
} Field;
void clsh_class_addfields(lua_State *L, const Class *class, const Field *list);
void clsh_class_add(lua_State *L, const char *name, const luaL_Reg *methods,
                    const luaL_Reg *fields);
void *clsh_class_new(lua_State *L, const Class *class, int uservalues);
void *clsh_class_newowned(lua_State *L, const Class *class, int uservalues,
                          int owner);
void *clsh_class_test(lua_State *L, int arg, const Class *class);
void *clsh_class_check(lua_State *L, int arg, const Class *class);
void *clsh_class_any(lua_State *L, int arg, const Class *class);
const char *clsh_class_name(lua_State *L, int arg); /* "Buffer", "nil" ... */
void *clsh_class_option(lua_State *L, int idx, const Class *class,
                        const char *name);
void clsh_class_close(Object *o);
const char *clsh_class_field(lua_State *L);
void clsh_class_pushfields(lua_State *L, const char *names);
void clsh_class_pressure(lua_State *L, size_t bytes);
void clsh_class_pushweak(lua_State *L, const char *name);
void clsh_class_noteweak(lua_State *L, const char *name);
void clsh_class_open(lua_State *L);

/* option.c */
int clsh_option_word(lua_State *L, int idx, const char *const names[],
                     const char *name);
void clsh_option_check(lua_State *L, int arg, const char *names,
                       const char *what);
int clsh_option_push(lua_State *L, int opts, const char *name);
bool clsh_option_whole(lua_State *L, int idx, lua_Integer least, size_t *n);
const char *clsh_option_got(lua_State *L, int idx);
size_t clsh_option_count(lua_State *L, int idx, const char *name);
size_t clsh_option_size(lua_State *L, int opts, const char *name, size_t def);
bool clsh_option_flag(lua_State *L, int opts, const char *name, bool def);
void clsh_option_open(lua_State *L);

/* poll.c */
void clsh_poll_open(lua_State *L);

/* nearest.c */
const char *clsh_nearest_pushlist(lua_State *L, const char *const names[]);
void clsh_nearest_open(lua_State *L);

/* hook.c: functions and values that C and Lua share */
int clsh_hook_push(lua_State *L, const char *name);
void clsh_hook_set(lua_State *L, const char *name);
void clsh_hook_open(lua_State *L);

/* error.c: all errors are raised here */
int clsh_error_arg(lua_State *L, int arg, const char *fmt, ...);
int clsh_error_call(lua_State *L, cl_int code, const char *call,
                    const char *fmt, ...);
void clsh_error_check(lua_State *L, cl_int code, const char *call);
void clsh_error_push(lua_State *L, cl_int code, const char *call,
                     const char *message);
const char *clsh_error_name(cl_int code);
bool clsh_error_where(lua_State *L, int level, lua_Debug *ar);
void clsh_error_reclaim(lua_State *L);
bool clsh_error_retry(lua_State *L, cl_int code, int *tries);
void clsh_error_open(lua_State *L);

#endif
