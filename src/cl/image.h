/*
** image.h - class Image, its formats, and class Sampler.
** SPDX-License-Identifier: MIT
*/
#ifndef image_h
#define image_h

#include "context.h"
#include "type.h"

/* order and type of a pixel's channels */
typedef struct Format {
  cl_image_format code;
  const char *order, *channel; /* "rgba", "unorm_int8" */
  const Type *type;            /* of a pixel on the host: "uchar4" */
} Format;
typedef struct Kind {
  const char *name, *param; /* "2d", "image2d_t" */
  cl_mem_object_type what;
  int ndims;
  bool array; /* its last dimension counts images */
} Kind;
typedef struct Image {
  Object head;
  cl_mem handle;
  Context *context; /* user value 1 keeps it; 2: the Buffer of "1d_buffer" */
  const Kind *kind;
  Format format;
  size_t size[3]; /* width, height, depth; 1 where the kind has none */
  size_t bytes;   /* of the image's own memory */
  cl_mem_flags access;
} Image;
/* image.c */
extern const Class clsh_image_class;
#define clsh_image_check(L, i)                                                \
  ((Image *)clsh_class_check(L, i, &clsh_image_class))
#define clsh_image_test(L, i)                                                 \
  ((Image *)clsh_class_test(L, i, &clsh_image_class))
const Kind *clsh_image_kind(const char *param);
void clsh_image_shape(const Image *img, const size_t size[3], Shape *s);
typedef struct Sampler {
  Object head;
  cl_sampler handle; /* the context's */
  Context *context;  /* user value 1 keeps it */
  bool normalized;
  int address, filter; /* places in the lists of their words */
} Sampler;
extern const Class clsh_image_samplerclass;
#define clsh_image_sampler(L, i)                                              \
  ((Sampler *)clsh_class_test(L, i, &clsh_image_samplerclass))
void clsh_image_open(lua_State *L);

#endif
