/* nv_fp8.cl - matrix product of float8 on Hopper's tensor cores, C of floats
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C; arguments, NDRange, defines and assumptions: see
** nv_hopper.cl. The tensor cores take float8 only along k: both ALONG_A and
** ALONG_B are 1, and a matrix that lies across is turned before.
**
** Defines, besides: E5M2, 1: float8_e5m2; 0: float8_e4m3
**
** Lesson: elements of a byte double the rate of halves, and a line of a stage
** has 128 of k. But the tensor cores keep only some 14 bits of a sum of
** float8, where halves have 25: a long sum would lose two digits more. So the
** sums leave them after each stage, four instructions, and are added up by
** ordinary additions, as nv_fp16x3.cl does. Tiles of 128 x 256 have registers
** for both where the warps that ask for stages give theirs away, and half the
** columns are computed at a time. An instruction cuts a sum by up to 2^-13 of
** it: four of them and the products of one, 2^-11 or so, for which the check
** allows 2^-9. */
#define FLOAT8 1
#undef REAL
#define REAL float
#include "nv_hopper.cl"
