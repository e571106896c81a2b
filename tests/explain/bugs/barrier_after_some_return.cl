// finds: divergence 11
// range: 8 / 8
// args: int 8, local int 8
int load(global const int *x, int i, int n) {
  if (i >= n) return 0;
  return x[i];
}
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  if (!load(x, i, 6)) return;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = 0;
}
