/* real.cl - the element type of a scan; the other files include it
** SPDX-License-Identifier: MIT
**
** Defines: REAL (float, double or int), INCLUSIVE (1, or 0: without the
**   element itself).
*/
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float /* element type */
#endif
#ifndef INCLUSIVE
#define INCLUSIVE 1
#endif
