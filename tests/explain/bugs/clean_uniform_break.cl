// finds: nothing
// range: 8 / 8
// args: int 8, 3, local int 8
kernel void f(global int *x, int n, local int *t) {
  int i = get_local_id(0);
  t[i] = 0;
  for (int k = 0; k < 8; k++) {
    if (k == n)
      break;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[(i + k) % 8] += x[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[i];
}
