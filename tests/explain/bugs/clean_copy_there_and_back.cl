// finds: nothing
// range: 8 / 8
// args: int 16, int 16
kernel void f(global const int *x, global int *y) {
  local int s[8], t[8];
  event_t e[2];
  e[0] = async_work_group_strided_copy(s, x, 8, 2, 0);
  e[1] = async_work_group_copy(t, x + 8, 8, 0);
  wait_group_events(2, e);
  int i = get_local_id(0);
  s[i] += t[7 - i];
  barrier(CLK_LOCAL_MEM_FENCE);
  e[0] = async_work_group_copy(y, s, 8, 0);
  wait_group_events(1, e);
  y[8 + i] = i;
}
