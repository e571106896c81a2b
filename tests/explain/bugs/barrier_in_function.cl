// finds: divergence 5
// range: 8 / 8
// args: int 8, local int 8
void put(local int *t, int i, int v) {
  barrier(CLK_LOCAL_MEM_FENCE);
  t[i] = v;
}
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  if (x[i] > 3)
    put(t, i, x[i]);
  else
    t[i] = 0;
  x[i] = t[i];
}
