/*
** comm.h - types and functions that the files of folder mpi/ share: Comms,
** values, transits, and the terms that the ranks agree on.
** SPDX-License-Identifier: MIT
*/
#ifndef comm_h
#define comm_h

#include <limits.h>
#include <mpi.h>

#include "cl/array.h"

/* mpi.c: require "mpi" */
int luaopen_mpi(lua_State *L);
int clsh_mpi_version(lua_State *L); /* for --doctor, without MPI_Init */

/* comm.c; the first raises unless `code` is MPI_SUCCESS */
void clsh_comm_fault(lua_State *L, int code, const char *call);
typedef struct Members Members; /* the ranks of a Comm, and their ends */
typedef struct Comm {
  Object head;
  MPI_Comm handle, elements; /* elements: for a message's elements */
  int rank, size;
  Members *members;
} Comm;
typedef struct Await { /* the ranks that a wait needs */
  Members *members;    /* NULL: none */
  int rank;            /* or MPI_ANY_SOURCE, EVERYBODY */
  bool receives;
  int64_t turn; /* of EVERYBODY: the number of the call */
} Await;
#define EVERYBODY INT_MIN
Await clsh_comm_turn(const Comm *c);
bool clsh_comm_lacks(const Await *on);
void clsh_comm_refuse(lua_State *L, const Await *on);
void clsh_comm_part(void);
void clsh_comm_giveway(double passed);
Comm *clsh_comm_new(lua_State *L, MPI_Comm handle);
Comm *clsh_comm_take(lua_State *L, int arguments, int *first);
int clsh_comm_torank(lua_State *L, const Comm *c, int arg, const char *what,
                     int def);
void clsh_comm_add(lua_State *L, const luaL_Reg *functions);
void clsh_comm_open(lua_State *L);

/* values.c: elements as MPI counts them */
typedef struct Bulk {
  MPI_Datatype type;
  int n;
  bool own; /* to be freed */
} Bulk;
#define PIECE ((size_t)1 << 26) /* elements of a piece, see values.c */
int clsh_values_number(const Type *t);
MPI_Datatype clsh_values_unit(const Type *t);
size_t clsh_values_units(const Type *t, size_t count);
Bulk clsh_values_bulk(const Type *t, size_t count);
void clsh_values_free(Bulk *b);

/* a value as memory: the elements of the Array at index `array` */
typedef enum Form { NONE, ARRAY, NUMBER, STRING } Form;
typedef struct Payload {
  Form form;
  const Type *type;
  size_t count; /* elements */
  int array;    /* of the Lua stack; 0: none */
  bool buffer;  /* the Array stands for a Buffer */
} Payload;
Payload clsh_values_get(lua_State *L, int arg, bool read);
Payload clsh_values_new(lua_State *L, Form form, const Type *t,
                        const Shape *s);
void *clsh_values_data(lua_State *L, const Payload *p);
const Shape *clsh_values_shape(lua_State *L, const Payload *p);
void clsh_values_finish(lua_State *L, const Payload *p, int arg);
void clsh_values_tobuffer(lua_State *L, int array, int buffer);
const char *clsh_values_text(lua_State *L, Form form, const Type *t,
                             size_t count);

/* transit.c: the transfers that MPI is at work on, and their memory */
typedef struct Header { /* goes in front of the elements of a message */
  uint32_t mark;
  uint8_t form, type;
  uint16_t unused;
  uint64_t count;
} Header;
typedef struct Peer { /* the receiver or the sender of a message */
  int rank, tag;      /* MPI_ANY_SOURCE, MPI_ANY_TAG */
} Peer;
typedef struct Transit {
  MPI_Request request[2]; /* of a message: its header, its elements */
  int error;
  Block *block[2];
  bool (*ready)(struct Transit *t); /* whether its last request has begun */
  bool receives, left;              /* left: nobody waits for it any more */
  Await on;
  unsigned looks; /* of a wait */
  bool lacks;     /* the wait has ended for lack of a rank */
  struct Transit *next;
  Header header; /* this field and the next ones: of messages */
  Peer from;
  MPI_Comm comm, elements;
  void *data;
  char *text; /* of a string; the header tells its length */
  Payload payload;
  struct Transit *later; /* in the list of transits that wait for a header */
  int64_t scratch[];
} Transit;
typedef struct Outcome { /* of a transit that has ended */
  int error, from, tag;
  Header header;
} Outcome;
Transit *clsh_transit_try(size_t scratch);
Transit *clsh_transit_begin(lua_State *L, size_t scratch);
void clsh_transit_hold(lua_State *L, Transit *t, const Payload *x);
bool clsh_transit_test(Transit *t);
void clsh_transit_until(lua_State *L, bool (*done)(void *), void *what,
                        const Await *on);
void clsh_transit_await(lua_State *L, Transit *t);
void clsh_transit_wait(lua_State *L, Transit *t);
Outcome clsh_transit_outcome(Transit *t);
void clsh_transit_leave(Transit *t);
void clsh_transit_run(lua_State *L, Transit *t, int code, const char *call);
void clsh_transit_finalize(void);

/* message.c, collective.c, shared.c */
void clsh_message_open(lua_State *L);
void clsh_collective_open(lua_State *L);
void clsh_shared_open(lua_State *L);
void clsh_shared_sync(void);
void clsh_shared_finalize(void);

/* The terms that the ranks agree on; OPEN: the rank leaves the term open. */
enum { CALL, ROOT, OP, FORM, TYPE, COUNT, NDIMS, DIMS };
#define FIELDS (DIMS + MAXDIMS)
#define OPEN INT64_MIN
typedef struct Terms {
  int64_t at[FIELDS];
} Terms;

enum { ALLGATHER, ALLREDUCE, ALLTOALL, BARRIER, BCAST };
enum { GATHER = BCAST + 1, REDUCE, SCATTER, SHARED, SPLIT };

/* A call under way; first: the index of its first argument. */
typedef struct Call {
  const Comm *comm;
  const char *name;
  int first, root;
  Terms terms;
} Call;

/* agree.c */
extern const char *const clsh_agree_ops[];
Call clsh_agree_begin(lua_State *L, int call, int arguments);
const Type *clsh_agree_type(int64_t number);
void clsh_agree_offer(lua_State *L, Call *c, const Payload *x, bool shape);
void clsh_agree_reach(lua_State *L, Call *c);
Shape clsh_agree_shape(const Call *c);
void clsh_agree_root(lua_State *L, Call *c, int arg);

#endif
