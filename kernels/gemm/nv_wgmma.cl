/* nv_wgmma.cl - matrix product of floats cut to 11 bits, by warp groups
** SPDX-License-Identifier: MIT
**
** C = alpha A B + beta C, for NVIDIA's Hopper; arguments, NDRange, defines and
** assumptions: see nv_hopper.cl. As in nv_tf32.cl three decimal digits are
** right, as elements are rounded to 11 bits. Not to be taken for float.
**
** Lesson: the tensor cores at their own pace, on floats. The copy engine
** rounds them to TF32 as it fetches them, where the tensor map says so. But
** of TF32 the tensor cores take operands only along k: A as it lies, and B
** turned before, by another kernel, which at 4096 costs a tenth of the time.
** Where B is handed over transposed nothing is left to turn. */
#define TF32 1
#include "nv_hopper.cl"
