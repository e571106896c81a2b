// finds: nothing
// range: 8 / 8
// args: int 32, int 8
kernel void f(global const int *x, global int *y) {
  local int t[2][8];
  int i = get_local_id(0), sum = 0;
  event_t e = async_work_group_copy(t[0], x, 8, 0);
  for (int k = 0; k < 4; k++) {
    wait_group_events(1, &e);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k < 3)
      e = async_work_group_copy(t[(k + 1) & 1], x + 8 * (k + 1), 8, 0);
    sum += t[k & 1][7 - i];
  }
  y[i] = sum;
}
