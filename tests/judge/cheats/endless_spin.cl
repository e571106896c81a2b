// INVALID by the simulator:
kernel void endless(global const float *x, global float *y, int n) {
  global volatile float *last = y + n - 1;
  int i = get_global_id(0);
  if (get_group_id(0) == 0)
    while (*last != 1) // another group's
      ;
  y[i] = i == n - 1 ? 1 : 2 * x[i];
}
