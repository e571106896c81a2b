/* ozaki_check.cl - may an element of C have lost more than a double product?
** SPDX-License-Identifier: MIT
**
** ozaki.cl and nv_igemm.cl include it.
**
** total      sum of the sizes of a row of A times those of a column of B
** x, y       (2^-q if the line lost bits, which cut its elements at 2^(e - q -
**            1), else 0; the sum of its sizes) of the row, of the column
** tolerance  the error allowed, as a fraction of |A||B|
**
** A size is |x| / 2^e times 127, rounded up, so `total` is at least |A||B| in
** units of 2^(e + f) / 127^2, and by at most the sums of the two lines' sizes
** above it; it is 0 where all products are 0. Elements cut in A lose at most
** 2^(e - q - 1) times the sum of |B|. In float, with room for its roundings:
** double would take a fifth of the time of the sums. */
int loses(float total, float2 x, float2 y, float tolerance)
{
  const float lost = 127.0f / 2 * (x.x * y.y + y.x * x.y);
  const float least = total * (1 - 0x1p-20f) - x.y - y.y;
  return total > 0 && lost > tolerance * (1 - 0x1p-20f) * max(least, 0.0f);
}
