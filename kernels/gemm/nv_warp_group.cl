/* nv_warp_group.cl - products of a group of four warps, by wgmma
** SPDX-License-Identifier: MIT
**
** nv_hopper.cl and peak/nv_wgmma.cl include it, for NVIDIA's Hopper. It has the
** instructions, and the descriptions of operands in local memory: lines of 128
** bytes, see nv_hopper.cl.
**
** Defines: TF32, BFLOAT16, FLOAT8 or WHOLE (1; all 0: halves), E5M2, SPAN,
**          ALONG_A, ALONG_B, TURNED, see nv_hopper.cl. WHOLE: char, with sums
**          in int; WHOLE and FLOAT8 have their operands along k */
#ifndef BN
#define BN 128
#endif
#ifndef SPAN
#define SPAN BN /* columns of B for an instruction: 64, 128, 192 or 256 */
#endif
#ifndef BFLOAT16
#define BFLOAT16 0
#endif
#ifndef FLOAT8
#define FLOAT8 0
#endif
#ifndef E5M2
#define E5M2 0
#endif

#define PTX(...) __asm__ volatile("//PTX " __VA_ARGS__)

#define BLOCK 8192 /* bytes of 64 lines */

/* The description of an operand for wgmma, besides its address: lines of 128
** bytes whose pieces change places, 8 lines further on, and, where k does not
** run along the lines, 64 columns further on. */
#define ORDER (1ul << 62 | 64ul << 32)
#if ALONG_A
#define FORM_A (ORDER | 1ul << 16)
#define STEP_A 2 /* a quarter of a stage, in units of 16 bytes */
#define ACROSS_A "0"
#else
#define FORM_A (ORDER | (ulong)(BLOCK / 16) << 16)
#define STEP_A 128
#define ACROSS_A "1"
#endif
#if ALONG_B
#define FORM_B (ORDER | 1ul << 16)
#define STEP_B 2
#define ACROSS_B "0"
#else
#define FORM_B (ORDER | (ulong)(BLOCK / 16) << 16)
#define STEP_B 128
#define ACROSS_B "1"
#endif

/* c = a b, + c where `more`, for 64 rows of A and SPAN columns of B: a and
** b describe where the operands lie. */
#if WHOLE
#define HELD "+r"
#else
#define HELD "+f"
#endif
#define F4(c, i) HELD((c)[i]), HELD((c)[i + 1]), HELD((c)[i + 2]), \
  HELD((c)[i + 3])
#define F16(c, i) F4(c, i), F4(c, i + 4), F4(c, i + 8), F4(c, i + 12)
#define F32(c, i) F16(c, i), F16(c, i + 16)
#define P10(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t \
  "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define P30 P10() P10(1) P10(2)
#define P60 P30 P10(3) P10(4) P10(5)
#define P90 P60 P10(6) P10(7) P10(8)
/* The sums of an instruction, and the names of what comes behind them */
#if SPAN == 64
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n64" TYPES " "
#define PLACES P30 "%30, %31"
#define ALL_SUMS(c) F32(c, 0)
#define REST "%32", "%33", "%34", "%35", "%36", "%37"
#elif SPAN == 128
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n128" TYPES " "
#define PLACES P60 "%60, %61, %62, %63"
#define ALL_SUMS(c) F32(c, 0), F32(c, 32)
#define REST "%64", "%65", "%66", "%67", "%68", "%69"
#elif SPAN == 192
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n192" TYPES " "
#define PLACES P90 "%90, %91, %92, %93, %94, %95"
#define ALL_SUMS(c) F32(c, 0), F32(c, 32), F32(c, 64)
#define REST "%96", "%97", "%98", "%99", "%100", "%101"
#elif SPAN == 256
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n256" TYPES " "
#define PLACES P90 P10(9) P10(10) P10(11) "%120, %121, %122, %123, %124, " \
  "%125, %126, %127"
#define ALL_SUMS(c) F32(c, 0), F32(c, 32), F32(c, 64), F32(c, 96)
#define REST "%128", "%129", "%130", "%131", "%132", "%133"
#else
#error "an instruction has 64, 128, 192 or 256 columns"
#endif
#if WHOLE /* no signs to turn, no operand across k */
#define TYPES "k32.s32.s8.s8"
#define TURNS ""
#elif TF32
#define TYPES "k8.f32.tf32.tf32"
#define TURNS ", 1, 1"
#elif BFLOAT16
#define TYPES "k16.f32.bf16.bf16"
#define TURNS ", 1, 1, " ACROSS_A ", " ACROSS_B
#elif FLOAT8
#if E5M2
#define TYPES "k32.f32.e5m2.e5m2"
#else
#define TYPES "k32.f32.e4m3.e4m3"
#endif
#define TURNS ", 1, 1" /* along k alone */
#else
#define TYPES "k16.f32.f16.f16"
#define TURNS ", 1, 1, " ACROSS_A ", " ACROSS_B
#endif
#define MULTIPLY(c, a, b, more) MULTIPLY_BY(c, a, b, more, REST)
#define MULTIPLY_BY(...) MULTIPLY_IN(__VA_ARGS__)
#if TURNED
/* The same for C^T: a are the four fragments of 64 columns of B, b tells
** where the rows of A lie. */
#define MULTIPLY_IN(c, a, b, more, r0, r1, r2, r3, r4, r5)                \
  PTX("{.reg .pred p; setp.ne.b32 p, " r5 ", 0; " INSTRUCTION "{" PLACES  \
      "}, {" r0 ", " r1 ", " r2 ", " r3 "}, " r4 ", p, 1, 1;}"            \
      : ALL_SUMS(c)                                                       \
      : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b),       \
        "r"(more))
#else
#define MULTIPLY_IN(c, a, b, more, r0, r1, r2, r3, r4, r5)                \
  PTX("{.reg .pred p; setp.ne.b32 p, " r2 ", 0; " INSTRUCTION "{" PLACES  \
      "}, " r0 ", " r1 ", p" TURNS ";}"                                   \
      : ALL_SUMS(c) : "l"(a), "l"(b), "r"(more))
#endif
#define BEGIN() PTX("wgmma.fence.sync.aligned;" ::: "memory")
#define END() PTX("wgmma.commit_group.sync.aligned;" ::: "memory")
#define DONE(n) PTX("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
