// finds: outside 7
// range: 8 / 8
// args: int 16, int 8
kernel void f(global const int *x, global int *y) {
  local int t[8];
  event_t e = async_work_group_copy(t, x, 16, 0);
  wait_group_events(1, &e);
  y[get_local_id(0)] = t[get_local_id(0)];
}
