// finds: divergence 7, divergence 8
// range: 8 / 8
// args: int 8, int 8, local int 8
kernel void f(global const int *x, global int *y, local int *t) {
  int i = get_local_id(0);
  if (i < 4) {
    event_t e = async_work_group_copy(t, x, 8, 0);
    wait_group_events(1, &e);
  }
  y[i] = i;
}
