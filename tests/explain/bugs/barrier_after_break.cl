// finds: divergence 8
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  for (int k = 0; k < 4; k++) {
    if (x[i] == k) break;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[i] = k;
  }
  x[i] = i;
}
