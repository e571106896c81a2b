/*
** datatype.c - elements as MPI counts them: an int counts at most 2^31 - 1, so
** many elements are some of a type that is a piece.
** SPDX-License-Identifier: MIT
*/
#include "comm.h"

/* The type of one component. MPI has none for half: it moves as two bytes. */
MPI_Datatype clsh_datatype_unit(const Type *t) {
  int i = t->unit == 1 ? 0 : t->unit == 2 ? 1 : t->unit == 4 ? 2 : 3;
  const MPI_Datatype reals[] = {MPI_BYTE, MPI_UINT16_T, MPI_FLOAT, MPI_DOUBLE};
  const MPI_Datatype whole[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
                                MPI_INT64_T};
  const MPI_Datatype natural[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                                  MPI_UINT64_T};
  return t->kind == 'f' ? reals[i] : t->kind == 'i' ? whole[i] : natural[i];
}

/* The components of so many elements, with the gaps of vectors of 3. */
size_t clsh_datatype_units(const Type *t, size_t count) {
  return count * (t->size / t->unit);
}

/* `n` pieces and `rest` components behind them, as one type. */
static MPI_Datatype pieces(MPI_Datatype unit, size_t size, int n, int rest) {
  MPI_Datatype piece, all;
  MPI_Type_contiguous((int)PIECE, unit, &piece);
  int lengths[] = {n, rest};
  MPI_Aint places[] = {0, (MPI_Aint)((size_t)n * PIECE * size)};
  MPI_Datatype types[] = {piece, unit};
  MPI_Type_create_struct(rest > 0 ? 2 : 1, lengths, places, types, &all);
  MPI_Type_free(&piece);
  return all;
}

/* How MPI is told of `count` elements; clsh_datatype_free() ends it. */
Bulk clsh_datatype_bulk(const Type *t, size_t count) {
  size_t n = clsh_datatype_units(t, count);
  MPI_Datatype unit = clsh_datatype_unit(t);
  if (n <= PIECE)
    return (Bulk){unit, (int)n, false};
  Bulk b = {pieces(unit, t->unit, (int)(n / PIECE), (int)(n % PIECE)), 1,
            true};
  MPI_Type_commit(&b.type);
  return b;
}

/* What is under way with the type goes on. */
void clsh_datatype_free(Bulk *b) {
  if (b->own)
    MPI_Type_free(&b->type);
}
