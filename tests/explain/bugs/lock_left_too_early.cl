// finds: race 9 12
// range: 16 / 4
// args: int 16, int 1=0, int 1=0
kernel void f(global const int *x, volatile global int *lock,
              volatile global int *sum) {
  if (get_local_id(0) == 0) {
    while (atomic_cmpxchg(lock, 0, 1) != 0)
      ;
    *sum += x[get_group_id(0)];
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(lock, 0);
    *sum += 1;
  }
}
