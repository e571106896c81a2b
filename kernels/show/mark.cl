/* mark.cl - phases of work-groups: the text in front of a kernel with MARKS,
** while a timeline is recorded
** SPDX-License-Identifier: MIT
**
** A kernel has MARKS behind its last parameter, without a comma:
**
**   kernel void f(global const float *x, int n MARKS)
**
** MARK(load) begins the phase `load`, which the next mark ends; the last one
** is MARK(end). Work-item 0 of a group marks. By MARK_EACH(items, load) the
** first of each `items` work-items does, such as of each warp. Marks stand in
** the kernel itself, not in functions that it calls. Of a name 8 letters
** count. A compiler may move arithmetic over a mark.
**
** marks  in, out  32 groups of 8 tracks of 256 places: 1 + the number of the
**                 group and the count of its marks; then name and time of each
** count  in       0; each work-item counts its own
**
** Groups are chosen at equal distances, 32 at most. Memory: 1 MiB. */
#define MARK_GROUPS 32
#define MARK_TRACKS 8
#define MARK_PLACES 256

#ifdef cl_khr_kernel_clock
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define MARK_CLOCK(t) t = clock_read_device()
#elif defined(__NV_CL_C_VERSION) || defined(__NVPTX__)
#define MARK_CLOCK(t) \
  __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) : : "memory")
#elif defined(__x86_64__) && defined(__clang__)
#define MARK_CLOCK(t) t = __builtin_readcyclecounter()
#elif defined(MARKS) /* in front of a kernel */
#error "no clock"
#else
#define MARK_CLOCK(t) t = 0
#endif

__attribute__((always_inline))
void mark_phase(uint items, ulong name, global ulong2 *marks, uint *count)
{
  const uint id = get_local_id(0) + get_local_size(0) * (get_local_id(1)
    + get_local_size(1) * get_local_id(2));
  const uint group = get_group_id(0) + get_num_groups(0) * (get_group_id(1)
    + get_num_groups(1) * get_group_id(2));
  const uint step = (get_num_groups(0) * get_num_groups(1) * get_num_groups(2)
    + MARK_GROUPS - 1) / MARK_GROUPS;
  items = max(items, 1u);
  if (marks == 0 || id % items != 0 || id / items >= MARK_TRACKS
      || group % step != 0)
    return;
  ulong time;
  MARK_CLOCK(time);
  marks += MARK_PLACES * (group / step * MARK_TRACKS + id / items);
  *marks = (ulong2)(group + 1, ++*count);
  if (*count < MARK_PLACES)
    marks[*count] = (ulong2)(name, time);
}

#define MARK_LETTER(name, i) ((ulong)(name "\0\0\0\0\0\0\0\0")[i] << 8 * (i))
#define MARK_NAME(name) (MARK_LETTER(name, 0) | MARK_LETTER(name, 1) \
  | MARK_LETTER(name, 2) | MARK_LETTER(name, 3) | MARK_LETTER(name, 4) \
  | MARK_LETTER(name, 5) | MARK_LETTER(name, 6) | MARK_LETTER(name, 7))

#undef MARKS
#undef MARK
#undef MARK_EACH
#define MARKS , global ulong2 *mark_places, uint mark_count
#define MARK_EACH(items, name) \
  mark_phase(items, MARK_NAME(#name), mark_places, &mark_count)
#define MARK(name) MARK_EACH(1 << 30, name)
