/* vectors.cl - vectors of WIDTH elements, loads and stores of them; the other
** files include it
** SPDX-License-Identifier: MIT
**
** Defines: REAL (float or double), WIDTH (1, 2, 4, 8 or 16).
*/
#include "result.cl"
#ifndef WIDTH
#define WIDTH 4 /* elements of a vector */
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define VECTOR REAL
#define LOAD(p) (p)[0]
#define STORE(v, p) (p)[0] = v
#else
#define VECTOR JOIN(REAL, WIDTH)
#define LOAD(p) JOIN(vload, WIDTH)(0, p)
#define STORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)
#endif
#define ALIGNED(p) ((uintptr_t)(p) % sizeof(VECTOR) == 0)
