/* tensor.cl - peak rate of the tensor cores of NVIDIA GPUs: chains of small
** matrix products in registers
** SPDX-License-Identifier: MIT
**
**   C[c] = A B + C[c], `iterations` x UNROLL times, c = 0 .. CHAINS-1
**
** Each product is an instruction of 32 work-items, which hold A, B and C
** among them. FLOP of a product, rows x columns x depth x 2:
**
**   CHAR    16 x 8 x 32   8192, sums in int
**   HALF    16 x 8 x 16   4096, sums in float
**   TF32    16 x 8 x 8    2048, float cut to 11 bits
**   DOUBLE  16 x 8 x 4    1024
**
** As in fma.cl, CHAINS results that do not wait for each other keep the unit
** busy. The sums are stored, so that nothing is dead code.
**
** Arguments:
**   iterations  times the loop runs, >= 0; choose it for some milliseconds
**   seed        of the elements of A and B
**   out         out: global size floats
** NDRange: one dimension, local size a multiple of 32.
** Defines: CHAINS, UNROLL; one of CHAR, HALF, TF32, DOUBLE.
** Assumes: NVIDIA, compute capability 8.0; for DOUBLE 9.0.
**
** Lesson: the roof of a kernel on tensor cores is another than that of
** multiply-adds. Hopper's own instructions, wgmma, take their operands from
** local memory and reach up to 1.5 times this rate, see nv_wgmma.cl.
*/
#ifndef CHAINS
#define CHAINS 8 /* independent results per warp */
#endif
#ifndef UNROLL
#define UNROLL 16 /* products per chain in one turn of the loop */
#endif
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define SUM double
#elif defined CHAR
#define SUM uint
#else
#define SUM float
#endif

/* C = A B + C of all 32 work-items; a, b: bits of random elements */
#if defined CHAR
#define MMA(c)                                                                \
  __asm__ volatile(                                                           \
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "                      \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                        \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#elif defined HALF
#define MMA(c)                                                                \
  __asm__ volatile(                                                           \
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "                    \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                        \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#elif defined TF32
#define MMA(c)                                                                \
  __asm__ volatile(                                                           \
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "                   \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                        \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#elif defined DOUBLE
#define MMA(c)                                                                \
  __asm__ volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "        \
                   "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"      \
                   : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])           \
                   : "d"(x[0]), "d"(x[1]), "d"(x[2]))
#else /* other devices: the arithmetic alone, for checks of the kernel */
#define MMA(c) (c[0] += (float)(a[0] & 1) * (float)(b[0] & 1))
#endif

kernel void tensor_chains(int iterations, uint seed,
                          global float *restrict out) {
  uint bits = seed + 747796405u * (uint)get_global_id(0);
  uint a[4], b[2];
  SUM c[CHAINS][4];
#pragma unroll
  for (int i = 0; i < 6; i++) {
    bits = bits * 1664525u + 1013904223u;
    /* halves, and floats, between 0.5 and 2 */
    uint word = (bits & 0x03ff03ffu) | 0x38003800u;
    if (i < 4)
      a[i] = word;
    else
      b[i - 4] = word;
  }
#ifdef DOUBLE
  double x[3];
  for (int i = 0; i < 3; i++)
    x[i] = 1.0 + (double)a[i] * 0x1p-32;
#endif
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    for (int k = 0; k < 4; k++)
      c[i][k] = (SUM)i;
  for (int t = 0; t < iterations; t++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int i = 0; i < CHAINS; i++)
        MMA(c[i]);
    }
  }
  SUM sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    for (int k = 0; k < 4; k++)
      sum += c[i][k];
  out[get_global_id(0)] = (float)sum;
}
