/* nv_fp16x3.cl - matrix product in float by halves, on Hopper's tensor cores
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C; arguments, NDRange, defines and assumptions: see
** nv_hopper.cl. nv_fp16x3_pack.cl has made of each element of A and B a pair
** of halves and a power of two, x = 2^e (hi + lo), e the same for a row of A,
** or a column of B; then
**
**   a b = 2^(ea + eb) (hi hi + hi lo + lo hi),  lo lo is below the roundoff
**
**   line of a stage   | hi 0 .. 31 | lo 0 .. 31 |   128 bytes, 32 of k
**
** top_a, top_b  in  bits of the largest |x| of each row of A, column of B
** refused       in  1: the operands do not go into pairs, and nothing is
**                   done: nv_ffma.cl stands by
**
** Defines, besides: CHUNK, the stages whose sums the tensor cores keep
**
** Lesson: halves go through the tensor cores 15 times as fast as floats
** through the other units, so three products of halves for one of floats still
** win. The tensor cores cut the numbers that they add to a sum, by 1.5 units
** of float's last bit, always downwards: over k = 2304 that is more than
** cuBLAS's error in float. So the sums leave them after CHUNK stages and are
** added up by ordinary additions. The small products, lo hi and hi lo, go
** first, while there is little to cut: a stage has two additions that count.
** Mean error with CHUNK 1, 2, 4: -1.1e-7, -2.5e-7, -6.5e-7 of the sum, speed
** 1, 1.03, 1.06. */
#ifndef CHUNK
#define CHUNK 2 /* stages whose sums the tensor cores keep */
#endif
#include "nv_pairs.cl"
#define PAIRS 1
#include "nv_hopper.cl"
