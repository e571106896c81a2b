// finds: outside 6
// range: 16 / 16
// args: int 16, local int 12
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = i;
}
