/* barrier.cl - neighbours that pass a value on, with barriers or without
** SPDX-License-Identifier: MIT
**
** v = x[i]; `turns` times v = the v of the neighbour i ^ 1, times 0.5, plus 1;
** x[i] = v.
**
** Arguments:
**   turns  times that the values are passed on, >= 0
**   x      in, out: global size elements
** NDRange: one dimension, local = WG.
** Local memory: WG elements.
** Defines: WG, BARRIER.
** Assumes: WG is even.
**
** Lesson: a work-item may read only after its neighbour has written, and write
** again only after it has read. Without the barriers that is a race. Where the
** work-group is one warp the compiler may drop them, as the lanes go together;
** they must be written all the same.
*/
#ifndef WG
#define WG 32 /* work-group size, even */
#endif
#ifndef BARRIER
#define BARRIER 1 /* 0: none, a race */
#endif

#if BARRIER
#define ALL_COME barrier(CLK_LOCAL_MEM_FENCE)
#else
#define ALL_COME
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void pass_on(int turns, global float *restrict x)
{
  volatile local float s[WG];
  const int i = get_local_id(0);
  float v = x[get_global_id(0)];
  for (int t = 0; t < turns; t++) {
    s[i] = v;
    ALL_COME;
    v = s[i ^ 1] * 0.5f + 1.0f;
    ALL_COME;
  }
  x[get_global_id(0)] = v;
}
