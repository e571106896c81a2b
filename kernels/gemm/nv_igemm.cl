/* nv_igemm.cl - matrix product of char on the tensor cores, sums in int
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C in int, which wraps around, for NVIDIA's Hopper;
** arguments, NDRange, defines and assumptions: see nv_hopper.cl, with alpha
** and beta of int. A is M x K, B is N x K: the tensor cores take char only
** along k.
**
** With RESIDUE the result is uchar, C[z][i][j] = sum modulo moduli[z], from 0
** on; alpha and beta are not used. Matrix z of a batch has the modulus z:
**
** moduli  in  behind ldc; each >= 2 and <= 256
** state   in  behind moduli, see ozaki_check.cl
** C       out rows at multiples of 16 bytes: whole pieces of 16 are stored,
**             with zeros beyond column N
**
** With CHECK it stores nothing and checks the sums of sizes of ozaki.cl. C is
** its state; behind ldc are its notes of A and B, and the tolerance. CHECK 1 is
** of a quarter of the sizes: with all moduli it bounds |A||B| from below, with
** one fewer four times the sum stands for it. Where that does not suffice it
** sets word 2 of the state, and CHECK 2 takes the sums of all sizes.
**
** Lesson: as nv_hgemm, with twice the elements in a line of 128 bytes: the
** same bytes give twice the products. */
#define WHOLE 1
#undef REAL
#undef RESULT
#ifdef RESIDUE
#define REAL uchar
#ifndef PLACED
#define PLACED 1 /* planes are a batch */
#endif
#else
#define REAL int
#endif
#if defined(CHECK) || defined(RESIDUE)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "ozaki_check.cl"
#endif
#include "nv_hopper.cl"
