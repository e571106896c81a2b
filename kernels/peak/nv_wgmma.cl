/* nv_wgmma.cl - peak rate of the tensor cores of NVIDIA's Hopper: chains of
** products of four warps each, with operands in local memory
** SPDX-License-Identifier: MIT
**
**   C = A B + C, `iterations` x UNROLL times
**
** Each half of a work-group has a C of 64 x BN and multiplies the same lines
** of A and B, a quarter of them in turn. FLOP of a product: 64 x BN x 32 of
** halves, 64 x BN x 16 of float cut to 11 bits, 64 x BN x 64 of char.
**
** Arguments:
**   iterations  times the loop runs, >= 0; choose it for some milliseconds
**   bits        in:  (64 + BN) 32 words, the random bits of the elements
**   out         out: global size floats
** NDRange: one dimension, local size 256.
** Defines: BN, UNROLL; TF32 (1; 0 for halves), WHOLE (1: char).
** Assumes: NVIDIA, compute capability 9.0; a build that makes instructions of
**   the comments "//PTX", see ladder/ptx.lua.
**
** Lesson: nothing else reaches the rate of the data sheet on this GPU: the
** instructions of tensor.cl, whose operands are registers, end at two thirds.
*/
#ifndef BN
#define BN 256 /* columns of B, 128 or 256 */
#endif
#ifndef UNROLL
#define UNROLL 16 /* products in one turn of the loop */
#endif
#ifndef TF32
#define TF32 0
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#define ALONG_A 1
#define ALONG_B 1
#define TURNED 0
#include "../gemm/nv_warp_group.cl"

#if WHOLE
#define SUM uint
#define ELEMENT(bits) (bits)
#elif TF32 /* elements from 0.5 on, below 1 or 2: bits of 0 are 0.5 */
#define ELEMENT(bits) (((bits) & 0x007fffffu) | 0x3f000000u)
#else
#define ELEMENT(bits) (((bits) & 0x07ff07ffu) | 0x38003800u)
#endif

#ifndef SUM
#define SUM float
#endif

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void wgmma_chains(int iterations, global const uint *restrict bits,
                  global float *restrict out)
{
  local uint lines[(64 + BN) * 32] __attribute__((aligned(1024)));
  for (uint i = get_local_id(0); i < (64 + BN) * 32; i += 256)
    lines[i] = ELEMENT(bits[i]);
  PTX("fence.proxy.async;" ::: "memory");
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint base = (uint)(size_t)lines;
  const ulong a = FORM_A | base >> 4, b = FORM_B | (base + BLOCK) >> 4;
  SUM c[BN / 2];
#pragma unroll
  for (int i = 0; i < BN / 2; i++)
    c[i] = 0;
  for (int t = 0; t < iterations; t++) {
    BEGIN();
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      MULTIPLY(c, a + u % 4 * STEP_A, b + u % 4 * STEP_B, 1);
    END();
    DONE(0);
  }
  SUM sum = 0;
#pragma unroll
  for (int i = 0; i < BN / 2; i++)
    sum += c[i];
  out[get_global_id(0)] = sum;
}
