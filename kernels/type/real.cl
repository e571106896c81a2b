/* real.cl - included by kernels whose elements are real numbers
** SPDX-License-Identifier: MIT
**
** Defines: REAL, the element type. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifndef REAL
#define REAL float /* float, double or half */
#endif
