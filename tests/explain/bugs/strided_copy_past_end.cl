// finds: outside 6
// range: 4 / 4
// args: int 12, local int 4, int 4
kernel void f(global const int *x, local int *t, global int *y) {
  event_t e = async_work_group_strided_copy(t, x, 4, 4, 0);
  wait_group_events(1, &e);
  y[get_local_id(0)] = t[get_local_id(0)];
}
