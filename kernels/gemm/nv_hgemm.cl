/* nv_hgemm.cl - product of halves or bfloat16 on tensor cores, sums in float
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, C of halves or, with WIDE_C, of floats, for NVIDIA's
** Hopper; arguments, NDRange, defines and assumptions: see nv_hopper.cl. A and
** B may lie either way, as the tensor cores take halves along k and across it.
**
** Defines, besides: WIDE_C, 1: C of floats; BFLOAT16, 1: for halves everywhere
**          read bfloat16, of 8 significant bits in place of 11
**
** Lesson: an instruction multiplies 64 x 256 x 16 for four warps and reads
** both operands from local memory, 10 KiB in 128 cycles. A tile of 128 x 256
** needs 48 KiB for each 64 of k, 48 bytes a cycle, near the rate of the cache;
** 192 KiB of stages hide its latency. No work-item moves an operand: the copy
** engine fetches boxes of the matrices by their tensor maps and changes the
** places of 16-byte pieces so that all banks are met. The work-items only
** store the results. Stored as the registers hold them, in pieces of half a
** sector, they cost a tenth of the time at 4096; exchanged between neighbours
** first, half of that. The sums err by some -9e-8 for each 16 of k, as the
** tensor cores cut the numbers that they add: a hundredth of half the last bit
** of C, at k = 8192 a tenth. */
#define HALVES 1
#undef REAL
#ifdef WIDE_C
#define REAL float
#else
#define REAL ushort /* bits of an element of C */
#endif
#include "nv_hopper.cl"
