// finds: race 9 10
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 1; k < 8; k *= 2) {
    int v = t[(i + k) % 8];
    t[i] += v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  x[i] = t[i];
}
