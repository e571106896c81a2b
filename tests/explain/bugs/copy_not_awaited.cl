// finds: events 7
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  async_work_group_copy(t, x, 8, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
}
