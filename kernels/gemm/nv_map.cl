/* nv_map.cl - the tensor map of a matrix, for nv_hopper.cl
** SPDX-License-Identifier: MIT
**
** A tensor map tells Hopper's copy engine where a matrix lies, and the box
** that a copy takes of it:
**
**   X  +-----------------+      box  +------------+  written to local memory
**      |    +-------+    |           | line y     |  line by line, 128 bytes
**      |  y |       |    |  ------>  | line y + 1 |  each, their eight pieces
**      |    +-------+    |           |  ...       |  exchanged by the number
**      +------x----------+           +------------+  of the line, modulo 8
**
** rows, cols  shape of the matrices, each >= 1
** count       of the matrices of a batch, the third dimension
** matrix      X, the first one, row-major, row i begins at X + i * ldx
** lines       of a box, 256 at most
** map  out    128 bytes, at a multiple of that
**
** NDRange: global = local = 1
** Defines: TYPE, 0: bytes, 6: half, 11: floats that the copy rounds to TF32;
**          LINE, elements in 128 bytes; PLACED, see submatrix.cl
** Assumes: compute capability 9.0; a rung with ptx = true; X, its rows and
**          the matrices of a batch begin at multiples of 16 bytes
**
** Lesson: CUDA's host library makes such maps; OpenCL has none, but the
** device can: PTX has an instruction for each field of a map in memory
** (tensormap.replace, PTX ISA), and a map is zeros before. */
#ifndef TYPE
#define TYPE 6
#endif
#ifndef LINE
#define LINE 64
#endif
#if TYPE == 0
#define ELEMENT uchar
#elif TYPE == 6
#define ELEMENT ushort
#elif TYPE == 0
#define ELEMENT uchar
#else
#define ELEMENT float
#endif

#include "submatrix.cl"

#define SET(field, bits, value)                                             \
  __asm__ volatile("//PTX tensormap.replace.tile." field ".global.b1024."   \
                   bits " [%0], %1;" :: "l"(map), value : "memory")
#define SET_AT(field, bits, i, value)                                       \
  __asm__ volatile("//PTX tensormap.replace.tile." field ".global.b1024."   \
                   bits " [%0], " #i ", %1;" :: "l"(map), value : "memory")

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void tensor_map(global ulong *maps, int place, int rows, int cols, int count,
                int lines, global const void *matrix, int ldx AT_X)
{
  global const ELEMENT *X = matrix;
  if (get_group_id(2) != 0) /* one map for all of a batch */
    return;
  MOVE(X, at_x);
#ifdef PLACED
  const ulong apart = count > 1 ? at_x.y * sizeof(ELEMENT) : 16;
#else
  const ulong apart = 16;
#endif
  global ulong *map = maps + place * 16;
  for (int i = 0; i < 16; i++)
    map[i] = 0;
  SET("global_address", "b64", "l"(X));
  SET("rank", "b32", "r"(2)); /* one less */
  SET_AT("box_dim", "b32", 0, "r"(LINE));
  SET_AT("box_dim", "b32", 1, "r"(lines));
  SET_AT("box_dim", "b32", 2, "r"(1));
  SET_AT("global_dim", "b32", 0, "r"(cols));
  SET_AT("global_dim", "b32", 1, "r"(rows));
  SET_AT("global_dim", "b32", 2, "r"(count));
  SET_AT("global_stride", "b64", 0, "l"((ulong)ldx * sizeof(ELEMENT)));
  SET_AT("global_stride", "b64", 1, "l"(apart));
  SET_AT("element_stride", "b32", 0, "r"(1));
  SET_AT("element_stride", "b32", 1, "r"(1));
  SET_AT("element_stride", "b32", 2, "r"(1));
  SET("elemtype", "b32", "n"(TYPE));
  SET("interleave_layout", "b32", "n"(0));
  SET("swizzle_mode", "b32", "n"(3)); /* 128 bytes */
  SET("fill_mode", "b32", "n"(0));    /* zeros beyond the edge */
  __asm__ volatile("//PTX fence.proxy.tensormap::generic.release.gpu;"
                   ::: "memory");
}
