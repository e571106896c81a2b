// finds: race 10
// range: 8 / 8
// args: int 8, int 8
kernel void f(global const int *x, global int *y) {
  local int t[8];
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t e = async_work_group_copy(y, t, 8, 0);
  t[i] = 0;
  wait_group_events(1, &e);
}
