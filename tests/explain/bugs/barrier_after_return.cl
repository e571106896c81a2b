// finds: divergence 8
// range: 16 / 8
// args: int 12, 12
kernel void f(global int *x, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = i;
}
