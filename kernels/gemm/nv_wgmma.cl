/* nv_wgmma.cl - matrix product of floats cut to 11 bits, by warp groups
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, for NVIDIA's Hopper; arguments, NDRange, defines and
** assumptions: see nv_hopper.cl. As in nv_tf32.cl three decimal digits are
** right, as elements are rounded to 11 bits. Not to be taken for float.
**
** Lesson: the tensor cores at their own pace, on floats. The copy engine
** rounds them to TF32 as it fetches them, where the tensor map says so. But of
** TF32 the tensor cores take operands from local memory only along k: A as it
** lies, and B where it is handed over transposed. To turn B first, by another
** kernel, costs a tenth of the time at 4096. Their other operand may come from
** registers, though, which work-items fill in any order; so where B lies
** across they compute C^T = B^T A^T: the work-items fetch B^T from the stage,
** 16 loads of 4 bytes for each 32 of k, during the product of the stage
** before. */
#define TF32 1
#include "nv_hopper.cl"
