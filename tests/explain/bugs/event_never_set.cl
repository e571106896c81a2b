// finds: wait 6
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  event_t e;
  wait_group_events(1, &e);
  x[get_global_id(0)] = 1;
}
