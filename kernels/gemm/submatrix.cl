/* submatrix.cl - the places where the matrices of a kernel begin: in part of a
** matrix or a batch
** SPDX-License-Identifier: MIT
**
** The other files include it. With PLACED defined, each matrix of a kernel
** has one more argument, in order, behind all others:
**
**   at_x.x  elements from the pointer to the matrix
**   at_x.y  elements from one matrix of a batch to the next; 0: all the same
**
**     +----------------------------+
**     |    +-------+    +-------+  |   at_x.x  from the first corner of the
**     |    | first |    | second|  |           frame to the corner of `first`
**     |    +-------+    +-------+  |   at_x.y  from there on to `second`
**     +----------------------------+
**
** NDRange: with PLACED one more dimension, 2: global = matrices, local = 1
** Defines: PLACED
**
** Lesson: OpenCL lets a pointer begin at every 128th byte or so, a block of a
** matrix at any element: the difference has to reach the kernel as a number.
** The same sum takes a work-group to its matrix of a batch, so that many
** small products are one launch. Products of whole matrices do without. */
#ifdef PLACED
#define AT_X , long2 at_x
#define AT_XY , long2 at_x, long2 at_y
#define AT_C , long2 at_c
#define AT_ABC , long2 at_a, long2 at_b, long2 at_c
#define MOVE(X, at) ((X) += (at).x + (long)get_group_id(2) * (at).y)
#else
#define AT_X
#define AT_XY
#define AT_C
#define AT_ABC
#define MOVE(X, at) ((void)0)
#endif
