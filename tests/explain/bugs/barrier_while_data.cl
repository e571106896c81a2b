// finds: divergence 8
// range: 4 / 4
// args: int 4=0 1 2 2
kernel void f(global int *x) {
  int i = get_local_id(0), n = x[i];
  while (n > 0) {
    n--;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  x[i] = n;
}
