// finds: divergence 7
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int i = get_local_id(0);
  if (i < 4)
    barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = i;
}
