/* ozaki_check.cl - may an element of C have lost more than a double product?
** SPDX-License-Identifier: MIT
**
** ozaki.cl, ozaki_pack.cl and nv_igemm.cl include it.
**
** The notes of a line, a row of A or a column of B, whose elements are below
** 2^e, and which is scaled by 2^(q - e), are an int8; 0 to 3 are floats:
**
**   0, 1   2^-q if that cuts bits off, else 0: with all moduli, with one fewer
**   2      its norm, in units of 2^e
**   3      the sum of its sizes; a size is |x| / 2^e times 127, rounded up
**   4, 5   q: with all moduli, with one fewer
**   6      e
**
** The state of a product are four words:
**
**   0  not 0: refused, a kernel in double computes it
**   1  not 0: a line loses bits; where it is 0, there is nothing to check
**   2  not 0: the check of a quarter of the sizes is not sure
**   3  the mean square of what 256 elements of C lose with one modulus fewer,
**      in units of 2^-53 |A||B|, times 2^24; an element that the check might
**      refuse counts as 8. With FEWER, little loss leaves the last modulus out
**
** An element is cut by up to half a unit, 0.29 of it in the mean: an element
** of C loses 0.29 sqrt(u^2 |b|^2 + |a|^2 v^2), u and v being the units and |a|
** and |b| the norms, if the cuts are independent, and no more than 2.5 sqrt(k)
** times that if they are not. One chain of k multiply-adds in double, for
** normal numbers, is off by 0.47 of 2^-53 |A||B| in the mean. */
#ifndef FEWER
#define FEWER 0 /* 1: the device may leave the last modulus out */
#endif
#define LITTLE (int)(0.16 * 0x1p24) /* 0.4 in the mean */

/* Whether the last modulus is left out */
int fewer(global const int *state)
{
  return FEWER && state[3] <= LITTLE;
}

/* (unit, norm, sum of the sizes) of a line */
float4 facts(global const int8 *notes, size_t line, int few)
{
  const float4 v = as_float4(notes[line].lo);
  return (float4)(few ? v.y : v.x, v.z, v.w, 0);
}

/* Whether an element of C loses more than `tolerance`, a fraction of |A||B|.
** `total`, the sum of the sizes of a row times those of a column, is at least
** |A||B| times 127^2, and by at most the sums of the two lines' sizes above
** it; `share` of them where it is the sum over a share of k. In float: double
** would take a fifth of the time of the sums. */
int loses(float total, float share, float4 x, float4 y, float tolerance)
{
  const float a = x.x * y.y, b = x.y * y.x;
  const float lost = 127.0f * 127.0f * 0.29f * sqrt(a * a + b * b);
  const float least = total * (1 - 0x1p-20f) - share * (x.z + y.z);
  return lost > tolerance * max(least, 0.0f);
}
