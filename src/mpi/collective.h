/*
** collective.h - what the collectives of folder mpi/ share: what the ranks
** agree on, and where results go.
** SPDX-License-Identifier: MIT
*/
#ifndef collective_h
#define collective_h

#include "comm.h"

/* What the ranks agree on. A rank that leaves one open has OPEN there. */
enum {
  CALL,
  ROOT,
  OP,
  FORM,
  TYPE,
  COUNT,
  NDIMS,
  DIMS,
  FIELDS = DIMS + MAXDIMS
};
#define OPEN INT64_MIN
typedef struct Terms {
  int64_t at[FIELDS];
} Terms;

enum {
  ALLGATHER,
  ALLREDUCE,
  ALLTOALL,
  BARRIER,
  BCAST,
  GATHER,
  REDUCE,
  SCATTER,
  SHARED,
  SPLIT
};

/* A call under way: who, what, and the index of its first argument. */
typedef struct Call {
  const Comm *comm;
  const char *name;
  int first, root;
  Terms terms;
} Call;

/* agree.c */
extern const char *const clsh_agree_ops[];
Call clsh_agree_begin(lua_State *L, int call, int arguments);
int clsh_agree_number(const Type *t);
const Type *clsh_agree_type(int64_t number);
void clsh_agree_offer(lua_State *L, Call *c, const Payload *x, bool shape);
void clsh_agree_reach(lua_State *L, Call *c);
Shape clsh_agree_shape(const Call *c);
void clsh_agree_root(lua_State *L, Call *c, int arg);

/* result.c */
/* Where a result goes: an Array, and what it stands for. */
typedef struct Result {
  Payload p;
  int into; /* the option's value, or 0 */
} Result;

Result clsh_result_new(lua_State *L, int opts, Form form, const Type *t,
                       const Shape *s);
Result clsh_result_agree(lua_State *L, Call *c, int opts, Payload *x,
                         Form numbers, Shape s);
int clsh_result_finish(lua_State *L, const Result *r, const Payload *x,
                       int of);
void *clsh_result_place(lua_State *L, const Payload *x, const Payload *to);
Payload clsh_result_double(lua_State *L, const Payload *x);

#endif
