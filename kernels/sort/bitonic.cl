/* bitonic.cl - sort, every comparison in global memory
** SPDX-License-Identifier: MIT
**
** Pieces of 2^(size - 1) in order become pieces of 2^size: each element and
** the element at the mirrored place of the piece are put in order, then
** elements that are 2^stride apart, for stride = size - 2 .. 0.
**
**    size = 1   a-b  c-d     size = 2   a-d  b-c     then   a-b  c-d
**
** Elements behind the end would be the greatest: they never move. So pairs
** with such an element are left out, and n may be any number.
**
** Arguments of start, which copies:
**   n       elements of x and of y
**   x       in:  vector
**   y       out: vector
**   index   out: with INDEX 1, 2 .. n
** NDRange of start: one dimension, global >= n, any local size.
** Arguments of exchange:
**   n       elements of y
**   size    as above
**   stride  as above; size - 1: the mirror
**   y       in, out: vector
**   index   in, out: with INDEX; of equal elements the lesser one is first
** NDRange of exchange: one dimension, a work-item for each pair, any local
**   size.
** Defines: the words of key.cl.
** Assumes nothing.
**
** Lesson: the steps are the same for all elements, so that a GPU can take
** them, but of n elements there are log2 n (log2 n + 1) / 2, and each one
** reads and writes them all: 351 times for 2^26.
*/
#include "key.cl"

kernel void start(int n, global const REAL *restrict x,
                  global REAL *restrict y WITH(global uint *restrict index))
{
  const size_t i = get_global_id(0);
  if (i < (size_t)n) {
    ((global KEY *)y)[i] = ((global const KEY *)x)[i];
    ALSO(index[i] = i + 1);
  }
}

kernel void exchange(int n, int size, int stride,
                 global REAL *restrict y WITH(global uint *restrict index))
{
  global KEY *keys = (global KEY *)y;
  const size_t id = get_global_id(0);
  const size_t inside = id & (((size_t)1 << stride) - 1);
  const size_t i = (id >> stride << (stride + 1)) + inside;
  const size_t apart = stride == size - 1 ?
    ((size_t)1 << size) - 1 - 2 * inside : (size_t)1 << stride;
  const size_t j = i + apart;
  if (j >= (size_t)n)
    return;
  const KEY a = keys[i], b = keys[j];
  uint ia = 0, ib = 0;
  ALSO(ia = index[i]; ib = index[j]);
  if (rank_of(b) < rank_of(a) || (rank_of(a) == rank_of(b) && ib < ia)) {
    keys[i] = b;
    keys[j] = a;
    ALSO(index[i] = ib; index[j] = ia);
  }
}
