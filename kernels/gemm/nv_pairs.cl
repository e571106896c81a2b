/* nv_pairs.cl - the powers of two of floats as pairs of halves
** SPDX-License-Identifier: MIT
**
** The nv_fp16x3* files include it. A row whose largest |x| is 2^w (1 ..) is
** divided by 2^SCALE, so that its largest |x| gets the exponent TOP. */
#define TOP 14     /* exponent of the largest element after scaling */
#define LEAST -113 /* exponent of the smallest top that can be scaled up */
#define WEIGHT(bits) ((int)((bits) >> 23) - 127) /* exponent of |x| */

/* The exponent that is taken from a row, or column, whose largest |x| has
** these bits. Infinities and NaN get any. */
#define SCALE(bits) \
  ((bits) == 0 ? 0 : clamp(WEIGHT(bits), LEAST, 127) - TOP)

/* 2^e for -126 <= e <= 127, 0 for -127 */
#define POWER(e) as_float((uint)((e) + 127) << 23)
