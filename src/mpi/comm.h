/*
** comm.h - what the files of folder mpi/ share: communicators, values on
** their way, and what is under way.
** SPDX-License-Identifier: MIT
*/
#ifndef comm_h
#define comm_h

#include <mpi.h>

#include "cl/array.h"

/* mpi.c: require "mpi" */
int luaopen_mpi(lua_State *L);
int clsh_mpi_version(lua_State *L);

/* fault.c */
void clsh_fault_check(lua_State *L, int code, const char *call);

/* comm.c */
typedef struct Comm {
  Object head;
  MPI_Comm handle, elements; /* the second for the elements of messages */
  int rank, size;
} Comm;
Comm *clsh_comm_new(lua_State *L, MPI_Comm handle);
Comm *clsh_comm_take(lua_State *L, int *first);
int clsh_comm_torank(lua_State *L, const Comm *c, int arg, const char *what,
                     int def);
void clsh_comm_add(lua_State *L, const luaL_Reg *functions);
void clsh_comm_open(lua_State *L);

/* datatype.c */
typedef struct Bulk {
  MPI_Datatype type;
  int n;
  bool own; /* to be freed */
} Bulk;
#define PIECE ((size_t)1 << 26) /* elements that one number counts */
MPI_Datatype clsh_datatype_unit(const Type *t);
size_t clsh_datatype_units(const Type *t, size_t count);
Bulk clsh_datatype_bulk(const Type *t, size_t count);
void clsh_datatype_free(Bulk *b);

/* payload.c: a value as memory. An Array stands for each: at index `array`. */
typedef enum Form { NONE, ARRAY, NUMBER, STRING } Form;
typedef struct Payload {
  Form form;
  const Type *type;
  size_t count; /* elements */
  int array;    /* of the Lua stack; 0: none */
  bool buffer;  /* the Array stands for a Buffer */
} Payload;
Payload clsh_payload_get(lua_State *L, int arg, bool read);
Payload clsh_payload_new(lua_State *L, Form form, const Type *t,
                         const Shape *s);
void *clsh_payload_data(lua_State *L, const Payload *p);
const Shape *clsh_payload_shape(lua_State *L, const Payload *p);
void clsh_payload_finish(lua_State *L, const Payload *p, int arg);
void clsh_payload_tobuffer(lua_State *L, int array, int buffer);
const char *clsh_payload_text(lua_State *L, Form form, const Type *t,
                              size_t count);

/* transit.c: what MPI is at work on, and the memory it uses */
typedef struct Header { /* goes in front of the elements of a message */
  uint32_t mark;
  uint8_t form, type;
  uint16_t unused;
  uint64_t count;
} Header;
typedef struct Peer { /* whom a message goes to or comes from */
  int rank, tag;      /* MPI_ANY_SOURCE, MPI_ANY_TAG */
} Peer;
typedef struct Transit {
  MPI_Request request[2]; /* of a message: its header, its elements */
  int error;
  Block *block[2];
  bool (*ready)(struct Transit *t); /* whether its last request has begun */
  bool receives, left;              /* left: nobody waits for it any more */
  struct Transit *next;
  Header header; /* from here on: of messages */
  Peer from;
  MPI_Comm comm, elements;
  void *data;
  char *text; /* of a string, which is as long as its header tells */
  Payload payload;
  struct Transit *later; /* among those that wait for their header */
  int64_t scratch[];
} Transit;
typedef struct Outcome { /* of one that has ended */
  int error, from, tag;
  bool received;
  Header header;
} Outcome;
Transit *clsh_transit_try(size_t scratch);
Transit *clsh_transit_begin(lua_State *L, size_t scratch);
void clsh_transit_hold(lua_State *L, Transit *t, const Payload *x);
bool clsh_transit_test(Transit *t);
void clsh_transit_until(lua_State *L, bool (*done)(void *), void *what);
void clsh_transit_await(lua_State *L, Transit *t);
void clsh_transit_wait(lua_State *L, Transit *t);
Outcome clsh_transit_outcome(Transit *t);
void clsh_transit_leave(Transit *t);
void clsh_transit_run(lua_State *L, Transit *t, int code, const char *call);
void clsh_transit_finalize(void);

/* message.c */
Transit *clsh_message_send(lua_State *L, const Comm *c, const Payload *x,
                           Peer to);
Transit *clsh_message_receive(lua_State *L, const Comm *c, const Payload *x,
                              Peer from);
Payload clsh_message_target(lua_State *L, int arg);
Outcome clsh_message_finish(lua_State *L, Transit *t, Payload x, int arg);
Peer clsh_message_peer(lua_State *L, const Comm *c, int arg, bool any);
void clsh_message_open(lua_State *L);

/* request.c */
void clsh_request_open(lua_State *L);

/* group.c, movement.c, reduction.c, shared.c: collectives */
void clsh_group_open(lua_State *L);
void clsh_movement_open(lua_State *L);
void clsh_reduction_open(lua_State *L);
void clsh_shared_open(lua_State *L);
void clsh_shared_sync(void);
void clsh_shared_finalize(void);

#endif
