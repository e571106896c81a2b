/* key.cl - the keys of a sort: elements as unsigned numbers of their order;
** the other files include it
** SPDX-License-Identifier: MIT
**
** The numbers of reals below zero are turned round, so that all rise with the
** reals. What lies below -infinity then moves on to the other end. Descending,
** a real changes its sign first and an integer all bits. All NaN have one key,
** at the end, so that they keep their order.
**
** Defines: REAL, KEY (the unsigned type of its size), SIGNED (1 for signed
**   integers), FRACTION (bits of a real's fraction, 0 for integers),
**   DESCENDING (0 or 1), INDEX (1: the places of the elements, from 1, are
**   sorted with them).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL uint /* element type */
#endif
#ifndef KEY
#define KEY uint
#endif
#ifndef SIGNED
#define SIGNED 0
#endif
#ifndef FRACTION
#define FRACTION 0
#endif
#ifndef DESCENDING
#define DESCENDING 0
#endif
#ifndef INDEX
#define INDEX 0
#endif
#if INDEX
#define WITH(parameter) , parameter
#define ALSO(statement) statement
#else
#define WITH(parameter)
#define ALSO(statement)
#endif
#define SIGN ((KEY)((KEY)1 << (8 * sizeof(KEY) - 1)))
#define ALL ((KEY) ~(KEY)0)
#define BELOW ((KEY)(((KEY)1 << FRACTION) - 1)) /* numbers below -infinity */

#if FRACTION
static KEY rank_of(KEY bits)
{
  if ((bits & (KEY) ~SIGN) > (KEY) ~SIGN - BELOW)
    bits = (KEY) ~SIGN; /* NaN */
  bits ^= DESCENDING ? SIGN : 0;
  bits ^= bits & SIGN ? ALL : SIGN;
  return bits - BELOW;
}

static KEY bits_of(KEY rank)
{
  rank += BELOW;
  rank ^= rank & SIGN ? SIGN : ALL;
  return rank ^ (DESCENDING ? SIGN : 0);
}
#else
#define TURNED ((KEY)((SIGNED ? SIGN : 0) ^ (DESCENDING ? ALL : 0)))
#define rank_of(bits) ((KEY)((bits) ^ TURNED))
#define bits_of(rank) ((KEY)((rank) ^ TURNED))
#endif
