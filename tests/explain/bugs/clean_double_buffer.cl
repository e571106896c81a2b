// finds: nothing
// range: 8 / 8
// args: int 64, int 8
kernel void f(global const int *x, global int *y) {
  local int t[2][8];
  int i = get_local_id(0), sum = 0;
  t[0][i] = x[i];
  for (int k = 0; k < 8; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k < 7)
      t[(k + 1) & 1][i] = x[8 * (k + 1) + i];
    sum += t[k & 1][7 - i];
  }
  y[i] = sum;
}
