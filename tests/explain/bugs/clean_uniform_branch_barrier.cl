// finds: nothing
// range: 8 / 8
// args: int 8, 3, local int 8
kernel void f(global int *x, int n, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  if (n > 2)
    barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[i ^ 1];
}
