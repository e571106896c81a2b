// finds: divergence 7
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int i = get_local_id(0);
  for (int k = 0; k < i; k++)
    barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = i;
}
