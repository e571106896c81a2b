/*
** type.h - element types and the shapes of arrays and buffers.
** SPDX-License-Identifier: MIT
*/
#ifndef type_h
#define type_h

#include <stdint.h>

#include "cl.h"

#define MAXDIMS 4 /* dimensions of an array or a buffer */

/* type.c: element types by their OpenCL C names */
typedef struct Type {
  const char *name;
  char kind;              /* 'i' signed, 'u' unsigned, 'f' real */
  unsigned char unit;     /* bytes of one component */
  unsigned char width;    /* components: 1 2 3 4 8 16 */
  unsigned char size;     /* bytes of an element; a vector of 3 takes 4 */
  unsigned char fraction; /* bits of a real behind its leading 1 */
} Type;
#define E4M3 3                     /* the fraction that tells float8_e4m3 */
extern const Type clsh_type_all[]; /* ends with NULL */
bool clsh_type_isstored(const Type *t);
bool clsh_type_alike(const Type *t, const Type *u);
const Type *clsh_type_find(const char *name, size_t len);
const Type *clsh_type_check(lua_State *L, int arg);
void clsh_type_push(lua_State *L, const Type *t, const void *p);
void clsh_type_pushtext(lua_State *L, const Type *t, const void *p);
const char *clsh_type_misfit(lua_State *L, int idx, const Type *t, double x);
const char *clsh_type_convert(lua_State *L, int idx, const Type *t, void *p);
void clsh_type_element(lua_State *L, int arg, const Type *t, void *p);
void clsh_type_open(lua_State *L);

/* number.c: `n` components at p as numbers of C, and back */
void clsh_number_loadreals(const Type *t, const void *p, size_t n, double *x);
void clsh_number_loadintegers(const Type *t, const void *p, size_t n,
                              int64_t *x);
void clsh_number_storereals(const Type *t, const double *x, size_t n, void *p);
void clsh_number_storeintegers(const Type *t, const int64_t *x, size_t n,
                               void *p);
double clsh_number_round(const Type *t, double x);
bool clsh_number_fits(const Type *t, int64_t v, bool big);
size_t clsh_number_whole(const Type *t, const double *x, size_t n, int64_t *v);

/* shape.c */
typedef struct Shape {
  int ndims;
  size_t dim[MAXDIMS];
  size_t count; /* product of dim */
} Shape;
int clsh_shape_sizes(lua_State *L, int arg, const char *name, int most,
                     lua_Integer least, size_t *sizes);
void clsh_shape_check(lua_State *L, int arg, const Type *t, Shape *s);
void clsh_shape_other(lua_State *L, const Type *t, size_t count, Shape *s);
void clsh_shape_retype(lua_State *L, Shape *s, const Type *from,
                       const Type *to);
void clsh_shape_pushsizes(lua_State *L, const size_t *sizes, int n);
void clsh_shape_push(lua_State *L, const Shape *s);
int clsh_shape_pushextent(lua_State *L, const Shape *s, const char *name);
const char *clsh_shape_pushtext(lua_State *L, const size_t *sizes, int n);
const char *clsh_shape_string(lua_State *L, const Shape *s);
size_t clsh_shape_count(lua_State *L, int arg, const char *what,
                        lua_Integer least);

#endif
