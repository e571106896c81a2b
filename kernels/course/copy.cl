/* copy.cl - a copy in pieces of a given width, in a given order
** SPDX-License-Identifier: MIT
**
** y[i] = x[(i ^ flip) + shift], in vectors of WIDTH elements.
**
** Arguments:
**   flip   >= 0: the bits in which the order of the reads is turned round;
**          flip < 32 keeps 32 neighbours within their 32 elements
**   shift  >= 0: vectors that all reads lie further
**   x      in: WIDTH * (global size + shift) elements, where flip is below
**          the power of two that divides the global size
**   y      out: WIDTH * global size elements
** NDRange: one dimension, any local size.
** Defines: WIDTH.
**
** Lesson: a request of a warp moves whole sectors of 32 bytes. The order of
** the lanes within them is free, a shift by one element is not, and wider
** elements move as many bytes by fewer requests.
*/
#ifndef WIDTH
#define WIDTH 1 /* elements per vector: 1, 2, 4, 8 or 16 */
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR float
#else
#define VECTOR JOIN(float, WIDTH)
#endif

kernel void copy(int flip, int shift, global const VECTOR *restrict x,
                 global VECTOR *restrict y)
{
  const int i = get_global_id(0);
  y[i] = x[(i ^ flip) + shift];
}
